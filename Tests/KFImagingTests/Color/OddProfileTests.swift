import Support
import Testing

@testable import KFImaging

@Suite("Odd profiles and transparency")
struct OddProfileTests {
    private static let found = Corpus("found")

    /// The value that each grey of one picture has in another.
    private func map(_ from: Bitmap, _ to: Bitmap) -> [Int: [Int]] {
        var map: [Int: [Int]] = [:]
        for y in 0..<from.height { for x in 0..<from.width { map[from[x, y][0]] = to[x, y] } }
        return map
    }

    @Test(
        "A grey JPEG with a profile of RGB is coloured by it",
        .enabled(if: Corpora.has("found"), "\(Corpora.absence)"))
    func grayJPEG() throws {
        let bytes = try Self.found.bytes("grey-with-rgb-profile.jpg")
        let image = try ImageDecoder.decode(bytes)
        #expect(image.bitmap.format == .rgb && image.iccProfile?.count == 1328)
        let converted = try ImageDecoder.decode(bytes, options: DecodeOptions(convertsToSRGB: true))
        // Pillow's values.
        let values = map(image.bitmap, converted.bitmap)
        for (gray, expected) in [15: 18, 39: 52, 63: 80, 87: 106, 111: 130, 135: 153, 159: 175, 183: 196, 208: 217] {
            #expect(values[gray] == [expected, expected, expected], "\(gray)")
        }
        let again = try ImageDecoder.decode(ImageEncoder.encode(image, as: .jpeg))
        #expect(again.iccProfile == image.iccProfile)
    }

    @Test(
        "A PNG's profile with an invalid rendering intent is converted",
        .enabled(if: Corpora.has("found"), "\(Corpora.absence)"))
    func invalidIntent() throws {
        let bytes = try Self.found.bytes("grey-profile-invalid-intent.png")
        let image = try ImageDecoder.decode(bytes)
        #expect(image.bitmap.format == .gray && image.iccProfile?.count == 912)
        // libpng refuses to write it.
        let written = try ImageDecoder.decode(ImageEncoder.encode(image, as: .png))
        #expect(written.iccProfile == nil)
        let values = map(image.bitmap, written.bitmap)
        for (gray, expected) in [0: 0, 33: 47, 65: 86, 97: 120, 129: 150, 161: 179, 193: 206, 225: 232] {
            #expect(values[gray] == [expected], "\(gray)")
        }
        #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: .jpeg)).iccProfile == image.iccProfile)
    }

    @Test("A damaged profile of a PNG counts as none") func damaged() throws {
        let plain = try ImageEncoder.encode(Image(Pictures.corners(64, 48)), as: .png)
        for body in [[], [0x61, 0, 0], [0x61, 0, 0, 1, 2, 3], [0x61, 0, 1] + Files.zlib(Files.profile(200)), [0x61]] {
            #expect(try ImageDecoder.decode(Files.png(plain, chunks: [("iCCP", body)])).iccProfile == nil)
        }
        let whole = Files.png(plain, chunks: [("iCCP", [0x61, 0, 0] + Files.zlib(Files.profile(200)))])
        #expect(try ImageDecoder.decode(whole).iccProfile == Files.profile(200))
    }

    @Test("Transparency in front of the palette is applied", arguments: [false, true])
    func earlyTransparency(isAnimated: Bool) throws {
        let frame = Files.APNGFrame(width: 4, height: 1, pixels: [0, 1, 2, 1])
        let transparency = (name: "tRNS", data: [0, 128] as [UInt8])
        let palette = (name: "PLTE", data: [9, 8, 7, 6, 5, 4, 3, 2, 1] as [UInt8])
        func file(_ chunks: [(name: String, data: [UInt8])]) -> [UInt8] {
            let all = Files.apngChunks(
                4, 1, [frame, frame], Files.APNGForm(depth: 8, colorType: 3, chunks: chunks))
            return Files.png(isAnimated ? all : all.filter { !["acTL", "fcTL", "fdAT"].contains($0.name) })
        }
        let (early, late) = (file([transparency, palette]), file([palette, transparency]))
        let image = try ImageDecoder.decode(early)
        #expect(try early.probe().hasAlpha && image.isAnimated == isAnimated)
        #expect(image.frames.map(\.bitmap) == (try ImageDecoder.decode(late)).frames.map(\.bitmap))
        #expect(
            image.bitmap[0, 0] == [9, 8, 7, 0] && image.bitmap[1, 0] == [6, 5, 4, 128] && image.bitmap[2, 0][3] == 255)
    }

    @Test("A CgBI PNG is named as such") func appleForm() throws {
        let plain = try ImageEncoder.encode(Image(Pictures.corners(8, 8)), as: .png)
        let apple = Array(plain[..<8]) + PNGChunk.bytes("CgBI", [0x50, 0, 0x20, 2]) + plain[8...]
        let error = #expect(throws: ImagingError.self) { try apple.probe() }
        #expect(error?.message.contains("CgBI") == true, "\(error?.message ?? "")")
    }

    @Test(
        "The average colour of line art is that of all pixels",
        .enabled(if: Corpora.has("found"), "\(Corpora.absence)"))
    func lineArt() throws {
        let bytes = try Self.found.bytes("line-art.png")
        let image = try ImageDecoder.decode(bytes)
        #expect(try image.sketched(256).width == 256)
        #expect(try AverageColor(image.bitmap).color == Color(red: 138, green: 138, blue: 138))
        // One pixel in a million that is not opaque.
        var picture = try Pictures.flat(1000, 1000, [10, 200, 30, 255])
        try picture.withUnsafeMutableRows { (rows) throws(ImagingError) in rows.row(500)[4 * 500 + 3] = 254 }
        #expect(try !AverageColor(picture).isOpaque)
        let deep = try Pictures.make(600, 3, PixelFormat(.gray, .sixteen)) { x, _, _ in x % 2 * 65_535 }
        #expect(try AverageColor(deep).color == Color(red: 188, green: 188, blue: 188))
    }

    @Test(
        "An AVIF that plays without an end does so in other formats",
        .enabled(if: Corpora.has("found"), "\(Corpora.absence)"))
    func endless() throws {
        let bytes = try Self.found.bytes("endless.avif")
        let structure = try bytes.withRaw { (bytes) throws(ImagingError) in try AVIFStructure(bytes).loopCount }
        #expect(structure == 0)
    }
}
