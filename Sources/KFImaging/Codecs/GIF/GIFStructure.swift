/// The blocks of a GIF, read without decoding.
struct GIFStructure: FileStructure {
    let size: PixelSize
    private(set) var frames = 0
    private var hasTransparency = false
    /// The number of times the animation plays; 0 is forever. Without a loop extension it plays once.
    private(set) var loopCount = 1
    private let bitDepth: Int
    /// Whether no frame is truncated: there is a trailer, the bytes end between two blocks, or go on with no block.
    private var isComplete = false
    /// The faults that cost no frame before them.
    private var warnings: [ImageWarning] = []

    /// Walks the blocks as far as the bytes reach, or to bytes that are not a block, where other decoders end too.
    ///
    /// - Throws: `truncated` without a complete header, `corrupt` for an empty canvas, and for bytes that are not a block in front
    ///   of the first frame.
    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) throws(ImagingError) {
        var passage = passage
        guard let width = bytes.littleEndian16(at: 6), let height = bytes.littleEndian16(at: 8), bytes.count >= 13
        else { throw .truncated(.gif) }
        guard width > 0, height > 0 else { throw .corrupt(.gif, reason: "an empty canvas") }
        size = PixelSize(width: width, height: height)
        bitDepth = Int(bytes[10] & 7) + 1
        var position = 13 + GIFStructure.tableLength(bytes[10])
        while position < bytes.count {
            passage.reach(position)
            switch bytes[position] {
            case 0x00:
                // A stray block terminator, which other decoders skip too.
                position += 1
            case 0x21:
                guard let next = readExtension(bytes, at: position) else { return }
                position = next
            case 0x2C:
                guard position + 10 <= bytes.count else { return }
                let data = position + 10 + GIFStructure.tableLength(bytes[position + 9]) + 1
                frames += 1
                guard let next = GIFStructure.skipBlocks(bytes, from: data) else { return }
                position = next
            case 0x3B:
                isComplete = true
                return
            default:
                if frames == 0 { throw .corrupt(.gif, reason: "an unknown block") }
                warnings = [.endsWithoutBlock]
                isComplete = true
                return
            }
        }
        warnings = [.noEndMark(.gif)]
        isComplete = frames > 0 && position == bytes.count
    }

    var info: ImageInfo {
        ImageInfo(
            format: .gif, stored: size, frames: max(frames, 1), hasAlpha: hasTransparency, colorModel: .indexed,
            bitDepth: bitDepth)
    }

    func check() throws(ImagingError) -> [ImageWarning] {
        if !isComplete { throw .truncated(.gif) }
        if frames == 0 { throw .corrupt(.gif, reason: "no frame") }
        return warnings
    }

    private mutating func readExtension(_ bytes: UnsafeRawBufferPointer, at position: Int) -> Int? {
        guard position + 2 < bytes.count else { return nil }
        let kind = bytes[position + 1]
        let body = position + 2
        if kind == 0xF9, body + 1 < bytes.count, bytes[body] >= 4, bytes[body + 1] & 1 == 1 {
            hasTransparency = true
        } else if kind == 0xFF, let loop = GIFStructure.loopBlock(bytes, at: body),
            let count = bytes.littleEndian16(at: loop + 2)
        {
            // The file states repetitions, one less than the number of plays.
            loopCount = count == 0 ? 0 : count + 1
        }
        return GIFStructure.skipBlocks(bytes, from: body)
    }

    /// Returns the position of the sub-block with the loop count in the extension of an application; nil without one.
    static func loopBlock(_ bytes: UnsafeRawBufferPointer, at body: Int) -> Int? {
        guard bytes.holds("\u{0B}NETSCAPE2.0", at: body) || bytes.holds("\u{0B}ANIMEXTS1.0", at: body) else {
            return nil
        }
        var position = body + 12
        while position + 4 <= bytes.count, bytes[position] > 0 {
            if bytes[position] >= 3, bytes[position + 1] & 7 == 1 { return position }
            position += Int(bytes[position]) + 1
        }
        return nil
    }

    /// Returns the position behind the sub-blocks; nil when they do not end.
    static func skipBlocks(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var position = start
        while position < bytes.count {
            let length = Int(bytes[position])
            position += length + 1
            if length == 0 { return position }
        }
        return nil
    }

    static func tableLength(_ flags: UInt8) -> Int {
        flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1)
    }
}
