import Testing

@testable import KFImaging

@Suite("Rotating, mirroring and padding")
struct GeometryTests {
    private func process(_ spec: String, _ bitmap: Bitmap) throws -> Bitmap {
        try ProcessorParser.parse(spec).process(.image(Image(bitmap)), options: .init()).bitmap
    }

    /// `OrientationTests` looks at each pixel.
    @Test(
        "Rotating and mirroring turn as an orientation does",
        arguments: [("rotate:90", 6), ("rotate:180", 3), ("rotate:270", 8), ("flip:h", 2), ("flip:v", 4)])
    func turned(_ spec: String, _ orientation: Int) throws {
        for format in RoundTripTests.formats {
            let bitmap = try Pictures.gradient(37, 50, format)
            #expect(try process(spec, bitmap) == bitmap.oriented(Orientation(orientation)), "\(format)")
        }
    }

    @Test("Padding surrounds the picture with colour", arguments: RoundTripTests.formats)
    func padding(_ format: PixelFormat) throws {
        let bitmap = try Pictures.gradient(5, 8, format)
        let padded = try process("pad:8x5,#808080", bitmap)
        #expect((padded.width, padded.height) == (8, 5))
        #expect(padded.format == format)
        // Three columns more: one to the left. Three rows less: one from the top.
        #expect(padded[1, 0] == bitmap[0, 1])
        #expect(padded[5, 4] == bitmap[4, 5])
        let unit = format.depth == .sixteen ? 257 : 1
        var color = [Int](repeating: 128 * unit, count: format.channelCount)
        if format.hasAlpha { color[format.channelCount - 1] = 255 * unit }
        #expect(padded[0, 2] == color && padded[6, 2] == color && padded[7, 4] == color)
    }

    @Test("Padding widens the pixel format as needed") func format() throws {
        let gray = try Pictures.gradient(4, 4, PixelFormat(.gray, .sixteen))
        #expect(try process("pad:6x6,#000", gray).format == PixelFormat(.gray, .sixteen))
        let red = try process("pad:6x6,#f00", gray)
        #expect(red.format == PixelFormat(.rgb, .sixteen))
        #expect(red[0, 0] == [65_535, 0, 0])
        #expect(red[2, 3] == Array(repeating: gray[1, 2][0], count: 3))
        let clear = try process("pad:6x6,#00000000", gray)
        #expect(clear.format == PixelFormat(.grayAlpha, .sixteen))
        #expect(clear[0, 0] == [0, 0] && clear[2, 3] == gray[1, 2] + [65_535])
        // A colour that does not show changes nothing.
        #expect(try process("pad:4x4,#ff000088", gray) == gray)
        #expect(try process("pad:2x2,#ff000080", gray).format == gray.format)
    }

    @Test("A canvas beyond the limit is refused") func limit() throws {
        let image = Image(try Pictures.flat(1, 1, [1]))
        #expect(throws: ImagingError.tooLarge(width: 60_000, height: 60_000, maxPixels: 100_000_000)) {
            try ProcessorParser.parse("pad:60000x60000,#fff").process(.image(image), options: .init())
        }
    }
}
