import Support
import Testing

@testable import KFImaging

/// The reference composites in floating point, pixel by pixel, by the formulas of the specifications.
@Suite("Blending of animations")
struct AnimationBlendingTests {
    /// Premultiplied samples from 0 to 1.
    private struct Canvas {
        let (width, height): (Int, Int)
        var pixels: [SIMD4<Double>]

        init(_ width: Int, _ height: Int) {
            (self.width, self.height) = (width, height)
            pixels = [SIMD4<Double>](repeating: .zero, count: width * height)
        }

        func contains(_ x: Int, _ y: Int) -> Bool { x < width && y < height }
    }

    private static func premultiplied(_ samples: [Int]) -> SIMD4<Double> {
        let alpha = Double(samples[3]) / 255
        let color = SIMD3(Double(samples[0]), Double(samples[1]), Double(samples[2])) / 255 * alpha
        return SIMD4(color, alpha)
    }

    /// The largest difference of a premultiplied sample, in steps of 8 bits.
    private func difference(_ bitmap: Bitmap, _ canvas: Canvas) -> Double {
        var worst = 0.0
        for y in 0..<canvas.height {
            for x in 0..<canvas.width {
                let distance = Self.premultiplied(bitmap[x, y]) - canvas.pixels[y * canvas.width + x]
                worst = max(worst, distance.max(), -distance.min())
            }
        }
        return worst * 255
    }

    @Test("Half-transparent green over red is mixed") func mixed() throws {
        let red = Files.WebPFrame(try Pictures.flat(2, 2, [255, 0, 0, 255]))
        let green = Files.WebPFrame(try Pictures.flat(2, 2, [0, 255, 0, 128]))
        let image = try ImageDecoder.decode(Files.webp(2, 2, [red, green]))
        #expect(image.frames[1].bitmap[0, 0] == [126, 127, 0, 255])
    }

    @Test("Random WebP animations match the definition", arguments: 0..<12)
    func webp(_ seed: UInt64) throws {
        var dice = Dice(seed)
        let (width, height) = (6 + dice.roll(20), 6 + dice.roll(20))
        var frames: [Files.WebPFrame] = []
        var canvas = Canvas(width, height)
        var expected: [Canvas] = []
        for _ in 0..<6 {
            let (left, top) = (dice.roll(width - 2) & ~1, dice.roll(height - 2) & ~1)
            let (wide, tall) = (1 + dice.roll(width - left), 1 + dice.roll(height - top))
            let alphas = [0, 255, 64 + dice.roll(190), 64 + dice.roll(190)]
            let bitmap = try Pictures.make(wide, tall, .rgba) { _, _, channel in
                channel == 3 ? alphas[dice.roll(4)] : dice.roll(256)
            }
            let frame = Files.WebPFrame(
                bitmap, left: left, top: top, blends: dice.roll(3) > 0, clears: dice.roll(3) == 0)
            frames.append(frame)
            for y in 0..<tall {
                for x in 0..<wide {
                    let place = (top + y) * width + left + x
                    let above = Self.premultiplied(bitmap[x, y])
                    canvas.pixels[place] = frame.blends ? above + canvas.pixels[place] * (1 - above.w) : above
                }
            }
            expected.append(canvas)
            guard frame.clears else { continue }
            for y in top..<top + tall { for x in left..<left + wide { canvas.pixels[y * width + x] = .zero } }
        }
        let image = try ImageDecoder.decode(Files.webp(width, height, frames))
        #expect(image.frames.count == 6 && image.width == width && image.height == height)
        for (index, frame) in image.frames.enumerated() {
            // Each blending rounds by up to two steps.
            #expect(difference(frame.bitmap, expected[index]) <= 2 * Double(index + 1), "frame \(index)")
        }
    }

