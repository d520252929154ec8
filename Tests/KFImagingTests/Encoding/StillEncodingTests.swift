import Testing

@testable import KFImaging

@Suite("Encoded still pictures")
struct StillEncodingTests {
    private let exif = Files.exif(orientation: 6)
    private let xmp = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8)

    @Test("Lossless WebP is exact and lossy WebP close") func webp() throws {
        let bitmap = try Pictures.gradient(67, 41, .rgba)
        let lossless = try ImageDecoder.decode(
            ImageEncoder.encode(Image(bitmap), as: .webp, options: .init(lossless: true)))
        #expect(lossless.bitmap == bitmap)
        let opaque = try Pictures.gradient(67, 41)
        let lossy = try ImageDecoder.decode(ImageEncoder.encode(Image(opaque), as: .webp, options: .init(quality: 95)))
        #expect(lossy.bitmap.psnr(to: opaque) > 38)
        let gray = try ImageDecoder.decode(
            ImageEncoder.encode(Image(Pictures.gradient(67, 41, .gray)), as: .webp, options: .init(lossless: true)))
        #expect(gray.bitmap.rgba8 == (try Pictures.gradient(67, 41, .gray).rgba8))
    }

    @Test("A quantised picture comes close to the original") func quantised() throws {
        let source = try ImageDecoder.decode(Fixture.bytes("jpeg/landscape-444.jpg"))
        let decoded = try ImageDecoder.decode(ImageEncoder.encode(source, as: .gif))
        #expect(try decoded.bitmap.flattened(onto: .black).psnr(to: source.bitmap) > 35)
    }

    @Test("Few colours make a palette", arguments: [PixelFormat.rgb, .rgba])
    func palette(_ format: PixelFormat) throws {
        let bitmap = try Pictures.make(64, 64, format) { x, y, channel in
            channel == 3 ? 255 - y / 16 : x / 4 * 16 + channel
        }
        let bytes = try ImageEncoder.encode(Image(bitmap), as: .png)
        #expect(try bytes.probe().colorModel == .indexed)
        #expect(try ImageDecoder.decode(bytes).bitmap == bitmap)
        let two = try Pictures.make(64, 64, .rgb) { x, y, _ in (x ^ y) & 8 == 0 ? 0 : 255 }
        let small = try ImageEncoder.encode(Image(two), as: .png)
        #expect(try small.probe().bitDepth == 1)
        #expect(try ImageDecoder.decode(small).bitmap == two)
    }

    @Test("Metadata is carried on request", arguments: [ImageFormat.jpeg, .png, .webp])
    func metadata(_ format: ImageFormat) throws {
        var image = Image(try Pictures.gradient(20, 10))
        image.metadata = ImageMetadata(exif: Files.exif(orientation: 1), xmp: xmp)
        let kept = try ImageDecoder.decode(ImageEncoder.encode(image, as: format, options: .init(keepsMetadata: true)))
        #expect(kept.metadata == image.metadata)
        #expect((kept.width, kept.height) == (20, 10))
        #expect(try ImageDecoder.decode(ImageEncoder.encode(image, as: format)).metadata == nil)
    }

    @Test("The orientation of kept metadata is reset", arguments: [false, true])
    func orientation(_ bigEndian: Bool) throws {
        let plain = try ImageEncoder.encode(Image(Pictures.gradient(20, 10)), as: .jpeg)
        let turned = Files.jpeg(plain, exif: Files.exif(orientation: 6, bigEndian: bigEndian))
        let image = try ImageDecoder.decode(turned)
        #expect((image.width, image.height) == (10, 20))
        #expect(image.metadata?.exif == Files.exif(orientation: 1, bigEndian: bigEndian))
        let again = try ImageDecoder.decode(ImageEncoder.encode(image, as: .png, options: .init(keepsMetadata: true)))
        #expect((again.width, again.height) == (10, 20))
    }
}
