import Testing

@testable import KFImaging

@Suite("Animated PNGs")
struct APNGTests {
    private typealias Chunk = (name: String, data: [UInt8])

    @Test("Frames, delays and loops are read") func timing() throws {
        var frames: [Files.APNGFrame] = [.red, .green, .blue, .blue]
        frames[0].delay = (1, 30)
        // 0 stands for 100.
        frames[1].delay = (7, 0)
        frames[2].delay = (0, 1000)
        frames[3].delay = (65_535, 1)
        let bytes = Files.apng(4, 3, frames, loops: 3)
        let image = try ImageDecoder.decode(bytes)
        #expect(image.frames.map(\.delay) == [.seconds(1) / 30, .milliseconds(70), .zero, .seconds(65_535)])
        #expect(image.loopCount == 3 && image.sourceFormat == .png && image.warnings == [])
        #expect(image.frames[1].bitmap[0, 0] == [255, 0, 0, 255] && image.frames[1].bitmap[2, 2] == [0, 255, 0, 255])
        #expect(image.frames[2].bitmap[3, 2] == [0, 0, 255, 255] && image.frames[2].bitmap[1, 1] == [0, 255, 0, 255])
        let info = try bytes.probe()
        #expect(info.frames == 4 && info.width == 4 && info.height == 3)
        #expect(try bytes.checkFully() == [])
    }

    @Test("The default image is not always a frame") func defaultImage() throws {
        let gray = [UInt8](repeating: 9, count: 4 * 3 * 4)
        let bytes = Files.apng(4, 3, [.green, .blue], defaultImage: gray)
        let image = try ImageDecoder.decode(bytes)
        #expect(image.frames.count == 2 && image.frames[0].bitmap[0, 0] == [0, 0, 0, 0])
        #expect(image.frames[0].bitmap[1, 1] == [0, 255, 0, 255])
        #expect(try bytes.probe().frames == 2)
        // What --first-frame shows is the animation's first frame, as of every format.
        let first = try ImageDecoder.decode(bytes, options: .init(firstFrameOnly: true))
        #expect(!first.isAnimated && first.bitmap == image.frames[0].bitmap && first.frames[0].delay == .zero)
        // Of one frame, too.
        let single = try ImageDecoder.decode(Files.apng(4, 3, [.blue], defaultImage: gray))
        #expect(!single.isAnimated && single.bitmap[3, 2] == [0, 0, 255, 255] && single.bitmap[0, 0] == [0, 0, 0, 0])
    }

    @Test("A first frame keeps its pixel format") func firstFrame() throws {
        let form = Files.APNGForm(depth: 16, colorType: 0)
        let frames = [Int](0..<2).map { index in
            Files.APNGFrame(width: 2, height: 1, pixels: [0x12, 0x34, UInt8(index), 0x80])
        }
        let bytes = Files.apng(2, 1, frames, form)
        let first = try ImageDecoder.decode(bytes, options: .init(firstFrameOnly: true))
        #expect(first.bitmap.format == PixelFormat(.gray, .sixteen) && first.bitmap[0, 0] == [0x1234])
        // 0x1234 / 257 is 18.1; 0x0180 / 257 is 1.5.
        let image = try ImageDecoder.decode(bytes)
        #expect(image.frames[0].bitmap[0, 0] == [18, 18, 18, 255])
        #expect(image.frames.map { $0.bitmap[1, 0][0] } == [0, 1])
    }

