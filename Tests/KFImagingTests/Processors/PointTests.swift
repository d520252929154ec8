import Testing

@testable import KFImaging

@Suite("Processors of single pixels")
struct PointTests {
    @Test("Every point processor matches its definition") func definition() throws {
        try ReferenceTable.expect("points.tsv", lines: 700, within: 0.506, leastAlpha: 0.5) { line in
            (ReferenceTable.pixels(line[2]).count, 1)
        }
    }

    @Test("The pixel format widens only as needed") func formats() throws {
        func format(_ spec: String, _ format: PixelFormat) throws -> PixelFormat {
            try process(spec, Pictures.gradient(3, 3, format)).format
        }
        for depth in [PixelFormat.Depth.eight, .sixteen] {
            for spec in ["color:0.1", "black-white", "grayscale", "tint:#777", "blend:hue,background=#888"] {
                #expect(try format(spec, PixelFormat(.gray, depth)) == .gray, "\(spec)")
            }
            #expect(try format("blend:multiply,background=#888", PixelFormat(.grayAlpha, depth)) == .gray)
            #expect(try format("overlay:#fff", PixelFormat(.grayAlpha, depth)) == .grayAlpha)
            #expect(try format("overlay:#ffffff80", PixelFormat(.gray, depth)) == .grayAlpha)
            #expect(try format("overlay:#f00", PixelFormat(.gray, depth)) == .rgb)
            #expect(try format("tint:#f00", PixelFormat(.grayAlpha, depth)) == .rgba)
            #expect(try format("tint:#ff000000", PixelFormat(.gray, depth)) == .gray)
            #expect(try format("grayscale", PixelFormat(.rgb, depth)) == .gray)
            #expect(try format("grayscale", PixelFormat(.rgba, depth)) == .grayAlpha)
            #expect(try format("black-white", PixelFormat(.rgb, depth)) == .rgb)
            #expect(try format("blend:normal", PixelFormat(.rgb, depth)) == .rgb)
            #expect(try format("blend:normal,alpha=0.5", PixelFormat(.rgb, depth)) == .rgba)
            #expect(try format("blend:normal,alpha=0.5,background=#f00", PixelFormat(.rgba, depth)) == .rgb)
            #expect(try format("blend:source-in,background=#ff000088", PixelFormat(.rgb, depth)) == .rgba)
        }
    }

    @Test("The profile stays where it fits") func profile() throws {
        let wide = try Fixture.bytes("jpeg/icc-wide-gamut.jpg")
        for spec in ["color:0,1.2", "grayscale", "overlay:#f00", "tint:#00ff0040", "blend:screen,background=#123"] {
            let image = try ProcessorParser.parse(spec).process(.data(wide), options: .init())
            #expect(image.iccProfile != nil && image.bitmap.format == .rgb, "\(spec)")
        }
    }

    /// A profile of linear grey, in which sRGB's 128 is 55.
    private var linearGray: [UInt8] {
        let white = [63_190, 65_536, 54_061].flatMap(Files.bigEndian)
        var profile =
            Files.bigEndian(192) + Files.bigEndian(0) + Files.bigEndian(0x0210_0000) + Array("mntrGRAYXYZ ".utf8)
            + [UInt8](repeating: 0, count: 12)
        profile += Array("acsp".utf8) + [UInt8](repeating: 0, count: 28) + white + [UInt8](repeating: 0, count: 48)
        profile +=
            Files.bigEndian(2) + Array("wtpt".utf8) + Files.bigEndian(156) + Files.bigEndian(20) + Array("kTRC".utf8)
            + Files.bigEndian(176) + Files.bigEndian(14)
        return profile + Array("XYZ ".utf8) + Files.bigEndian(0) + white + Array("curv".utf8) + Files.bigEndian(0)
            + Files.bigEndian(1)
            + Files.bigEndian(0x0100_0000)
    }

    @Test("Grey is converted to sRGB before it is coloured") func grey() throws {
        var gray = Image(try Pictures.flat(4, 4, [55]))
        gray.iccProfile = linearGray
        let file = try ImageEncoder.encode(gray, as: .jpeg)
        for item in [ImageProcessItem.image(gray), .data(file)] {
            let same = try ProcessorParser.parse("tint:#77777700").process(item, options: .init())
            #expect(same.iccProfile == linearGray && same.bitmap == gray.bitmap)
            for spec in ["blend:normal,background=#f00", "pad:9x9,#f00", "border:1,#ff0000", "overlay:#ff0001,1"] {
                let image = try ProcessorParser.parse(spec).process(item, options: .init())
                #expect(image.iccProfile == nil && image.bitmap.format == .rgb, "\(spec)")
                let middle = image.bitmap[image.width / 2, image.height / 2]
                #expect(middle.allSatisfy { abs($0 - 128) <= 1 }, "\(spec): \(middle)")
            }
        }
    }

    @Test("Large pictures are processed like small ones") func large() throws {
        let bitmap = try Pictures.gradient(401, 709, .rgba)
        let part = try bitmap.cropped(x: 100, y: 330, width: 60, height: 40)
        for spec in ["color:0.1,1.2,0.3", "blend:hue,0.7,#12345678", "blend:xor,0.7,#12345678", "overlay:#123"] {
            let whole = try process(spec, bitmap).cropped(x: 100, y: 330, width: 60, height: 40)
            #expect(whole == (try process(spec, part)), "\(spec)")
        }
    }

    @Test(
        "Every frame of an animation is processed",
        arguments: [
            "color:0.1,1,0", "grayscale", "blend:hue,background=#345", "blend:screen", "tint:#ff000020", "rotate:90",
            "flip:v", "pad:9x9,#123456", "resize:2x2",
        ])
    func frames(_ spec: String) throws {
        let frames = (0..<3).map { Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: $0, count: 16)) }
        let decoded = try ImageDecoder.decode(Files.gif(4, 4, frames))
        let image = try ProcessorParser.parse(spec).process(.data(Files.gif(4, 4, frames)), options: .init())
        #expect(image.frames.map(\.delay) == [Duration](repeating: .milliseconds(100), count: 3))
        for (frame, source) in zip(image.frames, decoded.frames) {
            #expect(frame.bitmap == (try process(spec, source.bitmap)))
        }
    }

    private func process(_ spec: String, _ bitmap: Bitmap) throws -> Bitmap {
        try ProcessorParser.parse(spec).process(.image(Image(bitmap)), options: .init()).bitmap
    }
}
