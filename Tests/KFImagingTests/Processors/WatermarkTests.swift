import Testing

@testable import KFImaging

@Suite("Watermarks")
struct WatermarkTests {
    private typealias Placement = WatermarkImageProcessor.Placement

    private func drawn(_ overlay: Bitmap, _ placement: Placement, on bitmap: Bitmap, scale: Double = 1) throws -> Bitmap
    {
        let processor = WatermarkImageProcessor(.loaded(overlay, hash: "sha256:0"), placement)
        return try processor.process(.image(Image(bitmap)), options: .init(scaleFactor: scale)).bitmap
    }

    /// The straight RGBA of a pixel from 0 to 1.
    private func units(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> [Double] {
        let pixel = bitmap[x, y].map { Double($0) / 255 }
        let colors = bitmap.format.isGray ? [pixel[0], pixel[0], pixel[0]] : Array(pixel[0..<3])
        return colors + [bitmap.format.hasAlpha ? pixel[pixel.count - 1] : 1]
    }

    /// Source-over, pixel by pixel, of the overlay at one place or at all places of the tiling.
    private func reference(
        _ overlay: Bitmap, _ placement: Placement, on bitmap: Bitmap, at x: Int, _ y: Int
    ) -> [Double] {
        func origin(_ whole: Int, _ length: Int, _ anchor: Double) -> Int {
            let free = Double(whole) - 2 * placement.margin - Double(length)
            return Int(clamping: placement.margin) + Int(clamping: (anchor * free).rounded(.down))
        }
        func place(_ at: Int, _ whole: Int, _ length: Int, _ anchor: Double) -> Int? {
            var offset = at - origin(whole, length, anchor)
            let step = length + Int(clamping: placement.margin)
            if placement.tile { offset = ((offset % step) + step) % step }
            return (0..<length).contains(offset) ? offset : nil
        }
        let below = units(bitmap, x, y)
        guard let left = place(x, bitmap.width, overlay.width, placement.anchor.x),
            let top = place(y, bitmap.height, overlay.height, placement.anchor.y)
        else { return below }
        let above = units(overlay, left, top)
        let alpha = above[3] * placement.opacity
        let whole = alpha + below[3] * (1 - alpha)
        guard whole > 0 else { return below }
        return (0..<3).map { (above[$0] * alpha + below[$0] * below[3] * (1 - alpha)) / whole } + [whole]
    }

    @Test("Every pixel is the overlay over the image", arguments: [PixelFormat.gray, .grayAlpha, .rgb, .rgba])
    func pixels(_ format: PixelFormat) throws {
        let bitmap = try Pictures.gradient(29, 23, format)
        let placements = [
            Placement(), Placement(anchor: .init(x: 0.3, y: 0.6), opacity: 0.4, margin: 3),
            Placement(anchor: .init(x: 0, y: 1), opacity: 0.7, margin: 2, tile: true),
            Placement(anchor: .init(x: 0.5, y: 0.5), tile: true), Placement(margin: 27),
            Placement(margin: 40, tile: true),
        ]
        for overlayFormat in [PixelFormat.gray, .grayAlpha, .rgb, .rgba] {
            for (width, height) in [(7, 5), (40, 9), (1, 1)] {
                let overlay = try Pictures.gradient(width, height, overlayFormat)
                for placement in placements {
                    let result = try drawn(overlay, placement, on: bitmap)
                    #expect(
                        result.format
                            == (overlayFormat.isGray || !format.isGray ? format : format.hasAlpha ? .rgba : .rgb))
                    var worst = 0.0
                    for place in 0..<29 * 23 {
                        let (x, y) = (place % 29, place / 29)
                        let expected = reference(overlay, placement, on: bitmap, at: x, y)
                        for (value, other) in zip(units(result, x, y), expected) {
                            worst = max(worst, abs(value - other) * 255)
                        }
                    }
                    #expect(worst <= 0.52, "\(overlayFormat.channels) \(width)x\(height) \(placement)")
                }
            }
        }
    }

    @Test("The scale fits the overlay into a part of the image")
    func scale() throws {
        let (bitmap, overlay) = (try Pictures.flat(80, 40, [0]), try Pictures.flat(30, 10, [255]))
        func bright(_ placement: Placement, _ scale: Double = 1) throws -> Int {
            let result = try drawn(overlay, placement, on: bitmap, scale: scale)
            return (0..<3200).count { result[$0 % 80, $0 / 80][0] == 255 }
        }
        #expect(try bright(Placement()) == 300)
        #expect(try bright(Placement(scale: 0.75)) == 60 * 20)
        #expect(try bright(Placement(scale: 0.1)) == 8 * 3)
        #expect(try bright(Placement(anchor: .init(x: 0, y: 0)), 2) == 60 * 20)
    }

    @Test("An animation has the overlay on every frame")
    func animation() throws {
        let frames = try [10, 90].map {
            ImageFrame(bitmap: try Pictures.flat(20, 20, [$0, $0, $0]), delay: .seconds(1))
        }
        let image = try #require(Image(frames: frames))
        let processor = WatermarkImageProcessor(
            .loaded(try Pictures.flat(4, 4, [255, 0, 0]), hash: "sha256:0"), .init())
        let result = try processor.process(.image(image), options: .init())
        #expect(result.frames.map { $0.bitmap[19, 19] } == [[255, 0, 0], [255, 0, 0]])
        #expect(result.frames.map { $0.bitmap[0, 0] } == [[10, 10, 10], [90, 90, 90]])
    }

    @Test("An overlay that has not been read fails the work")
    func missing() throws {
        let image = Image(try Pictures.flat(4, 4, [0]))
        for (spec, missing) in [("watermark:a.png", ["a.png"]), ("watermark:sha256:00ff", [])] {
            let processor = try ProcessorParser.parse(spec)
            #expect(processor.missingOverlays == missing)
            #expect(throws: ImagingError.self) { try processor.process(.image(image), options: .init()) }
        }
    }
}
