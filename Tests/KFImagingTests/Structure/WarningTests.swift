import Testing

@testable import KFImaging

@Suite("Warnings about harmless damage")
struct WarningTests {
    private let picture: Image

    init() throws { picture = Image(try Pictures.gradient(40, 30)) }

    /// The check and the decoder give the same warnings, and the pixels equal those of the intact file.
    private func expect(
        _ warnings: [ImageWarning], of bytes: [UInt8], like whole: [UInt8], _ comment: Comment = ""
    ) throws {
        #expect(try bytes.checkStructure() == warnings, comment)
        let image = try ImageDecoder.decode(bytes)
        #expect(image.warnings == warnings, comment)
        #expect(try image.frames == ImageDecoder.decode(whole).frames, comment)
    }

    private func expectRefusal(_ bytes: [UInt8], _ comment: Comment = "") {
        #expect(throws: ImagingError.self, comment) { try bytes.checkStructure() }
        #expect(throws: ImagingError.self, comment) { try ImageDecoder.decode(bytes) }
    }

    @Test("A whole file has no warning") func whole() throws {
        for format in [ImageFormat.png, .jpeg, .gif, .webp] {
            let bytes = try ImageEncoder.encode(picture, as: format)
            try expect([], of: bytes, like: bytes)
        }
    }

    @Test("A GIF without its trailer is a warning") func trailer() throws {
        let frame = Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: 1, count: 16))
        let bytes = Files.gif(4, 4, [frame, frame], loops: 0)
        try expect([.noEndMark(.gif)], of: bytes.dropLast(), like: bytes)
        expectRefusal(bytes.dropLast(2))
    }

    @Test("A stray byte ends a GIF after its first frame", arguments: [0x01, 0x47, 0xFF] as [UInt8])
    func strayByte(_ stray: UInt8) throws {
        let frame = Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: 1, count: 16))
        for frames in [[frame], [frame, frame]] {
            let whole = Files.gif(4, 4, frames, loops: 0)
            try expect([.endsWithoutBlock], of: whole.dropLast() + [stray], like: whole)
            // What looks like a frame behind it is none.
            try expect([.endsWithoutBlock], of: whole.dropLast() + [stray] + whole.suffix(30), like: whole)
        }
        expectRefusal(Files.gif(4, 4, [], loops: 0).dropLast() + [stray])
    }

    @Test("A PNG without its end chunk is a warning") func end() throws {
        for interlaced in [false, true] {
            let bytes =
                interlaced ? try Fixture.bytes("png/rgb-interlaced.png") : try ImageEncoder.encode(picture, as: .png)
            for cut in 1...12 { try expect([.noEndMark(.png)], of: bytes.dropLast(cut), like: bytes, "\(cut)") }
            // One byte less reaches into the image data's checksum.
            expectRefusal(bytes.dropLast(13))
        }
    }

    @Test("A PNG without all its pixels is refused") func missingPixels() throws {
        let chunks = Files.pngChunks(try ImageEncoder.encode(picture, as: .png))
        let header = Files.pngChunk("IHDR", chunks[0].data)
        let data = chunks.filter { $0.name == "IDAT" }.flatMap(\.data)
        for missing in [1, data.count / 2, data.count - 3] where missing > 8 {
            expectRefusal(Files.png([header, Files.pngChunk("IDAT", data.dropLast(missing))]), "\(missing)")
        }
        // No pixel depends on the checksum behind the deflated data.
        let whole = Files.png([header, Files.pngChunk("IDAT", data), Files.pngChunk("IEND", [])])
        let short = Files.png([header, Files.pngChunk("IDAT", data.dropLast(4))])
        try expect([.noEndMark(.png)], of: short, like: whole)
    }

    @Test("A PNG too small for its pixels is refused") func tooFewBytes() throws {
        let header = Files.bigEndian(9000) + Files.bigEndian(9000) + [8, 6, 0, 0, 0]
        // 324 MB of rows, of which deflate needs 314 kB at least.
        let bytes = Files.png([
            Files.pngChunk("IHDR", header), Files.pngChunk("IDAT", [UInt8](repeating: 0, count: 310_000)),
            Files.pngChunk("IEND", []),
        ])
        #expect(throws: ImagingError.truncated(.png)) { try bytes.checkStructure() }
        #expect(throws: ImagingError.truncated(.png)) { try ImageDecoder.decode(bytes) }
    }

    @Test("A wrong checksum of metadata is a warning", arguments: ["tEXt", "tIME", "gAMA", "eXIf", "zzZz"])
    func harmlessChecksum(
        _ name: String
    ) throws {
        let whole = try ImageEncoder.encode(picture, as: .png)
        let chunks = Files.pngChunks(whole)
        let data = name == "eXIf" ? Files.exif(orientation: 6) : Array("Comment\0some text".utf8)
        let damaged = Files.pngChunk(name, data, hasRightChecksum: false)
        let bytes = Files.png(
            [Files.pngChunk("IHDR", chunks[0].data), damaged]
                + chunks.dropFirst().map { Files.pngChunk($0.name, $0.data) })
        // The orientation of a chunk that is ignored does not count.
        try expect([.wrongChecksum(chunk: name)], of: bytes, like: whole)
    }

    @Test("A wrong checksum of pixels is an error", arguments: ["IHDR", "PLTE", "tRNS", "IDAT"])
    func checksum(_ name: String) throws {
        let chunks = Files.pngChunks(try Fixture.bytes("png/palette-transparent.png"))
        #expect(chunks.contains { $0.name == name })
        let file = Files.png(chunks.map { Files.pngChunk($0.name, $0.data, hasRightChecksum: $0.name != name) })
        expectRefusal(file)
        #expect(throws: ImagingError.corrupt(.png, reason: "a wrong checksum")) { try file.checkStructure() }
    }

    @Test("A wrong checksum of a frame is an error") func frameChecksum() throws {
        let chunks = Files.pngChunks(try ImageEncoder.encode(picture, as: .png))
        func file(_ isRight: Bool) -> [UInt8] {
            Files.png(
                chunks.dropLast().map { Files.pngChunk($0.name, $0.data) }
                    + [Files.pngChunk("fdAT", [0, 0, 0, 1, 2, 3], hasRightChecksum: isRight)]
                    + [Files.pngChunk("IEND", [])])
        }
        #expect(try file(true).checkStructure() == [])
        expectRefusal(file(false))
    }

    @Test("A JPEG segment with an impossible length is a warning") func segment() throws {
        let whole = try ImageEncoder.encode(picture, as: .jpeg)
        for marker: UInt8 in [0xFE, 0xE1, 0xEF] {
            for length: UInt8 in [0, 1] {
                let bytes = Array(whole[..<2]) + [0xFF, marker, 0, length] + whole[2...]
                try expect([.impossibleSegmentLength], of: bytes, like: whole, "\(marker) \(length)")
            }
        }
        // A chunk that pixels depend on is an error.
        expectRefusal(Array(whole[..<2]) + [0xFF, 0xDB, 0, 1] + whole[2...])
    }

    @Test("A processed picture keeps the warning of its lost animation") func flattened() throws {
        let chunks = Files.pngChunks(try ImageEncoder.encode(picture, as: .png))
        let header = ("acTL", Files.bigEndian(7) + Files.bigEndian(0))
        let processed = try ProcessorParser.parse("downsample:8x8")
            .process(.data(Files.png([chunks[0], header] + chunks.dropFirst())), options: .init())
        #expect(processed.warnings == [.animationLost(reason: "no frame")])
        #expect(processed.warnings.allSatisfy { $0.isLoss })
    }
}
