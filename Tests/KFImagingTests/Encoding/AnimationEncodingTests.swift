import Testing

@testable import KFImaging

@Suite("Encoded animations")
struct AnimationEncodingTests {
    /// A moving square over a partly transparent ground, with few enough colours for a palette.
    private func frames(transparent: Bool) throws -> [ImageFrame] {
        try (0..<5).map { index in
            let bitmap = try Pictures.make(40, 30, transparent ? .rgba : .rgb) { x, y, channel in
                let inSquare = (index * 6..<index * 6 + 10).contains(x) && (5..<15).contains(y)
                if channel == 3 { return inSquare || y > 20 ? 255 : 0 }
                if transparent && !inSquare && y <= 20 { return 0 }
                return inSquare ? [250, 20, 20][channel] : [x / 8 * 40, y / 8 * 60, 90][channel]
            }
            return ImageFrame(bitmap: bitmap, delay: .milliseconds(40 + 10 * index))
        }
    }

    @Test(
        "Pixels, delays and loops survive a round trip",
        arguments: [(ImageFormat.gif, true), (.gif, false), (.webp, true), (.webp, false)])
    func roundTrip(_ format: ImageFormat, _ transparent: Bool) throws {
        let frames = try frames(transparent: transparent)
        for loops in [0, 1, 4] {
            let image = try #require(Image(frames: frames, loopCount: loops))
            let bytes = try ImageEncoder.encode(image, as: format, options: .init(lossless: true))
            _ = try bytes.checkStructure()
            let decoded = try ImageDecoder.decode(bytes)
            #expect(decoded.loopCount == loops)
            #expect(decoded.frames.map(\.delay) == frames.map(\.delay))
            for (mine, theirs) in zip(frames, decoded.frames) {
                #expect(mine.bitmap.visible == theirs.bitmap.visible)
            }
        }
    }

    @Test("The animated fixtures survive a round trip", arguments: [ImageFormat.gif, .webp])
    func fixtures(_ format: ImageFormat) throws {
        for name in ["animated", "animated-loop-3"] {
            let image = try ImageDecoder.decode(Fixture.bytes("gif/\(name).gif"))
            let bytes = try ImageEncoder.encode(image, as: format, options: .init(lossless: true))
            let decoded = try ImageDecoder.decode(bytes)
            #expect(decoded.frames.map(\.bitmap.visible) == image.frames.map(\.bitmap.visible), "\(name)")
            #expect(decoded.loopCount == image.loopCount)
        }
    }

    @Test("Unchanged pixels are not written again") func unchanged() throws {
        let ground = try Pictures.make(200, 200) { x, y, channel in (x * 7 ^ y * 13) & 15 + channel * 60 }
        var moved = ground
        try moved.withUnsafeMutableRows { (rows) throws(ImagingError) in rows.row(100)[300] = 255 }
        let still = try ImageEncoder.encode(Image(ground), as: .gif)
        let image = try #require(Image(frames: [ground, moved, ground].map { ImageFrame(bitmap: $0) }))
        let bytes = try ImageEncoder.encode(image, as: .gif)
        #expect(bytes.count < still.count + 1000)
    }

    @Test("A GIF pixel is opaque or transparent") func transparency() throws {
        let bitmap = try Pictures.make(16, 1, .rgba) { x, _, channel in channel == 3 ? x * 17 : 200 }
        let plain = try ImageDecoder.decode(ImageEncoder.encode(Image(bitmap), as: .gif))
        #expect((0..<16).map { plain.bitmap[$0, 0][3] } == (0..<16).map { $0 * 17 < 128 ? 0 : 255 })
        let onBlack = try ImageDecoder.decode(
            ImageEncoder.encode(Image(bitmap), as: .gif, options: .init(background: .black)))
        #expect(onBlack.bitmap[8, 0] == [107, 107, 107, 255])
    }

    @Test("The bytes of a WebP animation are limited") func bytes() throws {
        let frames = try (0..<24).map { index in
            let noise = try Pictures.make(100, 100) { x, y, channel in
                let number = ((x * 100 + y) * 3 + channel + index * 30_000) &* 0x9E37_79B9
                return (number ^ number >> 15) &* 0x85EB_CA6B >> 13 & 255
            }
            return ImageFrame(bitmap: noise, delay: .milliseconds(50))
        }
        let image = try #require(Image(frames: frames))
        let options = EncodeOptions(lossless: true)
        let count = try ImageEncoder.encode(image, as: .webp, options: options).count
        var limits = DecodeLimits()
        for (bound, isEnough) in [(count - 1, false), (count, true)] {
            // A writer has half of what is left.
            limits.maxMemory = 2 * bound
            let result = Result { () throws(ImagingError) in
                try Allowance(limits, fileBytes: nil).run { () throws(ImagingError) in
                    try ImageEncoder.encode(image, as: .webp, options: options)
                }
            }
            switch result {
            case .success: #expect(isEnough)
            case .failure(.memoryLimit): #expect(!isEnough)
            case .failure(let error): Issue.record("\(error)")
            }
        }
    }

    @Test("Sides beyond the format's limit are refused") func sides() throws {
        let wide = Image(try Pictures.flat(16_384, 1, [1, 2, 3]))
        #expect(throws: ImagingError.self) { try ImageEncoder.encode(wide, as: .webp) }
        _ = try ImageEncoder.encode(wide, as: .gif)
    }
}
