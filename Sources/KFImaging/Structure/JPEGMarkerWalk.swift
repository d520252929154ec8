import Glibc

/// Goes from marker to marker through a JPEG, over segments and over the coded data of scans.
struct JPEGMarkerWalk {
    struct Segment {
        var marker: UInt8
        /// What stands behind the length; empty for markers without one.
        var body: Range<Int>

        /// SOF0 to SOF15, without the three codes in that range that mean something else.
        var isFrameHeader: Bool {
            (0xC0...0xCF).contains(marker) && marker != 0xC4 && marker != 0xC8 && marker != 0xCC
        }
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private var passage: ReadPassage
    /// Whether a comment or application segment stated less than its own length field, which other decoders go over.
    private(set) var hasImpossibleLength = false

    init(_ bytes: UnsafeRawBufferPointer, passage: ReadPassage = .silent) {
        self.bytes = bytes
        self.passage = passage
    }

    /// The next marker, nil where the bytes end. Restart markers and stray bytes are skipped.
    ///
    /// - Throws: `truncated` when a segment reaches past the end, `corrupt` when its length is impossible.
    mutating func next() throws(ImagingError) -> Segment? {
        while let marker = findMarker() {
            switch marker {
            case 0x01, 0xD0...0xD8: continue
            case 0xD9: return Segment(marker: marker, body: position..<position)
            default:
                guard let length = bytes.bigEndian16(at: position) else { throw .truncated(.jpeg) }
                if length < 2 {
                    guard marker == 0xFE || (0xE0...0xEF).contains(marker) else {
                        throw .corrupt(.jpeg, reason: "a segment without a length")
                    }
                    hasImpossibleLength = true
                    position += 2
                    return Segment(marker: marker, body: position..<position)
                }
                guard position + length <= bytes.count else { throw .truncated(.jpeg) }
                let body = position + 2..<position + length
                position += length
                if marker == 0xDA, let end = passage.arrived?.endOfScan(from: position), end < bytes.count {
                    position = end
                }
                return Segment(marker: marker, body: body)
            }
        }
        return nil
    }

    /// FF is followed by a marker unless it is stuffing (FF 00) or fill (FF FF).
    private mutating func findMarker() -> UInt8? {
        guard let base = bytes.baseAddress else { return nil }
        while position < bytes.count {
            guard let found = memchr(base + position, 0xFF, bytes.count - position) else { break }
            var next = UnsafeRawPointer(found) - base + 1
            while next < bytes.count, bytes[next] == 0xFF { next += 1 }
            guard next < bytes.count else { break }
            position = next + 1
            passage.reach(position)
            if bytes[next] != 0 { return bytes[next] }
        }
        position = bytes.count
        return nil
    }
}