    @Test("Palettes and colour keys are read", arguments: [false, true])
    func palettes(_ isInterlaced: Bool) throws {
        let palette: [UInt8] = [10, 20, 30, 40, 50, 60, 70, 80, 90]
        let indexed = Files.APNGForm(
            colorType: 3, chunks: [("PLTE", palette), ("tRNS", [255, 0])], isInterlaced: isInterlaced)
        let whole = Files.APNGFrame(width: 3, height: 3, pixels: [0, 1, 2, 1, 2, 0, 2, 0, 1])
        let part = Files.APNGFrame(left: 1, top: 1, width: 2, height: 2, pixels: [1, 1, 2, 0], blends: true)
        let image = try ImageDecoder.decode(Files.apng(3, 3, [whole, part], indexed))
        let colors = [[10, 20, 30, 255], [40, 50, 60, 0], [70, 80, 90, 255]]
        #expect((0..<9).map { image.frames[0].bitmap[$0 % 3, $0 / 3] } == whole.pixels.map { colors[Int($0)] })
        // Transparent pixels leave the canvas; the others replace it.
        let expected = [0, 1, 2, 1, 2, 0, 2, 2, 0].map { colors[$0] }
        #expect((0..<9).map { image.frames[1].bitmap[$0 % 3, $0 / 3] } == expected)

        let keyed = Files.APNGForm(
            colorType: 2, chunks: [("tRNS", [0, 1, 0, 2, 0, 3])], isInterlaced: isInterlaced)
        let frames = (0..<2).map { Files.APNGFrame(width: 1, height: 1, pixels: [1, 2, 3 + UInt8($0)]) }
        let rgb = try ImageDecoder.decode(Files.apng(1, 1, frames, keyed))
        #expect(rgb.frames.map { $0.bitmap[0, 0] } == [[1, 2, 3, 0], [1, 2, 4, 255]])
    }

    @Test("Every form without a palette is read", arguments: [0, 2, 4])
    func forms(_ colorType: Int) throws {
        let samples: [UInt8] = [[100], [], [1, 2, 3], [], [100, 7]][colorType]
        let expected = [[100, 100, 100, 255], [], [1, 2, 3, 255], [], [100, 100, 100, 7]][colorType]
        for depth in [8, 16] {
            let pixel = depth == 8 ? samples : samples.flatMap { [$0, $0] }
            let frames = (0..<2).map { _ in Files.APNGFrame(width: 1, height: 1, pixels: pixel) }
            let bytes = Files.apng(1, 1, frames, Files.APNGForm(depth: depth, colorType: colorType))
            #expect(try ImageDecoder.decode(bytes).frames.map { $0.bitmap[0, 0] } == [expected, expected])
        }
    }

    /// Pixels of frames that the canvas does not show on its own are transparent, though the PNG has no alpha.
    @Test("A disposal can make an animation transparent") func disposal() throws {
        let form = Files.APNGForm(colorType: 2)
        var frames = (0..<2).map { _ in Files.APNGFrame(width: 1, height: 1, pixels: [1, 2, 3]) }
        #expect(try Files.apng(1, 1, frames, form).probe().hasAlpha == false)
        frames[0].disposal = 1
        #expect(try Files.apng(1, 1, frames, form).probe().hasAlpha)
        // There is nothing before the first frame.
        frames[0].disposal = 2
        #expect(try Files.apng(1, 1, frames, form).probe().hasAlpha)
    }

    // MARK: Limits and options

