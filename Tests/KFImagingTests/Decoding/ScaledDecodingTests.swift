import Glibc
import Testing

@testable import KFImaging

@Suite("Decoding at a reduced size")
struct ScaledDecodingTests {
    private func decoded(_ path: String, to size: PixelSize? = nil) throws -> Bitmap {
        try ImageDecoder.decode(Fixture.bytes(path), options: .init(exactSize: size)).bitmap
    }

    private func half(_ bitmap: Bitmap) -> PixelSize {
        PixelSize(width: max(bitmap.width * 3 / 7, 1), height: max(bitmap.height * 3 / 7, 1))
    }

    /// Resampling row by row gives the same pixels as resampling the whole picture.
    @Test(
        "A reduced PNG equals a resized one",
        arguments: ["rgb", "rgba", "grey", "grey16", "rgb16", "palette", "rgb-interlaced", "orientation-upright"])
    func png(_ name: String) throws {
        let full = try decoded("png/\(name).png")
        let size = half(full)
        #expect(try decoded("png/\(name).png", to: size) == Resampler.resize(full, to: size))
    }

    @Test("A reduced animation equals a resized one", arguments: ["gif/animated.gif", "webp/animated.webp"])
    func animations(_ path: String) throws {
        let image = try ImageDecoder.decode(Fixture.bytes(path))
        let size = half(image.bitmap)
        let small = try ImageDecoder.decode(Fixture.bytes(path), options: .init(exactSize: size))
        for (frame, expected) in zip(small.frames, image.frames) {
            #expect(try frame.bitmap == Resampler.resize(expected.bitmap, to: size))
        }
    }

    /// A library decodes the picture at a reduced size; the difference must be invisible.
    @Test(
        "Reduced JPEG and WebP come within 45 dB",
        arguments: [
            "jpeg/landscape-444.jpg", "jpeg/landscape-420.jpg", "jpeg/grey.jpg", "jpeg/progressive.jpg",
            "webp/lossy.webp", "webp/lossless.webp",
        ])
    func lossy(_ path: String) throws {
        let full = try decoded(path)
        let size = PixelSize(width: full.width / 5, height: full.height / 5)
        #expect(try decoded(path, to: size).psnr(to: Resampler.resize(full, to: size)) >= 45)
    }

    /// Detail that a reduced decode would alias: a zone plate, and strokes like print.
    @Test("Fine detail causes no aliasing", arguments: ["rings", "print"])
    func detail(_ kind: String) throws {
        let side = 640
        let picture = try Pictures.make(side, side, .gray) { x, y, _ in
            if kind == "print" { return (x / 3 * 7 + y / 5 * 11) % 5 < 2 ? 20 : 245 }
            let (dx, dy) = (Double(x - side / 2), Double(y - side / 2))
            return Int(clamping: 127.5 + 127.5 * cos((dx * dx + dy * dy) * Double.pi / Double(side)))
        }
        let bytes = try ImageEncoder.encode(Image(picture), as: .jpeg, options: .init(quality: 90))
        let full = try ImageDecoder.decode(bytes).bitmap
        for target in [50, 100, 150] {
            let size = PixelSize(width: target, height: target)
            let scaled = try ImageDecoder.decode(bytes, options: .init(exactSize: size)).bitmap
            #expect(scaled.psnr(to: try Resampler.resize(full, to: size)) >= 45, "\(target)")
        }
    }

    @Test("A turned picture is reduced to its displayed size") func turned() throws {
        let full = try decoded("jpeg/orientation-6.jpg")
        let size = PixelSize(width: full.width / 2, height: full.height / 3)
        let scaled = try decoded("jpeg/orientation-6.jpg", to: size)
        #expect((scaled.width, scaled.height) == (size.width, size.height))
        #expect(scaled.psnr(to: try Resampler.resize(full, to: size)) > 40)
    }

    @Test(
        "A budget of bytes is kept",
        arguments: ["png/rgb.png", "jpeg/landscape-420.jpg", "gif/still.gif", "webp/lossy.webp", "gif/animated.gif"])
    func budget(_ path: String) throws {
        let full = try ImageDecoder.decode(Fixture.bytes(path))
        let pixels = full.frames.reduce(0) { $0 + $1.bitmap.width * $1.bitmap.height * $1.bitmap.format.bytesPerPixel }
        let small = try ImageDecoder.decode(
            Fixture.bytes(path), options: .init(limits: .init(timeLimit: .seconds(600), scaleDownBytes: pixels / 3)))
        let used = small.frames.reduce(0) { $0 + $1.bitmap.width * $1.bitmap.height * $1.bitmap.format.bytesPerPixel }
        #expect(used <= pixels / 3 && used > pixels / 4)
        let same = try ImageDecoder.decode(Fixture.bytes(path), options: .init(limits: .init(scaleDownBytes: pixels)))
        #expect((same.width, same.height) == (full.width, full.height))
    }
}
