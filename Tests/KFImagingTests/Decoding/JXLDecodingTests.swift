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

    /// An eighth needs nothing but the averages of blocks: the rest of the codestream may be missing.
    @Test("A small size of a lossy picture comes from its averages")
    func coarse() throws {
        let image = Image(try Pictures.gradient(960, 720))
        let bytes = try EncoderTools.make(image, "out.jxl", "cjxl", "$in", "$out", "-d", "1")
        let whole = try ImageDecoder.decode(bytes).bitmap
        let sizes = [(40, 30), (80, 60), (100, 75)].map { PixelSize(width: $0.0, height: $0.1) }
        let passes = try bytes.withRaw { (bytes) throws(ImagingError) in
            try ImageDecoder.passes(over: bytes, options: .init(), sizes: sizes)
        }
        #expect(passes == [[0, 1], [2]])
        for (index, size) in sizes.enumerated() {
            let options = DecodeOptions(exactSize: size)
            let small = try ImageDecoder.decode(bytes, options: options).bitmap
            #expect(try small.psnr(to: Resampler.resize(whole, to: size)) >= 40, "\(size)")
            let cut = Array(bytes.dropLast(200))
            if index < 2 {
                #expect(try ImageDecoder.decode(cut, options: options).bitmap == small)
            } else {
                #expect(throws: ImagingError.truncated(.jxl)) { try ImageDecoder.decode(cut, options: options) }
            }
        }
    }

    @Test("Lossless pixels of a small size are those of the whole picture")
    func losslessSmall() throws {
        let size = PixelSize(width: 10, height: 7)
        let small = try ImageDecoder.decode(jxl(), options: DecodeOptions(exactSize: size)).bitmap
        #expect(try small == Resampler.resize(Pictures.gradient(131, 90, .rgb), to: size))
    }

    @Test("EXIF and XMP are read, compressed or not", arguments: [false, true])
    func metadata(isCompressed: Bool) throws {
        /// A box of metadata; if it is compressed, by Brotli as a block that is not.
        func box(_ kind: String, _ data: [UInt8]) -> [UInt8] {
            guard isCompressed else { return Files.box(kind, data) }
            let head = (data.count - 1) << 4 | 1 << 20
            let stream = (0..<3).map { UInt8(head >> (8 * $0) & 255) } + data + [3]
            return Files.box("brob", Array(kind.utf8), stream)
        }
        let exif = Files.exif(orientation: 6)
        let xmp = Array("<x:xmpmeta>kept</x:xmpmeta>".utf8)
        let bytes =
            Files.box("JXL ", [0x0D, 0x0A, 0x87, 0x0A])
            + Files.box("ftyp", Array("jxl ".utf8), [0, 0, 0, 0], Array("jxl ".utf8))
            + box("Exif", [0, 0, 0, 0] + exif) + Files.box("jxlc", try jxl()) + box("xml ", xmp)
        try bytes.checkStructure()
        let image = try ImageDecoder.decode(bytes)
        #expect(image.metadata == ImageMetadata(exif: Files.exif(orientation: 1), xmp: xmp))
        #expect(image.width == 131, "the codestream states the orientation")
        // Metadata that cannot be read costs no picture.
        let damaged = bytes.dropLast(12) + [UInt8](repeating: 0xFF, count: 12)
        #expect(try ImageDecoder.decode(Array(damaged)).bitmap == image.bitmap)
    }

    @Test("A codestream that is cut off is refused when it is decoded")
    func truncation() throws {
        let bytes = try jxl()
        #expect(throws: ImagingError.truncated(.jxl)) { try ImageDecoder.decode(Array(bytes.dropLast(20))) }
    }
}