    @Test("The limits apply to animations") func limits() throws {
        let bytes = Files.apng(4, 3, [.red, .green, .blue])
        func decode(_ limits: DecodeLimits) throws -> Image {
            try ImageDecoder.decode(bytes, options: .init(limits: limits))
        }
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 2)) { try decode(.init(maxFrames: 2)) }
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 2)) {
            try bytes.withRaw { try ImageProbe.probe($0, limits: .init(maxFrames: 2)) }
        }
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 2)) {
            try bytes.checkFully(limits: .init(maxFrames: 2))
        }
        #expect(throws: ImagingError.animationTooLarge(frames: 3, width: 4, height: 3, maxPixels: 36 - 1)) {
            try decode(.init(maxAnimationBytes: 36 * 4 - 1))
        }
        #expect(throws: ImagingError.timeLimit(.zero)) { try decode(.init(timeLimit: .zero)) }
        #expect(throws: ImagingError.tooLarge(width: 4, height: 3, maxPixels: 11)) { try decode(.init(maxPixels: 11)) }
        let first = DecodeOptions(limits: .init(maxFrames: 1, maxAnimationBytes: 1), firstFrameOnly: true)
        #expect(try ImageDecoder.decode(bytes, options: first).bitmap[0, 0] == [255, 0, 0, 255])
    }

    /// Headers of frames alone take no memory.
    @Test("Too many frames are refused") func manyFrames() throws {
        let pixel = Files.APNGFrame.flat(1, 1, [0, 0, 255, 255])
        let bytes = Files.apng(1, 1, [Files.APNGFrame](repeating: pixel, count: 10_001))
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 10_000)) { try bytes.probe() }
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 10_000)) { try ImageDecoder.decode(bytes) }
        #expect(try bytes.checkStructure() == [])
    }

    @Test("All sizes of a turned animation are decoded") func sizes() throws {
        let exif = Files.exif(orientation: 6)
        var form = Files.APNGForm()
        form.chunks = [("eXIf", exif)]
        let bytes = Files.apng(4, 3, [.red, .green, .blue], form)
        let info = try bytes.probe()
        #expect((info.width, info.height, info.orientation) == (3, 4, 6))
        let image = try ImageDecoder.decode(bytes)
        #expect(image.width == 3 && image.height == 4)
        // The last pixel of the stored picture is the lower left one of the displayed picture.
        #expect(image.frames[2].bitmap[0, 3] == [0, 0, 255, 255])

        let sizes = [PixelSize(width: 6, height: 8), PixelSize(width: 2, height: 2)]
        try bytes.withRaw { bytes in
            #expect(try ImageDecoder.passes(over: bytes, options: .init(), sizes: sizes) == [[0], [1]])
            let together = try ImageDecoder.decode(bytes, options: .init(), sizes: sizes)
            for (size, image) in zip(sizes, together) {
                #expect(image.frames.count == 3 && image.width == size.width && image.height == size.height)
                #expect(try image == ImageDecoder.decode(bytes, options: .init(exactSize: size)))
            }
            // A still picture is decoded to all sizes at a time.
            let first = DecodeOptions(firstFrameOnly: true)
            #expect(try ImageDecoder.passes(over: bytes, options: first, sizes: sizes) == [[0, 1]])
        }
    }

    @Test("Profiles and gamma apply to every frame") func profiles() throws {
        // Linear light.
        let gamma: Chunk = ("gAMA", Files.bigEndian(100_000))
        let pixel = Files.APNGFrame(width: 1, height: 1, pixels: [100, 100, 100])
        var form = Files.APNGForm(colorType: 2, chunks: [gamma])
        let image = try ImageDecoder.decode(Files.apng(1, 1, [pixel, pixel], form))
        let still = try ImageDecoder.decode(Files.apng(1, 1, [pixel], form))
        #expect(image.iccProfile != nil && image.iccProfile == still.iccProfile)
        let converted = try ImageDecoder.decode(
            Files.apng(1, 1, [pixel, pixel], form), options: .init(convertsToSRGB: true))
        #expect(converted.iccProfile == nil)
        let expected = try still.convertedToSRGB().bitmap[0, 0][0]
        #expect(converted.frames.map { $0.bitmap[0, 0] } == [[expected, expected, expected, 255]] * 2)
        // A grey profile does not describe RGBA: the frames become sRGB.
        form.colorType = 0
        let gray = Files.APNGFrame(width: 1, height: 1, pixels: [100])
        let grays = try ImageDecoder.decode(Files.apng(1, 1, [gray, gray], form))
        #expect(grays.iccProfile == nil)
        #expect(grays.frames.allSatisfy { abs($0.bitmap[0, 0][0] - expected) <= 1 })
    }

    // MARK: Writing

    @Test("An animation survives its conversion", arguments: [ImageFormat.gif, .webp])
    func conversion(_ format: ImageFormat) throws {
        let image = try ImageDecoder.decode(Fixture.bytes("png/animated.png"))
        let written = try ImageDecoder.decode(ImageEncoder.encode(image, as: format, options: .init(lossless: true)))
        #expect(written.frames.count == image.frames.count && written.loopCount == image.loopCount)
        // The rounded delays do not drift.
        var difference = Duration.zero
        for (frame, original) in zip(written.frames, image.frames) {
            difference += frame.delay - original.delay
            #expect(max(difference, .zero - difference) <= .milliseconds(format == .gif ? 6 : 1))
        }
        guard format == .webp else { return }
        // WebP changes the colour of transparent pixels.
        for (frame, original) in zip(written.frames, image.frames) {
            #expect(frame.bitmap.visible == original.bitmap.visible)
        }
    }
}

private func * (value: [[Int]], count: Int) -> [[Int]] { (0..<count).flatMap { _ in value } }
