import Glibc
import Testing

@testable import KFImaging

/// The reference is the arithmetic of the PNG specification and of BT.709, in Double, without a profile.
@Suite("Colour spaces of PNG chunks")
struct PNGColorSpaceTests {
    private static let srgb = [0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06]
    private static let displayP3 = [0.3127, 0.329, 0.68, 0.32, 0.265, 0.69, 0.15, 0.06]

    /// A PNG with chunks inserted behind its header.
    private func png(_ bitmap: Bitmap, _ chunks: [(String, [UInt8])]) throws -> [UInt8] {
        try Files.png(ImageEncoder.encode(Image(bitmap), as: .png), chunks: chunks)
    }

    private func gamma(_ value: Int) -> (String, [UInt8]) { ("gAMA", Files.bigEndian(value)) }

    private func primaries(_ values: [Double]) -> (String, [UInt8]) {
        ("cHRM", values.flatMap { Files.bigEndian(Int(clamping: ($0 * 100_000).rounded())) })
    }

    private func inSRGB(_ bytes: [UInt8]) throws -> Bitmap {
        let image = try ImageDecoder.decode(bytes, options: .init(convertsToSRGB: true))
        #expect(image.iccProfile == nil)
        return image.bitmap
    }

    private func encoded(_ light: Double) -> Int {
        let light = min(max(light, 0), 1)
        let value = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
        return Int(clamping: (value * 255).rounded())
    }

    private func linear(_ value: Int) -> Double {
        let value = Double(value) / 255
        return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }

    @Test("The gamma of a PNG is applied", arguments: [100_000, 55_556, 35_000, 70_000])
    func appliedGamma(_ value: Int) throws {
        for format in [PixelFormat.rgb, .gray, .rgba, PixelFormat(.gray, .sixteen), PixelFormat(.rgb, .sixteen)] {
            let scale = format.depth == .sixteen ? 257 : 1
            let source = try Pictures.make(256, 1, format) { x, _, channel in
                (channel == 3 ? 255 : channel == 1 ? 255 - x : x) * scale
            }
            let result = try inSRGB(png(source, [gamma(value)]))
            #expect(result.format == format)
            for x in stride(from: 0, to: 256, by: 5) {
                for channel in 0..<min(format.channelCount, 3) {
                    let sample = source[x, 0][channel] / scale
                    let expected = encoded(pow(Double(sample) / 255, 100_000 / Double(value)))
                    let got = (result[x, 0][channel] + scale / 2) / scale
                    #expect(abs(got - expected) <= 1, "\(format) \(value) \(sample)")
                }
            }
        }
    }

    @Test("The primaries of a PNG are applied") func appliedPrimaries() throws {
        let colors = [[200, 100, 50], [30, 180, 90], [128, 128, 128], [90, 60, 220], [250, 240, 235]]
        let source = try Pictures.make(colors.count, 1) { x, _, channel in colors[x][channel] }
        let chunks = [gamma(100_000), primaries(Self.displayP3)]
        let result = try inSRGB(png(source, chunks))
        // Display P3 to sRGB in linear light, from the two sets of primaries; both have the same white.
        let matrix = [
            [1.2249401, -0.2249404, 0], [-0.0420569, 1.0420571, 0], [-0.0196376, -0.0786361, 1.0982735],
        ]
        for (x, color) in colors.enumerated() {
            let light = color.map { Double($0) / 255 }
            for channel in 0..<3 {
                let expected = encoded((0..<3).reduce(0) { $0 + matrix[channel][$1] * light[$1] })
                #expect(abs(result[x, 0][channel] - expected) <= 1, "\(color) \(channel)")
            }
        }
        // cICP states the same space in two numbers, here with sRGB's curve, and overrides the other chunks.
        let coded = try inSRGB(png(source, [gamma(100_000), ("cICP", [12, 13, 0, 1])]))
        for (x, color) in colors.enumerated() {
            let light = color.map { linear($0) }
            for channel in 0..<3 {
                let expected = encoded((0..<3).reduce(0) { $0 + matrix[channel][$1] * light[$1] })
                #expect(abs(coded[x, 0][channel] - expected) <= 1, "\(color) \(channel)")
            }
        }
    }

    @Test("Chunks that mean sRGB change no pixel") func srgb() throws {
        let source = try Pictures.gradient(60, 40)
        let harmless: [[(String, [UInt8])]] = [
            [gamma(45_455)], [gamma(45_455), primaries(Self.srgb)], [("sRGB", [0])],
            [("sRGB", [0]), gamma(100_000), primaries(Self.displayP3)], [("cICP", [1, 13, 0, 1]), gamma(100_000)],
            [gamma(0)], [("gAMA", [1, 2])], [("cHRM", [UInt8](repeating: 0, count: 31))],
            [gamma(45_455), ("cHRM", [UInt8](repeating: 0, count: 32))],
        ]
        for chunks in harmless {
            let image = try ImageDecoder.decode(png(source, chunks))
            #expect(image.iccProfile == nil && image.bitmap == source, "\(chunks.map(\.0))")
        }
    }

    @Test("A PNG's colour space is carried as a profile") func carried() throws {
        let source = try Pictures.gradient(60, 40)
        let bytes = try png(source, [gamma(100_000), primaries(Self.displayP3)])
        let image = try ImageDecoder.decode(bytes)
        let profile = try #require(image.iccProfile)
        #expect(image.bitmap == source)
        #expect(try ImageDecoder.decode(bytes).iccProfile == profile, "the same bytes each time")
        for format in [ImageFormat.png, .webp, .jpeg] {
            #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: format)).iccProfile == profile)
        }
        let gray = try ImageDecoder.decode(png(Pictures.gradient(60, 40, .gray), [gamma(100_000)]))
        let carried = try ImageDecoder.decode(ImageEncoder.encode(gray, as: .png))
        #expect(gray.iccProfile != nil && carried.iccProfile == gray.iccProfile)
    }

    /// The suite has one picture stored for six gammas, each dithered in its own way.
    @Test(
        "One picture in six gammas is equally bright",
        .enabled(if: Corpus.isThere, "no test images beside the repository"), arguments: ["n0g16", "n2c08", "n3p04"])
    func brightness(_ kind: String) throws {
        func brightness(_ bitmap: Bitmap) -> Double {
            let samples = bitmap.rgba8.enumerated().filter { $0.offset % 4 != 3 }.map { Double($0.element) }
            return samples.reduce(0, +) / Double(samples.count)
        }
        var spread: (converted: [Double], stored: [Double]) = ([], [])
        for name in ["g03", "g04", "g05", "g07", "g10", "g25"] {
            let bytes = try Corpus("pngsuite").bytes("\(name)\(kind).png")
            spread.converted.append(brightness(try inSRGB(bytes)))
            spread.stored.append(brightness(try ImageDecoder.decode(bytes).bitmap))
        }
        #expect(try #require(spread.converted.max()) - #require(spread.converted.min()) < 4)
        #expect(try #require(spread.stored.max()) - #require(spread.stored.min()) > 35)
    }

    @Test("PQ and HLG cause a warning") func hdr() throws {
        let source = try Pictures.gradient(8, 8)
        for (transfer, warnings) in [
            (16 as UInt8, [ImageWarning.notToneMapped(.png)]), (18, [.notToneMapped(.png)]), (13, []),
        ] {
            let image = try ImageDecoder.decode(png(source, [("cICP", [9, transfer, 0, 1])]))
            #expect((image.iccProfile == nil) == (transfer != 13) && image.warnings == warnings)
        }
    }
}
