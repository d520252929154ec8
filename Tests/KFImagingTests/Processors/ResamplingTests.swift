import Glibc
import Testing

@testable import KFImaging

@Suite("Resampling")
struct ResamplingTests {
    /// Sums of floats in the order of their positions, columns first.
    private func resampled(_ bitmap: Bitmap, to size: PixelSize) throws -> Bitmap {
        let (format, channels) = (bitmap.format, bitmap.format.channelCount)
        let top: Float = format.depth == .sixteen ? 65_535 : 255
        func sums(_ lines: [[Float]], _ weights: LanczosWeights, _ count: Int) -> [[Float]] {
            (0..<count).map { position in
                var sum = [Float](repeating: 0, count: lines[0].count)
                for tap in 0..<weights.taps {
                    let weight = weights.weights[position * weights.taps + tap]
                    let line = lines[Int(weights.starts[position]) + tap]
                    for index in sum.indices { sum[index] += line[index] * weight }
                }
                return sum
            }
        }
        let columns = try LanczosWeights.of(bitmap.width, nil, size.width)
        let rows = try LanczosWeights.of(bitmap.height, nil, size.height)
        let narrow: [[Float]] = (0..<bitmap.height).map { y in
            let pixels = (0..<bitmap.width).map { x -> [Float] in
                var pixel = bitmap[x, y].map { Float($0) }
                if format.hasAlpha {
                    let share = pixel[channels - 1] * (1 / top)
                    for channel in 0..<channels - 1 { pixel[channel] *= share }
                }
                return pixel
            }
            return Array(sums(pixels, columns, size.width).joined())
        }
        let small = sums(narrow, rows, size.height)
        return try Pictures.make(size.width, size.height, format) { x, y, channel in
            var value = small[y][x * channels + channel]
            if format.hasAlpha, channel < channels - 1 {
                let alpha = small[y][x * channels + channels - 1]
                value *= alpha < 0.5 ? 0 : top / min(alpha, top)
            }
            return Int(clamping: Double(max(0, min(value, top)) + 0.5))
        }
    }

    @Test(
        "Every sample is that of the definition, bit for bit",
        arguments: [
            PixelFormat.gray, .grayAlpha, .rgb, .rgba, PixelFormat(.gray, .sixteen), PixelFormat(.grayAlpha, .sixteen),
            PixelFormat(.rgb, .sixteen), PixelFormat(.rgba, .sixteen),
        ])
    func definition(_ format: PixelFormat) throws {
        let most = format.depth == .sixteen ? 65_535 : 255
        // More columns than a tile has, and rows that eight do not divide; reduced, enlarged and stretched.
        for (width, height, target) in [
            (1301, 21, (700, 9)), (61, 47, (13, 11)), (61, 47, (90, 71)), (9, 3, (9, 2)), (3, 40, (620, 5)),
            (1, 1, (2, 3)), (700, 9, (2, 2)),
        ] {
            let picture = try Pictures.make(width, height, format) { x, y, channel in
                (x * x * 31 + y * 7919 + channel * 104_729 + x * y * 17) % (most + 1)
            }
            let size = PixelSize(width: target.0, height: target.1)
            #expect(try Resampler.resize(picture, to: size) == resampled(picture, to: size), "\(width)×\(height)")
        }
    }
}
