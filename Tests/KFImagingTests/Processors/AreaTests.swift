import Testing

@testable import KFImaging

@Suite("Processors of areas")
struct AreaTests {
    @Test("Every area processor matches its definition") func definition() throws {
        try ReferenceTable.expect("areas.tsv", lines: 104, within: 0.55, leastAlpha: 1) { line in
            (Int(line[2]) ?? 0, Int(line[3]) ?? 0)
        }
    }

    @Test("A rounded image is stretched to its size first") func stretched() throws {
        let bitmap = try Pictures.gradient(40, 20)
        let processor = try ProcessorParser.parse("round-corner:0.5h,size=30x30,background=#123456")
        let image = try processor.process(.image(Image(bitmap)), options: .init())
        #expect((image.width, image.height, image.bitmap.format) == (30, 30, .rgb))
        #expect(image.bitmap[0, 0] == [0x12, 0x34, 0x56])
        #expect(image.bitmap[15, 15] == (try Resampler.resize(bitmap, to: PixelSize(width: 30, height: 30)))[15, 15])
        let large = try processor.process(.image(Image(bitmap)), options: .init(scaleFactor: 2))
        #expect(large.width == 60)
    }

    @Test("Lengths follow the scale factor") func scale() throws {
        let image = Image(try Pictures.gradient(60, 40))
        func process(_ spec: String, _ scale: Double) throws -> Image {
            try ProcessorParser.parse(spec).process(.image(image), options: .init(scaleFactor: scale))
        }
        #expect(try process("round-corner:5", 2) == process("round-corner:10", 1))
        #expect(try process("border:2,radius=5", 2) == process("border:4,radius=10", 1))
        #expect(try process("pad:40x40,#fff", 2) == process("pad:80x80,#fff", 1))
    }

    @Test("Only cut corners add alpha") func alpha() throws {
        let bitmap = try Pictures.gradient(20, 20, .gray)
        #expect(try process("round-corner:5", bitmap).format == .grayAlpha)
        #expect(try process("round-corner:5,background=#fff", bitmap).format == .gray)
        #expect(try process("round-corner:5,background=#f00", bitmap).format == .rgb)
        #expect(try process("border:5", bitmap).format == .gray)
        #expect(try process("border:5,#f00", Pictures.gradient(9, 9, .grayAlpha)).format == .rgba)
    }

    @Test("Bands leave no seams") func seams() throws {
        let bitmap = try Pictures.gradient(180, 1500, .rgba)
        #expect(RowBands.split(width: 180, height: 1500, overlap: 14).count == 2)
        let part = try bitmap.cropped(x: 0, y: 700, width: 180, height: 100)
        let sharp = try process("sharpen:1.5", bitmap).cropped(x: 0, y: 730, width: 180, height: 40)
        #expect(try process("sharpen:1.5", part).cropped(x: 0, y: 30, width: 180, height: 40) == sharp)
        let soft = try process("blur:4", bitmap).cropped(x: 0, y: 730, width: 180, height: 40)
        #expect(try process("blur:4", part).cropped(x: 0, y: 30, width: 180, height: 40).distance(to: soft) <= 1)
    }

    @Test("Transparent pixels lend no colour") func transparent() throws {
        // White beside transparent green.
        let bitmap = try Pictures.make(40, 40, .rgba) { x, _, channel in
            x < 20 ? [120, 60, 30, 255][channel] : [0, 255, 0, 0][channel]
        }
        for spec in ["sharpen:2", "blur:3"] {
            let result = try process(spec, bitmap)
            for x in 0..<40 where result[x, 9][3] > 1 {
                for (value, color) in zip(result[x, 9], [120, 60, 30]) { #expect(abs(value - color) <= 1, "\(spec)") }
            }
        }
    }

    private func process(_ spec: String, _ bitmap: Bitmap) throws -> Bitmap {
        try ProcessorParser.parse(spec).process(.image(Image(bitmap)), options: .init()).bitmap
    }
}
