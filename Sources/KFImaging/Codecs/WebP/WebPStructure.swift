/// The chunks of a WebP, read without decoding.
struct WebPStructure {
    struct Frame {
        var left = 0
        var top = 0
        var width: Int
        var height: Int
        /// The duration in milliseconds.
        var duration = 0
        /// Whether the frame is blended over the canvas; otherwise it replaces its rectangle.
        var blends = false
        /// Whether the rectangle is cleared before the next frame.
        var clears = false
        var hasAlpha: Bool
        var isLossless = false
        /// The place of the alpha and picture chunks, which libwebp reads together.
        var data: Range<Int>
    }

    private(set) var width = 0
    private(set) var height = 0
    private(set) var hasAlpha = false
    private(set) var isAnimated = false
    private(set) var loopCount = 1
    private(set) var frames: [Frame] = []
    private var exifOrientation: Orientation?
    private var xmpOrientation: Orientation?
    private(set) var profile: Range<Int>?
    private var exif: Range<Int>?
    private var xmp: Range<Int>?
    /// Whether the file has the length that it states.
    private(set) var isComplete = false

    /// Walks the chunks as far as the bytes reach.
    ///
    /// - Throws: `truncated` without a complete picture header, `corrupt` without a picture.
    init(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        guard let stated = bytes.littleEndian32(at: 4), bytes.count >= 20 else { throw .truncated(.webp) }
        isComplete = stated + 8 <= bytes.count
        let end = min(stated + 8, bytes.count)
        var position = 12
        while position + 8 <= end, let length = bytes.littleEndian32(at: position + 4) {
            let body = position + 8..<min(position + 8 + length, end)
            if position + 8 + length > end { isComplete = false }
            try read(bytes, chunk: position, body: body, end: end)
            if !isAnimated, !frames.isEmpty, width == 0 {
                (width, height, hasAlpha) = (frames[0].width, frames[0].height, frames[0].hasAlpha)
            }
            position += 8 + length + length & 1
        }
        if width == 0 { throw isComplete ? .corrupt(.webp, reason: "no picture") : .truncated(.webp) }
    }

    var info: ImageInfo {
        ImageInfo(
            format: .webp, stored: (width, height), orientation: orientation, frames: max(frames.count, 1),
            hasAlpha: hasAlpha)
    }

    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, chunk: Int, body: Range<Int>, end: Int
    ) throws(ImagingError) {
        if bytes.holds("VP8X", at: chunk), chunk == 12, body.count >= 10 {
            let flags = bytes[body.lowerBound]
            isAnimated = flags & 0x02 != 0
            hasAlpha = flags & 0x10 != 0
            width = 1 + (bytes.littleEndian24(at: body.lowerBound + 4) ?? 0)
            height = 1 + (bytes.littleEndian24(at: body.lowerBound + 7) ?? 0)
        } else if bytes.holds("ANIM", at: chunk), body.count >= 6 {
            loopCount = bytes.littleEndian16(at: body.lowerBound + 4) ?? 0
        } else if bytes.holds("ANMF", at: chunk), isAnimated {
            try readAnimationFrame(bytes, body)
        } else if bytes.holds("ICCP", at: chunk) {
            profile = body
        } else if bytes.holds("EXIF", at: chunk) {
            exifOrientation = ExifOrientation.read(UnsafeRawBufferPointer(rebasing: bytes[body]))
            exif = body
        } else if bytes.holds("XMP ", at: chunk) {
            xmpOrientation = XMPOrientation.read(UnsafeRawBufferPointer(rebasing: bytes[body]))
            xmp = body
        } else if !isAnimated, frames.isEmpty, bytes.holds("VP8", at: chunk) {
            guard var frame = WebPStructure.picture(bytes, chunk: chunk, body: body) else { return }
            // libwebp finds the alpha chunk in the whole file.
            frame.data = 0..<end
            frame.hasAlpha = frame.hasAlpha || hasAlpha
            frames.append(frame)
        }
    }

    /// The orientation from EXIF, else from XMP.
    var orientation: Orientation { exifOrientation ?? xmpOrientation ?? .upright }

    func metadata(in bytes: UnsafeRawBufferPointer) -> ImageMetadata? {
        ImageMetadata(
            exif: exif.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) },
            xmp: xmp.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
    }

    private mutating func readAnimationFrame(
        _ bytes: UnsafeRawBufferPointer, _ body: Range<Int>
    ) throws(ImagingError) {
        let start = body.lowerBound
        guard body.count >= 24, let left = bytes.littleEndian24(at: start),
            let top = bytes.littleEndian24(at: start + 3),
            let width = bytes.littleEndian24(at: start + 6), let height = bytes.littleEndian24(at: start + 9),
            let duration = bytes.littleEndian24(at: start + 12)
        else { return }
        let flags = bytes[start + 15]
        var hasAlpha = false
        var position = start + 16
        while position + 8 <= body.upperBound, let length = bytes.littleEndian32(at: position + 4) {
            let inner = position + 8..<min(position + 8 + length, body.upperBound)
            if bytes.holds("ALPH", at: position) { hasAlpha = true }
            if let picture = WebPStructure.picture(bytes, chunk: position, body: inner) {
                guard picture.width == width + 1, picture.height == height + 1 else {
                    throw .corrupt(.webp, reason: "a frame whose size differs from its header")
                }
                frames.append(
                    Frame(
                        left: left * 2, top: top * 2, width: width + 1, height: height + 1, duration: duration,
                        blends: flags & 2 == 0, clears: flags & 1 != 0, hasAlpha: hasAlpha || picture.hasAlpha,
                        isLossless: picture.isLossless,
                        data: start + 16..<body.upperBound))
                return
            }
            position += 8 + length + length & 1
        }
        throw .corrupt(.webp, reason: "a frame without a picture")
    }

    /// The size in the header of a VP8 or VP8L chunk.
    private static func picture(_ bytes: UnsafeRawBufferPointer, chunk: Int, body: Range<Int>) -> Frame? {
        let start = body.lowerBound
        if bytes.holds("VP8 ", at: chunk), body.count >= 10, bytes[start + 3] == 0x9D, bytes[start + 4] == 0x01,
            bytes[start + 5] == 0x2A, let width = bytes.littleEndian16(at: start + 6),
            let height = bytes.littleEndian16(at: start + 8), width & 0x3FFF > 0, height & 0x3FFF > 0
        {
            return Frame(width: width & 0x3FFF, height: height & 0x3FFF, hasAlpha: false, data: body)
        }
        if bytes.holds("VP8L", at: chunk), body.count >= 5, bytes[start] == 0x2F,
            let bits = bytes.littleEndian32(at: start + 1)
        {
            return Frame(
                width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1, hasAlpha: bits >> 28 & 1 == 1,
                isLossless: true,
                data: body)
        }
        return nil
    }
}
