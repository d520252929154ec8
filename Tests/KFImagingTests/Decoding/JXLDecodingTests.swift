import Support
import Testing

@testable import KFImaging

@Suite(
    "JPEG XL decoding",
    .enabled(
        if: EncoderTools.haveJXL && LoadedLibrary.jxl.described.problem == nil,
        "no libjxl, or no cjxl (package libjxl-tools)"))
struct JXLDecodingTests {
    private func jxl(_ format: PixelFormat = .rgb, distance: String = "0") throws -> [UInt8] {
        let image = Image(try Pictures.gradient(131, 90, format))
        return try EncoderTools.make(image, "out.jxl", "cjxl", "$in", "$out", "-d", distance)
    }

    @Test(
        "Lossless pixels are those of the source",
        arguments: [
            PixelFormat.gray, .grayAlpha, .rgb, .rgba, PixelFormat(.gray, .sixteen), PixelFormat(.rgba, .sixteen),
        ])
    func lossless(_ format: PixelFormat) throws {
        let bytes = try jxl(format)
        let (info, picture) = (try bytes.probe(), try ImageDecoder.decode(bytes).bitmap)
        try bytes.checkStructure()
        #expect(info.hasAlpha == format.hasAlpha && info.bitDepth == format.depth.rawValue)
        #expect((info.colorModel == .gray) == format.isGray && picture.format == format)
        #expect(try picture == Pictures.gradient(131, 90, format))
    }

    @Test("Lossy pixels are those of djxl")
    func lossy() throws {
        let bytes = try jxl(distance: "1")
        let reference = try EncoderTools.decode(bytes, "in.jxl", "djxl")
        #expect(try ImageDecoder.decode(bytes).bitmap.gap(to: reference.reducedToEightBits()) <= 1)
    }

    @Test("An animation keeps its frames, and --first-frame takes one")
    func animation() throws {
        let frames = try (0..<3).map { shade in
            ImageFrame(bitmap: try Pictures.flat(9, 7, [shade * 100, 50, 200]), delay: .milliseconds(100 + 50 * shade))
        }
        let source = try #require(Image(frames: frames, loopCount: 0))
        let bytes = try EncoderTools.make(source, as: .gif, "out.jxl", "cjxl", "$in", "$out", "-d", "0")
        let image = try ImageDecoder.decode(bytes)
        #expect(image.frames.map(\.delay) == frames.map(\.delay))
        for (frame, expected) in zip(image.frames, frames) { #expect(try frame.bitmap.gap(to: expected.bitmap) == 0) }
        #expect(try ImageDecoder.decode(bytes, options: .init(firstFrameOnly: true)).frames.count == 1)
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 2)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxFrames: 2)))
        }
    }

    @Test("The limits hold")
    func limits() throws {
        let bytes = try jxl()
        #expect(throws: ImagingError.tooLarge(width: 131, height: 90, maxPixels: 11_789)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxPixels: 11_789)))
        }
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(timeLimit: .zero)))
        }
        let error = #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxMemory: 1 << 20)))
        }
        if case .memoryLimit = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test("A codestream that is cut off is refused when it is decoded")
    func truncation() throws {
        let bytes = try jxl()
        #expect(throws: ImagingError.truncated(.jxl)) { try ImageDecoder.decode(Array(bytes.dropLast(20))) }
    }
}
