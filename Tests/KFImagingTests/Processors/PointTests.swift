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
                // Of what is transparent the colour says nothing.
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
        var gray = Image(try Pictures.flat(2, 2, [50]))
        var profile = [UInt8](repeating: 0, count: 128)
        profile.replaceSubrange(16..<20, with: Array("GRAY".utf8))
        profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
        gray.iccProfile = profile
        #expect(
            try ProcessorParser.parse("tint:#77777777").process(.image(gray), options: .init()).iccProfile == profile)
        #expect(try ProcessorParser.parse("tint:#ff000077").process(.image(gray), options: .init()).iccProfile == nil)
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
