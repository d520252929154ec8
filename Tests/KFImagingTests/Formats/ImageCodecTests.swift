import Testing

@testable import KFImaging

/// A format of a test: its word, width and height in a byte each, the number of frames, then grey pixels, frame by frame.
private struct PlainCodec: ImageCodec {
    let word: String
    var format: ImageFormat { ImageFormat(rawValue: word)! }
    var supportsAlpha = true
    var supportsAnimation = false
    var isEncodable = true
    /// What `decode` adds to the width that `probe` has found.
    var excess = 0
    var pixel = PixelFormat.gray

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: Array("plain-\(word)".utf8)) }

    private var start: Int { word.utf8.count + 6 }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        guard bytes.count >= start + 3 else { throw .truncated(format) }
        return ImageInfo(
            format: .svg, width: Int(bytes[start]), height: Int(bytes[start + 1]), frames: Int(bytes[start + 2]),
            colorModel: .gray)
    }

    func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        let info = try probe(bytes)
        if bytes.count < start + 3 + info.width * info.height * info.frames { throw .truncated(format) }
    }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        let info = try probe(bytes)
        var frames: [ImageFrame] = []
        for frame in 0..<info.frames {
            var bitmap = try Bitmap(width: info.width + excess, height: info.height, format: pixel)
            try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
                for y in 0..<info.height {
                    for x in 0..<info.width {
                        rows.row(y)[x * pixel.channelCount] =
                            bytes[start + 3 + (frame * info.height + y) * info.width + x]
                    }
                }
            }
            frames.append(ImageFrame(bitmap: bitmap, delay: .milliseconds(40)))
        }
        return Image(frames: frames)!
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        var bytes = Array("plain-\(word)".utf8)
        bytes += [UInt8(image.width), UInt8(image.height), UInt8(image.frames.count)]
        for frame in image.frames {
            frame.bitmap.withUnsafeRows { rows in
                for y in 0..<rows.height {
                    for x in 0..<rows.width { bytes.append(rows.row(y)[x * rows.format.channelCount]) }
                }
            }
        }
        return bytes
    }

    /// A file of frames that are each of one grey.
    func file(_ width: UInt8, _ height: UInt8, greys: [UInt8]) -> [UInt8] {
        Array("plain-\(word)".utf8) + [width, height, UInt8(greys.count)]
            + greys.flatMap { [UInt8](repeating: $0, count: Int(width) * Int(height)) }
    }
}

/// The table of codecs is the process's: each test has a format of its own.
@Suite("Codecs of a program")
struct ImageCodecTests {
    private func registered(
        _ word: String, _ change: (inout PlainCodec) -> Void = { _ in }
    ) throws -> PlainCodec {
        var codec = PlainCodec(word: word)
        change(&codec)
        try ImageCodecs.register(codec)
        return codec
    }

    @Test("Files are recognised once their codec is registered") func sniffing() throws {
        let codec = PlainCodec(word: "sniffed")
        let file = codec.file(3, 2, greys: [7])
        #expect(file.withRaw(ContentKind.sniff) == .unknown)
        #expect(!codec.format.isDecodable && !ImageFormat.allCases.contains(codec.format))
        try ImageCodecs.register(codec)
        #expect(file.withRaw(ContentKind.sniff) == .image(codec.format))
        #expect(codec.format.isDecodable && codec.format.isEncodable && ImageFormat.allCases.contains(codec.format))
        #expect(codec.format.displayName == "SNIFFED" && codec.format.fileExtension == "sniffed")
        #expect(ImageFormat(fileExtension: "sniffed") == codec.format)
        let info = try file.withRaw { (bytes) throws(ImagingError) in try ImageProbe.probe(bytes) }
        #expect(info == ImageInfo(format: codec.format, width: 3, height: 2, colorModel: .gray))
    }

