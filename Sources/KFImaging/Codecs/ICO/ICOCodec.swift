/// ICO: read. It yields its largest picture, a PNG or a bitmap; the others are not looked at.
struct ICOCodec: Codec, CodecReader {
    var format: ImageFormat { .ico }
    var displayName: String { "ICO" }
    var fileExtension: String { "ico" }
    var supportsAlpha: Bool { true }
    var supportsAnimation: Bool { false }
    var decodesGray: Bool { true }

    /// The four bytes of the signature are common, so that the count of pictures must be plausible and the reserved
    /// byte of the first entry zero.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.starts(with: [0, 0, 1, 0]), let count = head.littleEndian16(at: 4), head.count >= 22 else {
            return false
        }
        return count > 0 && count < 256 && head[9] == 0
    }

    func probe(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage) throws(ImagingError) -> ImageInfo {
        var info: ImageInfo
        switch try ICODirectory(bytes).picture {
        case .png(let start): info = try PNGCodec().probe(bytes.from(start), passage: .silent)
        case .bitmap(let header): info = BMPDecoder.info(bytes, header)
        }
        info.format = .ico
        (info.frames, info.hasAlpha) = (1, true)
        return info
    }

    func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        switch try ICODirectory(bytes).picture {
        case .png(let start): return try PNGCodec().checkStructure(bytes.from(start), passage: .silent)
        case .bitmap(let header):
            try BMPDecoder.check(bytes, header)
            return []
        }
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        switch try ICODirectory(bytes).picture {
        case .png(let start): return try PNGCodec().check(bytes.from(start), limits: limits)
        case .bitmap(let header):
            try BMPDecoder.check(bytes, header, limits: limits)
            return []
        }
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, options: DecodeOptions, each change: FrameChange?
    ) throws(ImagingError) -> Image {
        switch try ICODirectory(bytes).picture {
        case .png(let start):
            var options = options
            options.firstFrameOnly = true
            var image = try PNGCodec().decode(bytes.from(start), options: options, each: change)
            image.sourceFormat = .ico
            return image
        case .bitmap(let header):
            return try BMPDecoder.decode(bytes, header, [options])[0].finished(options, each: change)
        }
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes from an offset on, which must not be behind the end.
    fileprivate func from(_ offset: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[offset...]) }
}
