/// A box of an ISO media file: its kind and the place of its contents.
struct ISOBox {
    let kind: FourCharacters
    /// The offset of the header.
    let start: Int
    /// The place of the contents, as far as the bytes reach.
    let body: Range<Int>
    /// Whether the bytes reach to the end that the box states.
    let isComplete: Bool
}

extension UnsafeRawBufferPointer {
    /// Calls `visit` with each box in a part of the file. It stops at a header that is damaged or cut off.
    ///
    /// Every box takes 8 bytes or more, so that the number of calls is bounded by the length of the part.
    ///
    /// - Returns: Whether the boxes fill the part.
    @discardableResult
    func forEachBox(in part: Range<Int>, _ visit: (ISOBox) throws(ImagingError) -> Void) throws(ImagingError) -> Bool {
        var position = part.lowerBound
        while position < part.upperBound {
            guard position + 8 <= part.upperBound, var length = bigEndian32(at: position),
                let kind = name(at: position + 4)
            else { return false }
            var header = 8
            if length == 1 {
                guard position + 16 <= part.upperBound, let long = bigEndian64(at: position + 8) else { return false }
                (length, header) = (long, 16)
            } else if length == 0 {
                // The box reaches to the end of the file.
                length = part.upperBound - position
            }
            guard length >= header else { return false }
            let isComplete = length <= part.upperBound - position
            let end = isComplete ? position + length : part.upperBound
            try visit(ISOBox(kind: kind, start: position, body: position + header..<end, isComplete: isComplete))
            if !isComplete { return false }
            position = end
        }
        return true
    }

    /// Nil for a number that does not fit, too.
    func bigEndian64(at offset: Int) -> Int? {
        guard let high = bigEndian32(at: offset), let low = bigEndian32(at: offset + 4), high < 1 << 31 else {
            return nil
        }
        return high << 32 | low
    }
}

/// Reads consecutive numbers of a box. A read behind the end of the box returns nil.
struct ISOCursor {
    private let bytes: UnsafeRawBufferPointer
    private(set) var position: Int
    let end: Int

    init(_ bytes: UnsafeRawBufferPointer, _ part: Range<Int>) {
        self.bytes = bytes
        position = part.lowerBound
        end = part.upperBound
    }

    /// The number of bytes that have not been read.
    var left: Int { end - position }

    /// Reads a number of 0 to 8 bytes; one of no bytes is 0.
    mutating func read(_ size: Int) -> Int? {
        guard left >= size else { return nil }
        defer { position += size }
        switch size {
        case 0: return 0
        case 1: return Int(bytes[position])
        case 2: return bytes.bigEndian16(at: position)
        case 4: return bytes.bigEndian32(at: position)
        case 8: return bytes.bigEndian64(at: position)
        default: return nil
        }
    }

    /// Skips bytes; false when there are fewer.
    mutating func skip(_ count: Int) -> Bool {
        guard left >= count else { return false }
        position += count
        return true
    }

    /// Reads the version and flags of a full box.
    mutating func readVersion() -> (version: Int, flags: Int)? {
        guard let word = read(4) else { return nil }
        return (word >> 24, word & 0xFF_FFFF)
    }
}
