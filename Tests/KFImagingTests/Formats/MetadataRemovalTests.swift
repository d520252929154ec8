import Support
import Testing

@testable import KFImaging

@Suite("Removal of metadata")
struct MetadataRemovalTests {
    /// A text that no pixel has, in each place that a format has for it.
    private let secret = Array("48.137N 11.575E".utf8)

    private func picture(_ format: ImageFormat, _ options: EncodeOptions = EncodeOptions()) throws -> [UInt8] {
        try ImageEncoder.encode(Image(Pictures.corners(64, 48)), as: format, options: options)
    }

    private func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
        [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 255)] + body
    }

    /// A JPEG with every segment that carries words, and with a profile.
    private func jpeg(orientation: Int) throws -> [UInt8] {
        let plain = try picture(.jpeg, EncodeOptions(progressive: true))
        let exif = Array("Exif\0\0".utf8) + Files.exif(orientation: orientation) + secret
        let texts: [(UInt8, String)] = [
            (0xE1, "http://ns.adobe.com/xap/1.0/\0"), (0xED, "Photoshop 3.0\0"), (0xE2, "MPF\0"), (0xEC, "Ducky"),
            (0xFE, ""),
        ]
        let words = texts.flatMap { segment($0.0, Array($0.1.utf8) + secret) }
        let profile = segment(0xE2, Array("ICC_PROFILE\0".utf8) + [1, 1] + Files.profile(200))
        return Array(plain[..<2]) + segment(0xE1, exif) + words + profile + plain[2...] + secret
    }

    private func png(orientation: Int) throws -> [UInt8] {
        let texts = ["tEXt", "zTXt", "iTXt", "tIME", "prVt"].map { (kind: $0, body: Array("a\0".utf8) + secret) }
        let exif = (kind: "eXIf", body: Files.exif(orientation: orientation) + secret)
        return try Files.png(picture(.png), chunks: texts + [exif]) + secret
    }

    private func webp(orientation: Int) throws -> [UInt8] {
        var image = Image(try Pictures.corners(64, 48))
        image.metadata = ImageMetadata(exif: Files.exif(orientation: orientation) + secret, xmp: secret)
        return try ImageEncoder.encode(image, as: .webp, options: EncodeOptions(lossless: true, keepsMetadata: true))
    }

    private func gif() throws -> [UInt8] {
        let plain = Files.gif(
            2, 1, [.init(width: 2, height: 1, indexes: [1, 2]), .init(width: 2, height: 1, indexes: [3, 0])], loops: 3)
        let texts = [[0x21, 0xFE], [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8)].flatMap {
            $0 + [UInt8(secret.count)] + secret + [0]
        }
        return Array(plain[..<25]) + texts + plain[25...] + secret
    }

    private func expectStripped(_ bytes: [UInt8], _ format: ImageFormat) throws {
        let stripped = try #require(try MetadataRemoval.strip(bytes, format))
        #expect(!contains(stripped, secret) && contains(bytes, secret))
        let (before, after) = (try ImageDecoder.decode(bytes), try ImageDecoder.decode(stripped))
        #expect(before.frames.map(\.bitmap) == after.frames.map(\.bitmap))
        #expect(before.iccProfile == after.iccProfile && before.loopCount == after.loopCount)
        #expect(try bytes.probe().orientation == stripped.probe().orientation)
        // A second time there is nothing left to remove.
        #expect(try MetadataRemoval.strip(stripped, format) == stripped)
    }

    private func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool { bytes.firstRange(of: part) != nil }

    @Test("Words go, and pixels, profile and orientation stay", arguments: 1...8)
    func stills(orientation: Int) throws {
        try expectStripped(jpeg(orientation: orientation), .jpeg)
        try expectStripped(png(orientation: orientation), .png)
        try expectStripped(webp(orientation: orientation), .webp)
    }

    @Test("A GIF keeps its frames and its loop count") func animations() throws { try expectStripped(gif(), .gif) }

    @Test("A file that ends early is refused at each byte")
    func truncated() throws {
        for (bytes, format) in [
            (try jpeg(orientation: 6), ImageFormat.jpeg), (try png(orientation: 6), .png),
            (try webp(orientation: 6), .webp),
        ] {
            let whole = try #require(try MetadataRemoval.strip(bytes, format))
            for count in stride(from: 0, to: bytes.count - secret.count - 20, by: 7) {
                let made = try? MetadataRemoval.strip(Array(bytes[..<count]), format)
                #expect(made?.count ?? 0 < whole.count)
            }
        }
    }

    @Test("A format that cannot be rewritten gives nothing") func others() throws {
        #expect(try MetadataRemoval.strip([0], .avif) == nil && MetadataRemoval.strip([0], .ico) == nil)
    }
}