    @Test("Random animated PNGs match the definition", arguments: 0..<24)
    func apng(_ seed: UInt64) throws {
        var dice = Dice(seed)
        let (width, height) = (4 + dice.roll(12), 4 + dice.roll(12))
        let hasDefaultImage = dice.roll(2) == 0
        var frames: [Files.APNGFrame] = []
        var canvas = Canvas(width, height)
        var expected: [Canvas] = []
        for index in 0..<8 {
            let isWhole = index == 0 && !hasDefaultImage
            let (left, top) = isWhole ? (0, 0) : (dice.roll(width), dice.roll(height))
            let wide = isWhole ? width : 1 + dice.roll(width - left)
            let tall = isWhole ? height : 1 + dice.roll(height - top)
            let alphas = [0, 255, 1 + dice.roll(254), 1 + dice.roll(254)]
            var frame = Files.APNGFrame(left: left, top: top, width: wide, height: tall, pixels: [])
            (frame.disposal, frame.blends) = (dice.roll(3), dice.roll(3) > 0)
            let before = canvas
            for y in top..<top + tall {
                for x in left..<left + wide {
                    let pixel = [dice.roll(256), dice.roll(256), dice.roll(256), alphas[dice.roll(4)]]
                    frame.pixels += pixel.map(UInt8.init)
                    let above = Self.premultiplied(pixel)
                    let below = canvas.pixels[y * width + x]
                    canvas.pixels[y * width + x] = frame.blends ? above + below * (1 - above.w) : above
                }
            }
            frames.append(frame)
            expected.append(canvas)
            if frame.disposal == 2 { canvas = before }
            guard frame.disposal == 1 else { continue }
            for y in top..<top + tall { for x in left..<left + wide { canvas.pixels[y * width + x] = .zero } }
        }
        let form = Files.APNGForm(isInterlaced: seed % 3 == 0)
        let image = try ImageDecoder.decode(
            Files.apng(
                width, height, frames, form,
                defaultImage: hasDefaultImage ? [UInt8](repeating: 77, count: width * height * 4) : nil))
        #expect(image.frames.count == 8 && image.width == width && image.height == height)
        for (index, frame) in image.frames.enumerated() {
            // Each blending rounds the colour and the alpha.
            #expect(difference(frame.bitmap, expected[index]) <= Double(index + 1), "frame \(index)")
        }
    }

    @Test("Random GIF animations match the definition", arguments: 0..<12)
    func gif(_ seed: UInt64) throws {
        var dice = Dice(seed)
        let palette: [[Int]] = [[0, 0, 0, 255], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]
        let (width, height) = (4 + dice.roll(9), 4 + dice.roll(9))
        var frames: [Files.GIFFrame] = []
        var canvas = Canvas(width, height)
        var expected: [Canvas] = []
        for _ in 0..<8 {
            let (left, top) = (dice.roll(width), dice.roll(height))
            // Some reach beyond the canvas.
            let (wide, tall) = (1 + dice.roll(width), 1 + dice.roll(height))
            let frame = Files.GIFFrame(
                left: left, top: top, width: wide, height: tall,
                indexes: (0..<wide * tall).map { _ in UInt8(dice.roll(4)) }, disposal: dice.roll(4),
                transparent: dice.roll(2) == 0 ? UInt8(dice.roll(4)) : nil)
            frames.append(frame)
            let before = canvas
            for y in 0..<tall {
                for x in 0..<wide where canvas.contains(left + x, top + y) {
                    let index = frame.indexes[y * wide + x]
                    guard index != frame.transparent else { continue }
                    canvas.pixels[(top + y) * width + left + x] = Self.premultiplied(palette[Int(index)])
                }
            }
            expected.append(canvas)
            if frame.disposal == 3 { canvas = before }
            guard frame.disposal == 2 else { continue }
            for y in top..<top + tall {
                for x in left..<left + wide where canvas.contains(x, y) { canvas.pixels[y * width + x] = .zero }
            }
        }
        let image = try ImageDecoder.decode(Files.gif(width, height, frames))
        #expect(image.frames.count == 8 && image.width == width && image.height == height)
        for (index, frame) in image.frames.enumerated() {
            #expect(difference(frame.bitmap, expected[index]) == 0, "frame \(index)")
        }
    }
}
