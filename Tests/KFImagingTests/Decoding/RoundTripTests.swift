import Testing

@testable import KFImaging

@Suite("Round trips through encoders")
struct RoundTripTests {
    static let formats: [PixelFormat] = [
        .gray, .grayAlpha, .rgb, .rgba, PixelFormat(.gray, .sixteen), PixelFormat(.grayAlpha, .sixteen),
        PixelFormat(.rgb, .sixteen), PixelFormat(.rgba, .sixteen),
    ]

    @Test("PNG keeps every sample", arguments: formats)
    func png(_ format: PixelFormat) throws {
        let bitmap = try Pictures.gradient(67, 41, format)
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .png))
        #expect(image.bitmap == bitmap)
        #expect(image.sourceFormat == .png)
        #expect(image.cost == 41 * bitmap.bytesPerRow)
    }

    @Test("JPEG comes close to the original", arguments: [false, true])
    func jpeg(_ progressive: Bool) throws {
        let bitmap = try Pictures.gradient(67, 41)
        let options = EncodeOptions(quality: 95, progressive: progressive, chromaSubsampling: .none)
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .jpeg, options: options))
        #expect(image.bitmap.distance(to: bitmap) <= 8)
        let gray = try Pictures.gradient(67, 41, .gray)
        let grayImage = try ImageDecoder.decode(ImageEncoder.encode(Image(gray), as: .jpeg, options: options))
        #expect(grayImage.bitmap.distance(to: gray) <= 4)
    }

    @Test("A profile is carried where it fits") func profile() throws {
        let profile = Files.profile(70_000)
        let image = Image(try Pictures.gradient(20, 10), iccProfile: profile)
        #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: .jpeg)).iccProfile == profile)
        let gray = Image(try Pictures.gradient(20, 10, .gray), iccProfile: profile)
        #expect(try ImageDecoder.decode(ImageEncoder.encode(gray, as: .jpeg)).iccProfile == nil)
    }

    @Test("Transparency in a JPEG needs a background") func background() throws {
        let clear = Image(try Pictures.flat(8, 8, [255, 0, 0, 0]))
        #expect(throws: ImagingError.transparencyNeedsBackground(.jpeg)) { try ImageEncoder.encode(clear, as: .jpeg) }
        let white = EncodeOptions(quality: 100, background: .white)
        let onWhite = try ImageDecoder.decode(ImageEncoder.encode(clear, as: .jpeg, options: white))
        #expect(onWhite.bitmap[4, 4] == [255, 255, 255])
        let opaque = Image(try Pictures.flat(8, 8, [255, 255, 255, 255]))
        #expect(try ImageDecoder.decode(ImageEncoder.encode(opaque, as: .jpeg)).bitmap[4, 4] == [255, 255, 255])
    }

    @Test("Samples of 16 bits are rounded for JPEG") func rounded() throws {
        let bitmap = try Pictures.make(16, 16, PixelFormat(.gray, .sixteen)) { _, _, _ in 257 * 100 + 128 }
        let image = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .jpeg, options: .init(quality: 100)))
        #expect(image.bitmap[8, 8] == [100])
    }
}
