import Testing

@testable import KFImaging

@Suite("Orientations in XMP and text chunks")
struct MetadataOrientationTests {
    private func attribute(_ value: Int) -> [UInt8] {
        Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:Description tiff:Orientation=\"\(value)\"/></x:xmpmeta>".utf8)
    }

    private func element(_ value: Int) -> [UInt8] {
        Array("<x:xmpmeta><rdf:Description><tiff:Orientation>\(value)</tiff:Orientation></rdf:Description>".utf8)
    }

    /// The form that ImageMagick writes.
    private func rawProfile(_ exif: [UInt8]) -> [UInt8] {
        let digits = exif.flatMap { byte in Array((byte < 16 ? "0" : "").utf8) + Array(String(byte, radix: 16).utf8) }
        let lines = stride(from: 0, to: digits.count, by: 72).flatMap { start in
            digits[start..<min(start + 72, digits.count)] + [10]
        }
        return Array("\nexif\n    \(exif.count)\n".utf8) + lines
    }

    private func picture() throws -> Bitmap { try Pictures.corners(64, 48) }

    private func orientation(_ image: Image) throws -> Int? {
        let plain = try picture()
        return try (1...8).first { image.bitmap.psnr(to: try plain.oriented(Orientation($0))) > 30 }
    }

    private func png(_ chunks: [(String, [UInt8])]) throws -> [UInt8] {
        try Files.png(ImageEncoder.encode(Image(picture()), as: .png), chunks: chunks)
    }

    private func itxt(_ xmp: [UInt8]) -> (String, [UInt8]) {
        ("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + xmp)
    }

    @Test("An orientation in XMP is applied", arguments: 2...8)
    func xmp(_ value: Int) throws {
        for xmp in [attribute(value), element(value)] {
            let jpeg = try ImageEncoder.encode(
                Image(picture()), as: .jpeg, options: EncodeOptions(quality: 95, chromaSubsampling: .none))
            let marked = Files.jpeg(jpeg, segment: Array("http://ns.adobe.com/xap/1.0/\0".utf8) + xmp)
            #expect(try orientation(ImageDecoder.decode(marked)) == value)
            let info = try marked.probe()
            #expect((info.width, info.height) == (value > 4 ? (48, 64) : (64, 48)))
            #expect(try orientation(ImageDecoder.decode(png([itxt(xmp)]))) == value)

            var image = Image(try picture())
            image.metadata = ImageMetadata(xmp: xmp)
            let webp = try ImageEncoder.encode(
                image, as: .webp, options: EncodeOptions(lossless: true, keepsMetadata: true))
            #expect(try orientation(ImageDecoder.decode(webp)) == value)
        }
    }

    @Test("EXIF overrides XMP") func exif() throws {
        let jpeg = try ImageEncoder.encode(
            Image(picture()), as: .jpeg, options: EncodeOptions(quality: 95, chromaSubsampling: .none))
        let xmp = Array("http://ns.adobe.com/xap/1.0/\0".utf8) + attribute(6)
        let both = Files.jpeg(Files.jpeg(jpeg, segment: xmp), exif: Files.exif(orientation: 3))
        #expect(try orientation(ImageDecoder.decode(both)) == 3)
        let raw = ("tEXt", Array("Raw profile type exif\0".utf8) + rawProfile(Files.exif(orientation: 8)))
        #expect(try orientation(ImageDecoder.decode(png([itxt(attribute(6)), raw]))) == 8)
        let chunk = ("eXIf", Files.exif(orientation: 1))
        #expect(try orientation(ImageDecoder.decode(png([itxt(attribute(6)), raw, chunk]))) == 1)
    }

    @Test("An orientation in a raw profile is applied", arguments: 2...8)
    func rawProfiles(_ value: Int) throws {
        for exif in [Files.exif(orientation: value), Array("Exif\0\0".utf8) + Files.exif(orientation: value)] {
            for keyword in ["Raw profile type exif\0", "Raw profile type APP1\0"] {
                let plain = ("tEXt", Array(keyword.utf8) + rawProfile(exif))
                #expect(try orientation(ImageDecoder.decode(png([plain]))) == value)
                let packed = ("zTXt", Array(keyword.utf8) + [0] + Files.zlib(rawProfile(exif)))
                #expect(try orientation(ImageDecoder.decode(png([packed]))) == value)
            }
        }
        let packet = Files.zlib(attribute(value))
        let packed = ("iTXt", Array("XML:com.adobe.xmp\0\u{1}\0en\0Titel\0".utf8) + packet)
        #expect(try orientation(ImageDecoder.decode(png([packed]))) == value)
    }

    @Test("Damaged metadata counts as upright") func damage() throws {
        let keyword = Array("Raw profile type exif\0".utf8)
        let damaged: [(String, [UInt8])] = [
            ("tEXt", keyword), ("tEXt", keyword + Array("\nexif\n".utf8)),
            ("tEXt", keyword + Array("\nexif\n 9\n4x".utf8)),
            ("zTXt", keyword), ("zTXt", keyword + [0, 1, 2, 3]), ("iTXt", Array("XML:com.adobe.xmp\0".utf8)),
            ("iTXt", Array("XML:com.adobe.xmp\0\u{1}\0".utf8)), itxt(Array("tiff:Orientation".utf8)),
            itxt(Array("tiff:Orientation=\"".utf8)), itxt(Array("tiff:Orientation=\"9\"".utf8)),
            itxt(Array("tiff:Orientation 6".utf8)),
        ]
        for chunk in damaged { #expect(try orientation(ImageDecoder.decode(png([chunk]))) == 1) }
    }

    @Test("Kept metadata is upright") func kept() throws {
        let image = try ImageDecoder.decode(png([itxt(attribute(6))]))
        let again = try ImageDecoder.decode(
            ImageEncoder.encode(image, as: .png, options: EncodeOptions(keepsMetadata: true)))
        #expect(again.metadata?.xmp == attribute(1))
        #expect(again.bitmap == image.bitmap)
    }
}
