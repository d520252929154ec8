import Testing

@testable import KFImaging

@Suite("A smaller picture can be asked for while decoding")
struct ScaledDecodingTests {
    private func decoded(_ path: String, to size: PixelSize? = nil) throws -> Bitmap {
        try ImageDecoder.decode(Fixture.bytes(path), options: .init(exactSize: size)).bitmap
    }

    private func half(_ bitmap: Bitmap) -> PixelSize {
        PixelSize(width: max(bitmap.width * 3 / 7, 1), height: max(bitmap.height * 3 / 7, 1))
    }

    /// Row by row into the resampler comes to the same as the whole picture at once.
    @Test(arguments: ["rgb", "rgba", "grey", "grey16", "rgb16", "palette", "rgb-interlaced", "orientation-upright"])
    func pngEqualsDecodingThenResizing(_ name: String) throws {
        let full = try decoded("png/\(name).png")
        let size = half(full)
        #expect(try decoded("png/\(name).png", to: size) == Resampler.resize(full, to: size))
    }

    @Test(arguments: ["gif/animated.gif", "webp/animated.webp"]) func animationsFrameByFrame(_ path: String) throws {
        let image = try ImageDecoder.decode(Fixture.bytes(path))
        let size = half(image.bitmap)
        let small = try ImageDecoder.decode(Fixture.bytes(path), options: .init(exactSize: size))
        for (frame, expected) in zip(small.frames, image.frames) {
            #expect(try frame.bitmap == Resampler.resize(expected.bitmap, to: size))
        }
    }

    /// The library makes less of the picture than all; nobody must see it.
    @Test(arguments: [
        "jpeg/landscape-444.jpg", "jpeg/landscape-420.jpg", "jpeg/grey.jpg", "jpeg/progressive.jpg",
        "webp/lossy.webp", "webp/lossless.webp",
    ])
    func otherFormatsComeWithin45Decibels(_ path: String) throws {
        let full = try decoded(path)
        let size = PixelSize(width: full.width / 5, height: full.height / 5)
        #expect(try decoded(path, to: size).psnr(to: Resampler.resize(full, to: size)) >= 45)
    }

    @Test func turnedPicturesHaveTheSizeAsDisplayed() throws {
        let full = try decoded("jpeg/orientation-6.jpg")
        let size = PixelSize(width: full.width / 2, height: full.height / 3)
        let scaled = try decoded("jpeg/orientation-6.jpg", to: size)
        #expect((scaled.width, scaled.height) == (size.width, size.height))
        #expect(scaled.psnr(to: try Resampler.resize(full, to: size)) > 40)
    }

    @Test(arguments: ["png/rgb.png", "jpeg/landscape-420.jpg", "gif/still.gif", "webp/lossy.webp", "gif/animated.gif"])
    func aBudgetOfBytesIsKept(_ path: String) throws {
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
