import Testing

@testable import KFImaging

@Suite("Kept metadata of changed pixels")
struct KeptMetadataTests {
    /// A TIFF file of directories whose entries are a tag, a type and a number of 32 bits.
    private func tiff(
        _ directories: [[(tag: Int, type: Int, value: Int)]], isLittle: Bool, behind: [UInt8] = []
    ) -> (bytes: [UInt8], offsets: [Int]) {
        func number(_ value: Int, _ width: Int) -> [UInt8] {
            let bytes = (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittle ? bytes : bytes.reversed()
        }
        var offsets = [8]
        for directory in directories { offsets.append(offsets[offsets.count - 1] + 2 + 12 * directory.count + 4) }
        var bytes = Array((isLittle ? "II" : "MM").utf8) + number(42, 2) + number(8, 4)
        for (index, directory) in directories.enumerated() {
            bytes += number(directory.count, 2)
            for entry in directory {
                let width = entry.type == 3 ? 2 : 4
                let count = entry.type == 7 ? behind.count : 1
                // A number below 0 is an offset behind all directories.
                let value = entry.value < 0 ? offsets[offsets.count - 1] - entry.value - 1 : entry.value
                bytes += number(entry.tag, 2) + number(entry.type, 2) + number(count, 4)
                bytes += number(value, width) + [UInt8](repeating: 0, count: 4 - width)
            }
            bytes += number(index == 0 && directories.count > 1 ? offsets[directories.count - 1] : 0, 4)
        }
        return (bytes + behind, offsets)
    }

    private func exif(isLittle: Bool, maker: [UInt8], thumbnail: [UInt8]) -> [UInt8] {
        // The first directory, the one of EXIF, the one of its interoperability, and that of the thumbnail.
        let first = [(0x0100, 4, 300), (0x0101, 3, 200), (0x0112, 3, 1), (0x8769, 4, 8 + 2 + 12 * 4 + 4)]
        let third = 8 + 2 + 12 * 4 + 4 + 2 + 12 * 4 + 4
        let second = [(0x927C, 7, -1), (0xA002, 3, 300), (0xA003, 4, 200), (0xA005, 4, third)]
        let fourth = [(0x0103, 3, 6), (0x0201, 4, -1 - maker.count), (0x0202, 4, thumbnail.count)]
        return tiff(
            [first, second, [(0x1001, 4, 300), (0x1002, 4, 200)], fourth], isLittle: isLittle,
            behind: maker + thumbnail
        ).bytes
    }

    private let xmp = """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:ImageWidth="300" tiff:ImageLength='200' \
        exif:PixelXDimension="300" dc:title="kept"><exif:PixelYDimension>200</exif:PixelYDimension><xmp:Thumbnails>\
        <rdf:Alt><rdf:li xmpGImg:image="SECRET"/></rdf:Alt></xmp:Thumbnails></rdf:Description></x:xmpmeta>
        """

    private func jpeg(isLittle: Bool) throws -> [UInt8] {
        var options = EncodeOptions(quality: 90)
        let small = try ImageEncoder.encode(Image(Pictures.corners(16, 8)), as: .jpeg)
        let preview = try ImageEncoder.encode(Image(Pictures.corners(32, 16)), as: .jpeg, options: options)
        options.keepsMetadata = true
        let plain = try ImageEncoder.encode(Image(Pictures.corners(300, 200)), as: .jpeg, options: options)
        let maker = Array("MAKER".utf8) + preview + Array("END".utf8)
        let marked = Files.jpeg(plain, exif: exif(isLittle: isLittle, maker: maker, thumbnail: small))
        let packet = Files.jpeg(marked, segment: Array("http://ns.adobe.com/xap/1.0/\0".utf8) + xmp.utf8)
        // Images behind the end, and the segment that lists them.
        let list = Array("MPF\0".utf8) + Files.exif(orientation: 1)
        let length = [UInt8((list.count + 2) >> 8), UInt8((list.count + 2) & 255)]
        return Array(packet[..<2]) + [0xFF, 0xE2] + length + list + packet[2...] + small
    }

    private static let chains = [
        "crop:100x100", "blur:5", "overlay:red", "round-corner:20", "resize:20x30", "watermark",
    ]

    @Test(
        "No smaller picture of the original stays, and sizes are those of the result", arguments: chains,
        [ImageFormat.jpeg, .png, .webp])
    func changed(chain: String, format: ImageFormat) throws {
        for isLittle in [true, false] {
            let bytes = try jpeg(isLittle: isLittle)
            let processor: any ImageProcessor =
                chain == "watermark"
                ? WatermarkImageProcessor(.loaded(try Pictures.flat(9, 9, [255, 0, 0]), hash: "sha256:0"), .init())
                : try ProcessorParser.parse(chain)
            let image = try processor.process(.data(bytes), options: .init())
            let file = try ImageEncoder.encode(
                image, as: format, options: EncodeOptions(background: .black, keepsMetadata: true))
            let kept = try #require(try ImageDecoder.decode(file).metadata)
            let exif = try #require(kept.exif)
            #expect(exif.firstRange(of: [0xFF, 0xD8, 0xFF]) == nil, "\(chain)")
            #expect(exif.firstRange(of: Array("MAKER".utf8)) != nil && exif.firstRange(of: Array("END".utf8)) != nil)
            for (tag, side) in [
                (0x0100, image.width), (0x0101, image.height), (0xA002, image.width), (0xA003, image.height),
                (0x1001, image.width), (0x1002, image.height),
            ] {
                #expect(value(of: tag, in: exif, isLittle: isLittle) == side, "\(chain), \(tag)")
            }
            #expect(value(of: 0x0201, in: exif, isLittle: isLittle) == nil, "\(chain)")
            let text = String(decoding: try #require(kept.xmp), as: UTF8.self)
            #expect(!text.contains("SECRET") && !text.contains("Thumbnails") && text.contains("dc:title=\"kept\""))
            for property in [
                "tiff:ImageWidth=\"\(image.width)\"", "tiff:ImageLength='\(image.height)'",
                "exif:PixelXDimension=\"\(image.width)\"",
                "<exif:PixelYDimension>\(image.height)</exif:PixelYDimension>",
            ] {
                #expect(text.contains(property), "\(property) in \(text)")
            }
            #expect(file.firstRange(of: Array("MPF\0".utf8)) == nil)
        }
    }

    /// The number of an entry, in any directory.
    private func value(of tag: Int, in exif: [UInt8], isLittle: Bool) -> Int? {
        let bytes = [UInt8(tag >> 8), UInt8(tag & 255)]
        for type in [3, 4] {
            let start =
                isLittle ? [bytes[1], bytes[0], UInt8(type), 0, 1, 0, 0, 0] : bytes + [0, UInt8(type), 0, 0, 0, 1]
            guard let end = exif.firstRange(of: start)?.upperBound else { continue }
            let field = exif[end..<end + (type == 3 ? 2 : 4)]
            return (isLittle ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
        }
        return nil
    }

    @Test("EXIF that is damaged in any byte is carried without a trap")
    func damaged() throws {
        let exif = exif(isLittle: true, maker: [1, 2, 3], thumbnail: [UInt8](repeating: 9, count: 30))
        for place in 4..<exif.count {
            for byte: UInt8 in [0, 1, 0x7F, 0xFF] {
                var changed = exif
                changed[place] = byte
                let kept = ImageMetadata(exif: changed).describing(PixelSize(width: 5, height: 70_000))
                #expect(kept.exif?.count ?? 0 <= exif.count)
            }
        }
        for count in 0..<exif.count {
            _ = ImageMetadata(exif: Array(exif[..<count])).describing(PixelSize(width: 1, height: 1))
        }
        for text in [
            "<xmp:Thumbnails", "<xmp:Thumbnails>", "<a xmpGImg:image", " xmpGImg:image=\"", "tiff:ImageWidth=\"",
            "</xmp:Thumbnails",
        ] {
            _ = ImageMetadata(xmp: Array(text.utf8)).describing(PixelSize(width: 1, height: 1))
        }
    }

    @Test("A side that does not fit its type gets another type", arguments: [true, false])
    func wide(isLittle: Bool) throws {
        let exif = exif(isLittle: isLittle, maker: [1], thumbnail: [2])
        let kept = try #require(ImageMetadata(exif: exif).describing(PixelSize(width: 5, height: 70_000)).exif)
        #expect(value(of: 0x0101, in: kept, isLittle: isLittle) == 70_000)
        #expect(value(of: 0x0100, in: kept, isLittle: isLittle) == 5)
    }

    @Test("A PNG has one eXIf chunk") func once() throws {
        var image = Image(try Pictures.corners(64, 48))
        image.metadata = ImageMetadata(exif: Files.exif(orientation: 1), xmp: Array("<x/>".utf8))
        let file = try ImageEncoder.encode(image, as: .png, options: EncodeOptions(keepsMetadata: true))
        let names = Files.pngChunks(file).map(\.name)
        #expect(names.count { $0 == "eXIf" } == 1 && names.count { $0 == "iTXt" } == 1 && names.last == "IEND")
    }
}
