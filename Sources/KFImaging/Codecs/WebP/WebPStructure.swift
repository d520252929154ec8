/// The chunks of a WebP, read without decoding.
struct WebPStructure: FileStructure {
    struct Frame {
        var left = 0
        var top = 0
        var size: PixelSize
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

    private let bytes: UnsafeRawBufferPointer
    private(set) var size = PixelSize(width: 0, height: 0)
    private var hasAlpha = false
    private(set) var isAnimated = false
    private(set) var loopCount = 1
    private(set) var frames: [Frame] = []
    private(set) var blocks = MetadataBlocks()
    private var icc: UnsafeRawBufferPointer?
    /// Whether the file has the length that it states.
    private var isComplete = false

    /// Walks the chunks as far as the bytes reach.
    ///
    /// - Throws: `truncated` without a complete picture header, `corrupt` without a picture.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        self.bytes = bytes
        guard let stated = bytes.littleEndian32(at: 4), bytes.count >= 20 else { throw .truncated(.webp) }
        isComplete = stated + 8 <= bytes.count
        let end = min(stated + 8, bytes.count)
        var position = 12
        while let chunk = bytes.riffChunk(at: position, end: end) {
            if chunk.isTruncated { isComplete = false }
            try read(chunk.kind, chunk.body, isFirst: position == 12, end: end)
            if !isAnimated, !frames.isEmpty, size.width == 0 { (size, hasAlpha) = (frames[0].size, frames[0].hasAlpha) }
            position = chunk.next
        }
        if size.width == 0 { throw isComplete ? .corrupt(.webp, reason: "no picture") : .truncated(.webp) }
    }

    var info: ImageInfo {
        ImageInfo(
            format: .webp, stored: size, orientation: blocks.orientation, frames: max(frames.count, 1),
            hasAlpha: hasAlpha)
    }

    var profile: [UInt8]? { ICCProfile.fitting(icc.map { Array($0) }, .rgb) }

    func check() throws(ImagingError) -> [ImageWarning] {
        if !isComplete { throw .truncated(.webp) }
        if frames.isEmpty { throw .corrupt(.webp, reason: "no picture") }
        return []
    }

    private mutating func read(
        _ kind: FourCharacters, _ body: Range<Int>, isFirst: Bool, end: Int
    ) throws(ImagingError) {
        let part = bytes.part(body)
        switch kind {
        case "VP8X":
            guard isFirst, let width = part.littleEndian24(at: 4), let height = part.littleEndian24(at: 7) else {
                return
            }
            isAnimated = part[0] & 0x02 != 0
            hasAlpha = part[0] & 0x10 != 0
            size = PixelSize(width: 1 + width, height: 1 + height)
        case "ANIM": loopCount = part.littleEndian16(at: 4) ?? loopCount
        case "ANMF": if isAnimated { try readAnimationFrame(body) }
        // The first of several counts, as for libwebp.
        case "ICCP": icc = icc ?? part
        case "EXIF": blocks.exif = blocks.exif ?? part
        case "XMP ": blocks.xmp = blocks.xmp ?? part
        default:
            guard !isAnimated, frames.isEmpty, var frame = picture(kind, body) else { return }
            // libwebp finds the alpha chunk in the whole file.
            frame.data = 0..<end
            frame.hasAlpha = frame.hasAlpha || hasAlpha
            frames.append(frame)
        }
    }

    private mutating func readAnimationFrame(_ body: Range<Int>) throws(ImagingError) {
        let start = body.lowerBound
        guard body.count >= 24, let left = bytes.littleEndian24(at: start),
            let top = bytes.littleEndian24(at: start + 3),
            let width = bytes.littleEndian24(at: start + 6), let height = bytes.littleEndian24(at: start + 9),
            let duration = bytes.littleEndian24(at: start + 12)
        else { return }
        let flags = bytes[start + 15]
        var hasAlpha = false
        var position = start + 16
        while let chunk = bytes.riffChunk(at: position, end: body.upperBound) {
            if chunk.kind == "ALPH" { hasAlpha = true }
            if let picture = picture(chunk.kind, chunk.body) {
                guard picture.size == PixelSize(width: width + 1, height: height + 1) else {
                    throw .corrupt(.webp, reason: "a frame whose size differs from its header")
                }
                frames.append(
                    Frame(
                        left: left * 2, top: top * 2, size: picture.size, duration: duration, blends: flags & 2 == 0,
                        clears: flags & 1 != 0, hasAlpha: hasAlpha || picture.hasAlpha,
                        isLossless: picture.isLossless, data: start + 16..<body.upperBound))
                return
            }
            position = chunk.next
        }
        throw .corrupt(.webp, reason: "a frame without a picture")
    }

    /// The size in the header of a VP8 or VP8L chunk.
    private func picture(_ kind: FourCharacters, _ body: Range<Int>) -> Frame? {
        let part = bytes.part(body)
        if kind == "VP8 ", part.littleEndian24(at: 3) == 0x2A019D, let width = part.littleEndian16(at: 6),
            let height = part.littleEndian16(at: 8), width & 0x3FFF > 0, height & 0x3FFF > 0
        {
            let size = PixelSize(width: width & 0x3FFF, height: height & 0x3FFF)
            return Frame(size: size, hasAlpha: false, data: body)
        }
        if kind == "VP8L", part.first == 0x2F, let bits = part.littleEndian32(at: 1) {
            let size = PixelSize(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
            return Frame(size: size, hasAlpha: bits >> 28 & 1 == 1, isLossless: true, data: body)
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// The chunk at an offset as far as it lies before `end`, and the offset of the next; nil without a header.
    func riffChunk(
        at position: Int, end: Int
    ) -> (kind: FourCharacters, body: Range<Int>, isTruncated: Bool, next: Int)? {
        guard position + 8 <= end, let kind = name(at: position), let length = littleEndian32(at: position + 4) else {
            return nil
        }
        let (start, stop) = (position + 8, position + 8 + length)
        return (kind, start..<Swift.min(stop, end), stop > end, stop + length & 1)
    }
}