    @Test("The structure check and the limits precede the codec") func limits() throws {
        let codec = try registered("limited")
        let file = codec.file(30, 20, greys: [7, 8])
        #expect(throws: ImagingError.truncated(codec.format)) {
            try file.dropLast().withRaw { (bytes) throws(ImagingError) in try ImageProbe.checkStructure(bytes) }
        }
        #expect(throws: ImagingError.tooLarge(width: 30, height: 20, maxPixels: 599)) {
            try ImageDecoder.decode(file, options: DecodeOptions(limits: DecodeLimits(maxPixels: 599)))
        }
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 1)) {
            try ImageDecoder.decode(file, options: DecodeOptions(limits: DecodeLimits(maxFrames: 1)))
        }
        #expect(throws: ImagingError.timeLimit(.nanoseconds(1))) {
            try ImageDecoder.decode(file, options: DecodeOptions(limits: DecodeLimits(timeLimit: .nanoseconds(1))))
        }
        #expect(throws: ImagingError.corrupt(codec.format, reason: "a picture of 0×20 pixels")) {
            try ImageDecoder.decode(codec.file(0, 20, greys: [7]))
        }
    }

    @Test("A codec that exceeds its stated size is stopped") func excess() throws {
        let codec = try registered("excess") { $0.excess = 1 }
        #expect(throws: ImagingError.tooLarge(width: 31, height: 20, maxPixels: 600)) {
            try ImageDecoder.decode(
                codec.file(30, 20, greys: [7]), options: DecodeOptions(limits: DecodeLimits(maxPixels: 600)))
        }
    }

    @Test("Sizes and processors work with a registered codec") func options() throws {
        let codec = try registered("options") { $0.supportsAnimation = true }
        let file = codec.file(40, 20, greys: [10, 200])
        let whole = try ImageDecoder.decode(file)
        #expect(whole.frames.count == 2 && whole.sourceFormat == codec.format)
        let first = try ImageDecoder.decode(file, options: DecodeOptions(firstFrameOnly: true))
        #expect(first == whole.firstFrame)
        let small = try ImageDecoder.decode(
            file, options: DecodeOptions(exactSize: PixelSize(width: 10, height: 5), convertsToSRGB: true))
        #expect(small.frames.map { $0.bitmap.withUnsafeRows { $0.row(2)[3] } } == [10, 200])
        #expect((small.width, small.height) == (10, 5))
        let fitting = try ImageDecoder.decode(
            file, options: DecodeOptions(limits: DecodeLimits(scaleDownBytes: 500), firstFrameOnly: true))
        #expect(fitting.width < 40)
        let processed = try ProcessorParser.parse("resize:8x|>flip:h").process(.data(file), options: .init())
        #expect(processed.width == 8 && processed.frames.count == 2)
    }

    @Test("Several sizes at once equal each size alone") func sizes() throws {
        let codec = try registered("sizes")
        let file = codec.file(40, 20, greys: [99])
        let sizes = [PixelSize(width: 10, height: 5), PixelSize(width: 20, height: 10)]
        let together = try file.withRaw { (bytes) throws(ImagingError) in
            try ImageDecoder.decode(bytes, options: .init(), sizes: sizes)
        }
        #expect(together.map(\.width) == [10, 20])
        #expect(try file.withRaw { (bytes) throws(ImagingError) in try ImageDecoder.check(bytes) }.isEmpty)
    }

    @Test("A codec gets only images that its format can hold") func writing() throws {
        let still = try registered("still") { $0.supportsAlpha = false }
        let animation = try ImageDecoder.decode(Fixture.bytes("gif/animated.gif"))
        #expect(animation.isAnimated)
        #expect(throws: ImagingError.transparencyNeedsBackground(still.format)) {
            var clear = try Bitmap(width: 2, height: 2, format: .rgba)
            try clear.withUnsafeMutableRows { $0.row(0)[3] = 9 }
            _ = try ImageEncoder.encode(Image(clear), as: still.format)
        }
        let white = EncodeOptions(background: .white)
        #expect(
            try ImageDecoder.decode(ImageEncoder.encode(animation, as: still.format, options: white)).frames.count == 1)
        let moving = try registered("moving") { $0.supportsAnimation = true }
        let frames = try ImageDecoder.decode(ImageEncoder.encode(animation, as: moving.format)).frames.count
        #expect(frames == animation.frames.count)
        let reader = try registered("reader") { $0.isEncodable = false }
        #expect(throws: ImagingError.unsupported(reader.format, feature: "encoding")) {
            try ImageEncoder.encode(animation, as: reader.format)
        }
    }

    @Test("A later codec replaces an earlier one") func replacing() throws {
        _ = try registered("twice") { $0.isEncodable = false }
        let second = try registered("twice")
        #expect(second.format.isEncodable)
        #expect(ImageFormat.allCases.filter { $0 == second.format }.count == 1)
        let known = try registered("jp2")
        #expect(known.format == .jp2 && ImageFormat.jp2.isDecodable)
        #expect(ImageFormat.allCases.filter { $0 == .jp2 }.count == 1)
        #expect(known.file(2, 2, greys: [1]).withRaw(ContentKind.sniff) == .image(.jp2))
        #expect([0xFF, 0x4F, 0xFF, 0x51].withRaw(ContentKind.sniff) == .image(.jp2))
    }

    @Test("A codec for a built-in format is refused") func refusals() throws {
        #expect(throws: ImagingError.codecRefused(.jxl, reason: "kf has its own")) { try registered("jxl") }
        #expect(throws: ImagingError.codecRefused(.png, reason: "kf has its own")) { try registered("png") }
        for (word, problem) in [
            ("jpg", "its file extension 'jpg' is that of JPEG"), ("bin", "'bin' cannot be its file extension"),
            ("toolongforit", "'toolongforit' cannot be its file extension"),
        ] {
            let error = #expect(throws: ImagingError.self) { try registered(word) }
            #expect(error?.message.hasSuffix(problem) == true, "\(error?.message ?? "")")
        }
    }

    @Test("A format's name has 1 to 16 lowercase letters and digits") func names() {
        for name in ["", "Jpeg", "a b", "é", "../x", "abcdefghijklmnopq"] {
            #expect(ImageFormat(rawValue: name) == nil)
        }
        for name in ["jpeg", "q", "abcdefghijklmnop", "3gp"] { #expect(ImageFormat(rawValue: name)?.rawValue == name) }
        let other = ImageFormat(rawValue: "unheardof")
        #expect(other?.isDecodable == false && other?.displayName == "UNHEARDOF" && other?.fileExtension == "unheardo")
    }
}
