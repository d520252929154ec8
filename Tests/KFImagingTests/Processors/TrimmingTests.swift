import Testing

@testable import KFImaging

@Suite("Trimming")
struct TrimmingTests {
    private func trimmed(_ bitmap: Bitmap, _ spec: String = "trim") throws -> Bitmap {
        try ProcessorParser.parse(spec).process(.image(Image(bitmap)), options: .init()).bitmap
    }

    /// Asks every pixel, row by row and column by column.
    private func reference(_ frames: [Bitmap], _ tolerance: Double) -> [Int]? {
        let first = frames[0]
        let (count, hasAlpha) = (first.format.channelCount, first.format.hasAlpha)
        func premultiplied(_ pixel: [Int]) -> [Double] {
            let unit = first.format.depth == .eight ? 255.0 : 65_535
            let samples = pixel.map { Double($0) / unit * 255 }
            return (0..<count).map { hasAlpha && $0 < count - 1 ? samples[$0] * samples[count - 1] / 255 : samples[$0] }
        }
        let color = premultiplied(first[0, 0])
        func isContent(_ x: Int, _ y: Int) -> Bool {
            frames.contains { frame in
                zip(premultiplied(frame[x, y]), color).contains { abs($0 - $1) > tolerance + 1 / 512 }
            }
        }
        let columns = (0..<first.width).filter { x in (0..<first.height).contains { isContent(x, $0) } }
        let rows = (0..<first.height).filter { y in (0..<first.width).contains { isContent($0, y) } }
        guard let left = columns.first, let right = columns.last, let top = rows.first, let bottom = rows.last else {
            return nil
        }
        return [left, top, right - left + 1, bottom - top + 1]
    }

    private func noisy(_ format: PixelFormat, _ seed: Int) throws -> Bitmap {
        let unit = format.depth == .eight ? 1 : 257
        return try Pictures.make(19, 14, format) { x, y, channel in
            let noise = (x * 7 + y * 13 + channel * 5 + seed) % 4
            let isContent = (3 + seed % 5..<12).contains(x) && (2..<9 + seed % 3).contains(y)
            return (isContent ? 90 + x * 9 : 200 + noise) * unit
        }
    }

    @Test("The result is the part that a plain search finds", arguments: RoundTripTests.formats)
    func plain(_ format: PixelFormat) throws {
        for seed in 0..<6 {
            let bitmap = try noisy(format, seed)
            for tolerance in [0, 1, 3, 10, 100, 255] {
                let result = try trimmed(bitmap, "trim:\(tolerance)")
                guard let part = reference([bitmap], Double(tolerance)) else {
                    #expect(result == bitmap)
                    continue
                }
                let expected = try bitmap.cropped(x: part[0], y: part[1], width: part[2], height: part[3])
                #expect(result == expected, "\(seed) \(tolerance)")
            }
        }
    }

    @Test("An animation keeps what any frame shows")
    func animation() throws {
        let bitmaps = try (0..<4).map { try noisy(.rgba, $0) }
        let image = try #require(Image(frames: bitmaps.map { ImageFrame(bitmap: $0, delay: .seconds(1)) }))
        let result = try ProcessorParser.parse("trim").process(.image(image), options: .init())
        let part = try #require(reference(bitmaps, 10))
        #expect(result.frames.count == 4 && [result.width, result.height] == Array(part[2...]))
        #expect(result.frames[2].bitmap[0, 0] == bitmaps[2][part[0], part[1]])
    }

    @Test("Transparent borders count whatever their colour")
    func transparent() throws {
        let bitmap = try Pictures.make(9, 9, .rgba) { x, y, channel in
            let isContent = (3..<6).contains(x) && (2..<8).contains(y)
            return channel == 3 ? (isContent ? 255 : 0) : x * 25
        }
        #expect(try trimmed(bitmap, "trim:0").size == PixelSize(width: 3, height: 6))
    }

    @Test("A picture of one colour stays as it is")
    func flat() throws {
        let bitmap = try Pictures.flat(8, 5, [9, 9, 9])
        #expect(try trimmed(bitmap) == bitmap)
    }
}
