/// ICO: read. It yields its largest picture, a PNG or a bitmap; the others are not looked at.
struct ICOCodec: PassCodec {
    var format: ImageFormat { .ico }

    /// The four bytes of the signature are common, so that the count of pictures must be plausible and the reserved
    /// byte of the first entry zero.
    func matches(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.starts(with: [0, 0, 1, 0]), let count = head.littleEndian16(at: 4), head.count >= 22 else {
            return false
        }
        return count > 0 && count < 256 && head[9] == 0
    }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        var info =
            switch try ICODirectory(bytes).picture {
            case .png(let picture): try PNGCodec().probe(picture)
            case .bitmap(let header): header.info
            }
        (info.format, info.frames, info.hasAlpha) = (.ico, 1, true)
        return info
    }

    func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> (info: ImageInfo, warnings: [ImageWarning]) {
        let info = try probe(bytes)
        try limits.check(info)
        switch try ICODirectory(bytes).picture {
        case .png(let picture): return (info, try PNGStructure(picture, verifying: true).check(picture))
        case .bitmap(let header): return (info, try header.check())
        }
    }

    func check(_ bytes: UnsafeRawBufferPointer, limits: DecodeLimits) throws(ImagingError) -> [ImageWarning] {
        switch try ICODirectory(bytes).picture {
        case .png(let picture): return try PNGCodec().check(picture, limits: limits)
        case .bitmap(let header): return try BMPDecoder.check(header, limits: limits)
        }
    }

    func decode(
        _ bytes: UnsafeRawBufferPointer, for requests: [DecodeOptions], each change: FrameChange?
    ) throws(ImagingError) -> [Image] {
        switch try ICODirectory(bytes).picture {
        case .png(let picture):
            var requests = requests
            for index in requests.indices { requests[index].firstFrameOnly = true }
            var images = try PNGCodec().decode(picture, for: requests, each: change)
            for index in images.indices { images[index].sourceFormat = .ico }
            return images
        case .bitmap(let header):
            return try BMPDecoder.decode(header, requests).finished(requests, each: change)
        }
    }
}
