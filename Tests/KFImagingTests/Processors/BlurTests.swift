import Testing

@testable import KFImaging

@Suite("Blurring")
struct BlurTests {
    @Test(
        "The radius decides the size of the box",
        arguments: [(0.0, 5), (2, 5), (3, 7), (4, 9), (5, 9), (10, 19), (20, 39)])
    func box(_ radius: Double, _ box: Int) throws {
        #expect(BlurImageProcessor(blurRadius: radius).boxSize == box)
    }

    /// The plain definition, pass by pass.
    private func reference(_ bitmap: Bitmap, _ box: Int, _ passes: Int) -> [[[Double]]] {
        let channels = bitmap.format.channelCount
        let hasAlpha = bitmap.format.hasAlpha
        var grid = (0..<bitmap.height).map { y in
            (0..<bitmap.width).map { x -> [Double] in
                let pixel = bitmap[x, y].map(Double.init)
                return hasAlpha
                    ? pixel.dropLast().map { $0 * pixel[channels - 1] / 255 } + [pixel[channels - 1]] : pixel
            }
        }
        func clamp(_ value: Int, _ count: Int) -> Int { min(max(value, 0), count - 1) }
        let half = box / 2
        for _ in 0..<passes {
            grid = grid.map { row in
                row.indices.map { x in
                    (0..<channels).map { c in
                        (-half...half).reduce(0.0) { $0 + row[clamp(x + $1, row.count)][c] } / Double(box)
                    }
                }
            }
            grid = grid.indices.map { y in
                grid[y].indices.map { x in
                    (0..<channels).map { c in
                        (-half...half).reduce(0.0) { $0 + grid[clamp(y + $1, grid.count)][x][c] } / Double(box)
                    }
                }
            }
        }
        return grid.map { row in
            row.map { pixel in
                hasAlpha
                    ? pixel.dropLast().map { pixel[channels - 1] > 0 ? $0 * 255 / pixel[channels - 1] : 0 } + [
                        pixel[channels - 1]
                    ] : pixel
            }
        }
    }

    @Test(
        "Blurring matches its definition",
        arguments: [(0.0, 40, 31), (1.0, 40, 31), (4.0, 40, 31), (4.0, 3, 50), (9.0, 60, 2), (5.0, 1, 1)])
    func definition(_ radius: Double, _ width: Int, _ height: Int) throws {
        let processor = BlurImageProcessor(blurRadius: radius)
        for format in [PixelFormat.gray, .grayAlpha, .rgb, .rgba] {
            let bitmap = try Pictures.make(width, height, format) { x, y, channel in
                (x * x * 31 + y * 87 + channel * 91) % 251 + 2
            }
            let blurred = try processor.process(.image(Image(bitmap)), options: .init()).bitmap
            let expected = reference(bitmap, processor.boxSize, processor.passes)
            var worst = 0.0
            for y in 0..<height {
                for x in 0..<width {
                    for (value, exact) in zip(blurred[x, y], expected[y][x]) {
                        worst = max(worst, abs(Double(value) - exact))
                    }
                }
            }
            #expect(worst <= 0.51, "\(format) \(radius)")
        }
    }
}
