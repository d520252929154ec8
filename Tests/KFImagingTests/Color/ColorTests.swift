import Testing

@testable import KFImaging

@Suite("Colour profiles")
struct ColorTests {
    @Test("A wide gamut is converted to sRGB") func wideGamut() throws {
        let image = try ImageDecoder.decode(Fixture.bytes("jpeg/icc-wide-gamut.jpg"))
        #expect(image.iccProfile != nil)
        let converted = try image.convertedToSRGB()
        #expect(converted.iccProfile == nil)
        #expect(converted.bitmap != image.bitmap)
        let decoded = try ImageDecoder.decode(
            Fixture.bytes("jpeg/icc-wide-gamut.jpg"), options: .init(convertsToSRGB: true))
        #expect(decoded.bitmap == converted.bitmap)
        let encoded = try ImageEncoder.encode(image, as: .png, options: .init(convertsToSRGB: true))
        #expect(try ImageDecoder.decode(encoded).bitmap == converted.bitmap)
    }

    @Test("An unconverted image keeps its profile") func carried() throws {
        let image = try ImageDecoder.decode(Fixture.bytes("jpeg/icc-wide-gamut.jpg"))
        for format in [ImageFormat.png, .jpeg, .webp] {
            #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: format)).iccProfile == image.iccProfile)
        }
        // GIF cannot store a profile: the pixels are converted.
        let gif = try ImageDecoder.decode(ImageEncoder.encode(image, as: .gif)).bitmap.flattened(onto: .black)
        #expect(gif.psnr(to: try image.convertedToSRGB().bitmap) > gif.psnr(to: image.bitmap))
    }

    @Test("A damaged profile is ignored") func damaged() throws {
        let profile = Files.profile(400, filling: 7)
        let image = Image(try Pictures.gradient(20, 10), iccProfile: profile)
        #expect(try image.convertedToSRGB() == image)
    }

    @Test("Ink without a profile is converted by its share of light") func ink() {
        let inks = InkConverter(profile: nil)
        let adobe: [UInt8] = [255, 255, 255, 255, 0, 255, 255, 255, 255, 255, 255, 0, 128, 255, 255, 128]
        var rgb = [UInt8](repeating: 1, count: 12)
        inks.convert(adobe, to: &rgb, 4)
        #expect(rgb == [255, 255, 255, 0, 255, 255, 0, 0, 0, 64, 128, 128])
    }

    /// Pillow, libvips and ImageMagick read both files the same way.
    @Test(
        "Plain CMYK is read alike with and without Adobe's marker",
        .enabled(if: Corpus.isThere, "no test images beside the repository"))
    func adobeMarker() throws {
        let path = "ljt-features-8bit/testorig_rot180_cmyk_411_q50_opt_rst1B_test1icc.jpg"
        var marked = try Corpus("jpeg-ref").bytes(path)
        let place = try #require(marked.indices.first { marked[$0...].starts(with: [0xFF, 0xEE]) })
        let length = Int(marked[place + 2]) << 8 | Int(marked[place + 3])
        #expect(marked[(place + 4)...].starts(with: Array("Adobe".utf8)))
        // The marker's last byte states plain CMYK, which is also the assumption without the marker.
        marked[place + 2 + length - 1] = 0
        let bare = Array(marked[..<place] + marked[(place + 2 + length)...])
        #expect(try ImageDecoder.decode(bare).bitmap == ImageDecoder.decode(marked).bitmap)
    }

    /// Some pixels as converted by Pillow's ImageCms, which uses littleCMS too, with the perceptual intent.
    @Test("Ink is converted through its profile", .enabled(if: Corpus.isThere, "no test images beside the repository"))
    func inkProfile() throws {
        let path = "ljt-features-8bit/testorig_rot180_cmyk_411_q50_opt_rst1B_test1icc.jpg"
        let bytes = try Corpus("jpeg-ref").bytes(path)
        let image = try ImageDecoder.decode(bytes)
        #expect(image.iccProfile == nil && image.bitmap.format == .rgb)
    }
}
