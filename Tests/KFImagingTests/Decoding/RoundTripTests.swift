import Testing

@testable import KFImaging

@Suite("Encoded images decode to their pixels")
struct RoundTripTests {
    static let formats: [PixelFormat] = [
        .gray, .grayAlpha, .rgb, .rgba, PixelFormat(.gray, .sixteen), PixelFormat(.grayAlpha, .sixteen),
        PixelFormat(.rgb, .sixteen), PixelFormat(.rgba, .sixteen),
    ]

    @Test(arguments: formats) func pngKeepsEverySample(_ format: PixelFormat) throws {
        let bitmap = try Pictures.gradient(67, 41, format)
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .png))
        #expect(image.bitmap == bitmap)
        #expect(image.sourceFormat == .png)
        #expect(image.cost == 41 * bitmap.bytesPerRow)
    }

    @Test(arguments: [false, true]) func jpegComesClose(_ progressive: Bool) throws {
        let bitmap = try Pictures.gradient(67, 41)
        let options = EncodeOptions(quality: 95, progressive: progressive, chromaSubsampling: .none)
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .jpeg, options: options))
        #expect(image.bitmap.distance(to: bitmap) <= 8)
        let gray = try Pictures.gradient(67, 41, .gray)
        let grayImage = try ImageDecoder.decode(ImageEncoder.encode(Image(gray), as: .jpeg, options: options))
        #expect(grayImage.bitmap.distance(to: gray) <= 4)
    }

    @Test func aProfileIsCarriedWhereItFits() throws {
        var profile = [UInt8](repeating: 0, count: 70_000)
        profile.replaceSubrange(16..<20, with: Array("RGB ".utf8))
        profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
        let image = Image(try Pictures.gradient(20, 10), iccProfile: profile)
        #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: .jpeg)).iccProfile == profile)
        let gray = Image(try Pictures.gradient(20, 10, .gray), iccProfile: profile)
        #expect(try ImageDecoder.decode(ImageEncoder.encode(gray, as: .jpeg)).iccProfile == nil)
    }

    @Test func transparencyNeedsABackgroundInJPEG() throws {
        let clear = Image(try Pictures.flat(8, 8, [255, 0, 0, 0]))
        #expect(throws: ImagingError.transparencyNeedsBackground(.jpeg)) { try ImageEncoder.encode(clear, as: .jpeg) }
        let white = EncodeOptions(quality: 100, background: .white)
        let onWhite = try ImageDecoder.decode(ImageEncoder.encode(clear, as: .jpeg, options: white))
        #expect(onWhite.bitmap[4, 4] == [255, 255, 255])
        let opaque = Image(try Pictures.flat(8, 8, [255, 255, 255, 255]))
        #expect(try ImageDecoder.decode(ImageEncoder.encode(opaque, as: .jpeg)).bitmap[4, 4] == [255, 255, 255])
    }

    @Test func sixteenBitsAreRoundedForJPEG() throws {
        let bitmap = try Pictures.make(16, 16, PixelFormat(.gray, .sixteen)) { _, _, _ in 257 * 100 + 128 }
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .jpeg, options: .init(quality: 100)))
        #expect(image.bitmap[8, 8] == [100])
    }
}
