import Testing

@testable import KFImaging

@Suite("Limits of decoders")
struct LimitTests {
    @Test("The pixels of a frame are limited") func pixels() throws {
        let bytes = try ImageEncoder.encode(Image(Pictures.gradient(50, 50)), as: .png)
        let small = DecodeOptions(limits: .init(maxPixels: 2499))
        #expect(throws: ImagingError.tooLarge(width: 50, height: 50, maxPixels: 2499)) {
            try ImageDecoder.decode(bytes, options: small)
        }
        _ = try ImageDecoder.decode(bytes, options: .init(limits: .init(maxPixels: 2500)))
    }

    @Test("A large claim is refused from the header") func header() {
        let gif = Array("GIF89a".utf8) + [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x3B]
        #expect(throws: ImagingError.tooLarge(width: 65_535, height: 65_535, maxPixels: 100_000_000)) {
            try ImageDecoder.decode(gif)
        }
        let webp =
            Array("RIFF".utf8) + [26, 0, 0, 0] + Array("WEBPVP8L".utf8) + [14, 0, 0, 0, 0x2F, 0xFF, 0xFF, 0xFF, 0x0F]
            + [UInt8](repeating: 0, count: 9)
        #expect(throws: ImagingError.tooLarge(width: 16_384, height: 16_384, maxPixels: 100_000_000)) {
            try ImageDecoder.decode(webp)
        }
    }

    @Test("Frames are limited by count and by pixels") func frames() {
        let frame = Files.GIFFrame(width: 2, height: 2, indexes: [1, 1, 1, 1])
        let bytes = Files.gif(2, 2, [Files.GIFFrame](repeating: frame, count: 30))
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 29)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxFrames: 29)))
        }
        #expect(throws: ImagingError.animationTooLarge(frames: 30, width: 2, height: 2, maxPixels: 110)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxPixels: 11)))
        }
    }

    @Test("Scans and time are limited") func scans() throws {
        let image = Image(try Pictures.gradient(200, 200))
        let bytes = try ImageEncoder.encode(image, as: .jpeg, options: .init(progressive: true))
        #expect(throws: ImagingError.tooManyScans(maxScans: 3)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxScans: 3)))
        }
        for format in [ImageFormat.png, .jpeg] {
            let bytes = try ImageEncoder.encode(image, as: format)
            #expect(throws: ImagingError.timeLimit(.zero)) {
                try ImageDecoder.decode(bytes, options: .init(limits: .init(timeLimit: .zero)))
            }
        }
    }

    @Test("Sides that overflow are refused") func overflow() {
        #expect(throws: ImagingError.self) { try Bitmap(width: Int.max / 2, height: 4, format: .rgba) }
        #expect(throws: ImagingError.self) { try Bitmap(width: 0, height: 4, format: .rgba) }
        #expect(throws: ImagingError.self) {
            try DecodeLimits(maxPixels: Int.max).check(PixelSize(width: Int.max, height: 2))
        }
    }
}
