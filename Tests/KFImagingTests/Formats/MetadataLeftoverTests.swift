import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("What a removal of metadata leaves")
struct MetadataLeftoverTests {
    /// A text that no pixel has.
    private let secret = Array("48.137N 11.575E".utf8)

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool { bytes.firstRange(of: part) != nil }

    private func expectStripped(_ bytes: [UInt8], _ format: ImageFormat, _ what: String) throws {
        let stripped = try #require(try MetadataRemoval.strip(bytes, format), "\(what)")
        #expect(!contains(stripped, secret) && contains(bytes, secret), "\(what)")
        let (before, after) = (try ImageDecoder.decode(bytes), try ImageDecoder.decode(stripped))
        #expect(before.frames.map(\.bitmap) == after.frames.map(\.bitmap), "\(what)")
        #expect(before.iccProfile == after.iccProfile && before.loopCount == after.loopCount, "\(what)")
        #expect(try MetadataRemoval.strip(stripped, format) == stripped, "\(what)")
    }

    private func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
    }

    /// The offsets of all markers behind the data of a scan: of the next segment, of restarts, of the end.
    private func ends(ofScansIn bytes: [UInt8]) throws -> [Int] {
        try bytes.withRaw { (bytes) throws(ImagingError) in
            var (walk, places, isScan): (JPEGMarkerWalk, [Int], Bool) = (JPEGMarkerWalk(bytes), [], false)
            while let segment = try walk.next() {
                if isScan { places.append(segment.body.lowerBound - (segment.marker == 0xD9 ? 2 : 4)) }
                isScan = segment.marker == 0xDA
                if segment.marker == 0xD9 { break }
            }
            return places
        }
    }

    @Test("Bytes between a JPEG's coded data and the next marker", arguments: [false, true], [false, true])
    func behindScans(progressive: Bool, gray: Bool) throws {
        for size in [(64, 48), (61, 43), (8, 8), (200, 3)] {
            let picture = try Pictures.gradient(size.0, size.1, gray ? .gray : .rgb)
            for chroma in [EncodeOptions.ChromaSubsampling.half, .none] {
                let plain = try ImageEncoder.encode(
                    Image(picture), as: .jpeg, options: .init(progressive: progressive, chromaSubsampling: chroma))
                let places = try ends(ofScansIn: plain)
                #expect(progressive ? places.count > 1 : places.count == 1)
                for place in places {
                    let filled = Array(plain[..<place]) + secret + [0xFF, 0, 0xFF, 0, 0] + plain[place...]
                    try expectStripped(filled, .jpeg, "\(size), \(chroma), at \(place)")
                    #expect(try MetadataRemoval.strip(filled, .jpeg) == MetadataRemoval.strip(plain, .jpeg))
                }
                // What is cut is no code.
                #expect(try MetadataRemoval.strip(plain, .jpeg) == plain)
            }
        }
    }

    @Test(
        "Coded data of many encoders stays as it is", .enabled(if: Corpora.has("jpeg-ref"), "\(Corpora.absence)"))
    func codedData() throws {
        var count = 0
        for file in Corpora.files("jpeg-ref") + Corpora.files("exif-orientation") {
            let bytes = [UInt8](try Data(contentsOf: file))
            guard file.pathExtension.lowercased().hasPrefix("jp"),
                let stripped = try? MetadataRemoval.strip(bytes, .jpeg)
            else { continue }
            guard let before = try? ImageDecoder.decode(bytes) else { continue }
            #expect(try ImageDecoder.decode(stripped).bitmap == before.bitmap, "\(file.lastPathComponent)")
            // With bytes in front of each marker, the same data is found.
            let places = try ends(ofScansIn: stripped)
            let filled = places.reversed().reduce(into: stripped) { $0.insert(contentsOf: secret, at: $1) }
            // Arithmetic codes are not read.
            if [0xC9, 0xCA].contains(where: { stripped.firstRange(of: [0xFF, $0, 0, 11, 8]) != nil }) { continue }
            if [0xC9, 0xCA].contains(where: { stripped.firstRange(of: [0xFF, $0, 0, 17, 8]) != nil }) { continue }
            #expect(try MetadataRemoval.strip(filled, .jpeg) == stripped, "\(file.lastPathComponent)")
            count += 1
        }
        #expect(count >= 15)
    }

    @Test("A JFIF thumbnail, and what follows Adobe's transform")
    func segments() throws {
        let plain = try ImageEncoder.encode(Image(Pictures.corners(64, 48)), as: .jpeg)
        let header = try #require(plain.firstRange(of: Array("JFIF\0".utf8))).lowerBound
        let thumbnail = Array("JFIF\0".utf8) + [1, 2, 1, 0, 72, 0, 72, 1, UInt8(secret.count / 3)] + secret
        let rest = Array(plain[(header + 14)...])
        let adobe = segment(0xEE, Array("Adobe".utf8) + [0, 100, 0, 0, 0, 0, 1] + secret)
        try expectStripped([0xFF, 0xD8] + segment(0xE0, thumbnail) + adobe + rest, .jpeg, "thumbnail")
        // A part of a profile that is not whole.
        let profile = segment(0xE2, Array("ICC_PROFILE\0".utf8) + [2, 2] + secret)
        try expectStripped(Array(plain[..<2]) + profile + plain[2...], .jpeg, "profile")
    }

    @Test("Names and contents of a PNG's chunks")
    func chunks() throws {
        var image = Image(try Pictures.corners(64, 48))
        image.iccProfile = try #require(CodePoints(primaries: 12, transfer: 13).space?.profile(isGray: false))
        let plain = try ImageEncoder.encode(image, as: .png)
        var chunks = Files.pngChunks(plain)
        let profile = try #require(chunks.firstIndex { $0.name == "iCCP" })
        chunks[profile].data = secret + chunks[profile].data.drop { $0 != 0 }
        chunks[chunks.count - 1].data = secret
        chunks.insert(("sPLT", secret), at: 1)
        chunks.insert(("hIST", secret), at: 1)
        chunks.insert(("gAMA", secret), at: 1)
        try expectStripped(Files.png(chunks), .png, "chunks")
    }

    private func webpChunks(_ bytes: [UInt8], from start: Int = 12) -> [(name: String, body: [UInt8])] {
        bytes.withRaw { bytes in
            var (position, chunks): (Int, [(String, [UInt8])]) = (start, [])
            while let chunk = bytes.riffChunk(at: position, end: bytes.count) {
                let name = String(decoding: bytes[position..<position + 4], as: UTF8.self)
                chunks.append((name, Array(bytes[chunk.body])))
                position = chunk.next
            }
            return chunks
        }
    }

    private func webp(_ chunks: [(name: String, body: [UInt8])]) -> [UInt8] {
        func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
            Array(name.utf8) + BMPFile.word(body.count) + body + (body.count % 2 == 1 ? [0] : [])
        }
        return chunk("RIFF", Array("WEBP".utf8) + chunks.flatMap { chunk($0.name, $0.body) })
    }

    @Test("Nothing but one picture stays in each frame of a WebP")
    func frames() throws {
        let picture = try Pictures.corners(16, 8)
        let plain = try Files.webp(16, 8, [.init(picture), .init(try Pictures.flat(4, 4, [9, 8, 7]), left: 2)])
        let extra = Array("abcd".utf8) + BMPFile.word(secret.count) + secret + [0]
        var chunks = webpChunks(plain)
        for index in chunks.indices where chunks[index].name != "VP8L" { chunks[index].body += extra }
        chunks.append(("VP8L", secret))
        try expectStripped(webp(chunks), .webp, "frames")
        #expect(try MetadataRemoval.strip(plain, .webp) == plain)
        // Bytes behind the end that the file states.
        try expectStripped(plain + extra, .webp, "behind the end")
    }

    @Test("A WebP with two EXIF chunks keeps the orientation of the first")
    func twoBlocks() throws {
        var image = Image(try Pictures.corners(64, 48))
        image.metadata = ImageMetadata(exif: Files.exif(orientation: 1))
        let plain = try ImageEncoder.encode(image, as: .webp, options: .init(lossless: true, keepsMetadata: true))
        var chunks = webpChunks(plain).filter { $0.name != "EXIF" }
        chunks.append(("EXIF", Files.exif(orientation: 6)))
        chunks.append(("EXIF", Files.exif(orientation: 1) + secret))
        let both = webp(chunks)
        #expect(try both.probe().orientation == 6)
        try expectStripped(both, .webp, "two blocks")
        #expect(try #require(try MetadataRemoval.strip(both, .webp)).probe().orientation == 6)
    }

    @Test("Extensions of a GIF, and their surplus blocks")
    func extensions() throws {
        let plain = Files.gif(
            2, 1, [.init(width: 2, height: 1, indexes: [1, 2]), .init(width: 2, height: 1, indexes: [3, 0])], loops: 3)
        let block = [UInt8(secret.count)] + secret + [0]
        let unknown = [0x21, 0x42] + block
        let plainText = [0x21, 0x01, 12] + [UInt8](repeating: 1, count: 12) + block
        let control = try #require(plain.firstRange(of: [0x21, 0xF9, 4]))
        var loop = Array(plain[25..<control.lowerBound])
        loop.removeLast()
        let longControl = [0x21, 0xF9, 4] + plain[control.upperBound..<control.upperBound + 4] + block
        let end = control.upperBound + 5
        let bytes = Array(plain[..<25]) + loop + block + unknown + plainText + longControl + plain[end...]
        try expectStripped(bytes, .gif, "extensions")
        #expect(try MetadataRemoval.strip(bytes, .gif) == plain)
        #expect(try ImageDecoder.decode(bytes).loopCount == 4)
    }

    @Test("A second frame header makes the ends of scans unknown")
    func twoFrames() throws {
        // A scan that adds a bit to the first coefficient needs no tables.
        let (frame, scan): ([UInt8], [UInt8]) = ([8, 0, 8, 0, 8, 1, 1, 0x11, 0], [1, 1, 0, 0, 0, 0x10])
        for (count, expected) in [(1, [0..<1]), (2, nil)] as [(Int, [Range<Int>]?)] {
            let parts = try [0x80 as UInt8].withRaw { (bytes) throws(ImagingError) in
                var ends = JPEGScanEnds(bytes)
                for _ in 0..<count { frame.withRaw { ends.read(0xC2, $0) } }
                scan.withRaw { ends.read(0xDA, $0) }
                return try ends.parts(of: 0..<1)
            }
            #expect(parts == expected)
        }
    }

    @Test("Bytes of a BMP that are no pixel", arguments: [1, 4, 8, 16, 24, 32])
    func bitmaps(depth: Int) throws {
        var dice = Dice(7)
        var (file, _) = BMPFile.random(11, 5, depth: depth, &dice)
        try expectStripped(file.bytes + secret, .bmp, "behind the end")
        file.gap = secret.count
        let gapped = file.bytes
        let gap = gapped.count - file.data.count - secret.count
        try expectStripped(Array(gapped[..<gap]) + secret + gapped[(gap + secret.count)...], .bmp, "gap")
    }

    @Test("A BMP of runs ends at its end mark, and a profile stays")
    func runs() throws {
        let palette: [[UInt8]] = [[0, 0, 0], [255, 0, 0]]
        for end: [UInt8] in [[0, 1], [0, 0, 0, 1], []] {
            let file = BMPFile(width: 4, height: 1, depth: 8, compression: 1, palette: palette, data: [4, 1] + end)
            try expectStripped(file.bytes + secret, .bmp, "runs \(end)")
        }
        let unpadded = BMPFile(width: 3, height: 1, depth: 8, compression: 1, palette: palette, data: [0, 3, 1, 0, 1])
        let padded = try #require(try MetadataRemoval.strip(unpadded.bytes, .bmp))
        #expect(padded.suffix(8) == [0, 3, 1, 0, 1, 0, 0, 1])
        #expect(try ImageDecoder.decode(padded).bitmap == ImageDecoder.decode(unpadded.bytes).bitmap)
        // A header without a length of the runs, and a palette behind it.
        var short = BMPFile(header: 20, width: 4, height: 1, depth: 8, compression: 1, data: [4, 0, 0, 1])
        short.palette = [[UInt8]](repeating: [9, 8, 7], count: 256)
        try expectStripped(short.bytes + secret, .bmp, "short header")
        var file = BMPFile(header: 124, width: 2, height: 1, depth: 24, profile: Files.profile(200))
        file.data = BMPFile.packed([[0x01_02_03, 0x04_05_06]], depth: 24)
        let behind = file.bytes + secret
        try expectStripped(behind, .bmp, "profile")
        let stripped = try #require(try MetadataRemoval.strip(behind, .bmp))
        #expect(try ImageDecoder.decode(stripped).iccProfile == file.profile)
    }
}
