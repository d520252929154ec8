import Testing

@testable import KFImaging

@Suite("Processors of single pixels")
struct PointTests {
    @Test func theyAreTheDefinition() throws {
        let lines = try ReferenceTable.lines("points.tsv")
        #expect(lines.count > 700)
        let inputs = lines.prefix(4).map { ReferenceTable.pixels($0[2]) }
        for line in lines.dropFirst(4) {
            let before = inputs[(Int(line[1]) ?? 0) - 1]
            let after = ReferenceTable.pixels(line[2])
            let formats: [PixelFormat] = [.gray, .grayAlpha, .rgb, .rgba]
            let bitmap = try Pictures.make(before.count, 1, formats[before[0].count - 1]) { x, _, channel in
                Int(before[x][channel])
            }
            let result = try process(String(line[0]), bitmap).rgba8
            var worst = 0.0
            for (index, expected) in after.enumerated() {
                // The colour of a transparent pixel has no meaning.
                let channels = expected[3] < 0.5 ? 3..<4 : 0..<4
                for channel in channels {
                    worst = max(worst, abs(Double(result[4 * index + channel]) - expected[channel]))
                }
            }
            #expect(worst <= 0.506, "\(line[0]) of \(line[1]) channels")
        }
    }

    @Test func greyStaysGreyAndAlphaComesWhereItIsNeeded() throws {
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

    @Test func theProfileStaysWhereItFits() throws {
        let wide = try Fixture.bytes("jpeg/icc-wide-gamut.jpg")
        for spec in ["color:0,1.2", "grayscale", "overlay:#f00", "tint:#00ff0040", "blend:screen,background=#123"] {
            let image = try ProcessorParser.parse(spec).process(.data(wide), options: .init())
            #expect(image.iccProfile != nil && image.bitmap.format == .rgb, "\(spec)")
        }
    }

    /// A profile of linear grey, in which sRGB's 128 is 55.
    private var linearGray: [UInt8] {
        func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        let white = [63_190, 65_536, 54_061].flatMap { word($0) }
        var profile =
            word(192) + word(0) + word(0x0210_0000) + Array("mntrGRAYXYZ ".utf8) + [UInt8](repeating: 0, count: 12)
        profile += Array("acsp".utf8) + [UInt8](repeating: 0, count: 28) + white + [UInt8](repeating: 0, count: 48)
        profile += word(2) + Array("wtpt".utf8) + word(156) + word(20) + Array("kTRC".utf8) + word(176) + word(14)
        return profile + Array("XYZ ".utf8) + word(0) + white + Array("curv".utf8) + word(0) + word(1)
            + word(0x0100_0000)
    }

    @Test func greyIsConvertedBeforeItBecomesColoured() throws {
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

    @Test func largePicturesAreTheSameAsSmallOnes() throws {
        let bitmap = try Pictures.gradient(401, 709, .rgba)
        let part = try bitmap.cropped(x: 100, y: 330, width: 60, height: 40)
        for spec in ["color:0.1,1.2,0.3", "blend:hue,0.7,#12345678", "blend:xor,0.7,#12345678", "overlay:#123"] {
            let whole = try process(spec, bitmap).cropped(x: 100, y: 330, width: 60, height: 40)
            #expect(whole == (try process(spec, part)), "\(spec)")
        }
    }

    @Test func everyFrameOfAnAnimation() throws {
        let frames = (0..<3).map { Files.GIFFrame(width: 4, height: 2, indexes: [UInt8](repeating: $0, count: 8)) }
        for spec in ["color:0.1,1,0", "grayscale", "blend:hue,background=#345", "blend:screen", "tint:#ff000020"] {
            let processor = try ProcessorParser.parse(spec)
            let decoded = try ImageDecoder.decode(Files.gif(4, 2, frames))
            let image = try processor.process(.data(Files.gif(4, 2, frames)), options: .init())
            #expect(image.frames.count == 3)
            for (frame, source) in zip(image.frames, decoded.frames) {
                #expect(frame.delay == source.delay)
                #expect(frame.bitmap == (try process(spec, source.bitmap)))
            }
        }
    }

    private func process(_ spec: String, _ bitmap: Bitmap) throws -> Bitmap {
        try ProcessorParser.parse(spec).process(.image(Image(bitmap)), options: .init()).bitmap
    }
}
