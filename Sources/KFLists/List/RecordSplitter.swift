import Glibc

/// A splitter of a list's bytes into records, independent of block boundaries. It returns one record at a time, because
/// a block of line breaks has more records than memory should hold.
struct RecordSplitter {
    /// The maximum length of a list's record, in bytes.
    static let longest = 1 << 20
    /// The maximum number of bytes to skip for the next line. A sparse file may be one line of terabytes.
    private static let longestSkip = 64 << 20
    private static let openQuote = "unterminated quoted field"

    private enum Place {
        case fieldStart, field, quoted
        /// Behind a quote inside quotes: either the field's end, or the first of a doubled quote.
        case quote
        /// Behind a CR outside quotes: the record's end, unless an LF follows.
        case carriageReturn
    }

    /// The delimiter of fields; nil for lines.
    private(set) var delimiter: UInt8?
    /// Whether the first line may show another delimiter than the comma.
    private let choosesDelimiter: Bool
    private let longest: Int
    private var buffer: [UInt8] = []
    /// The start of the record, and the position up to which it has been scanned.
    private var start = 0
    private var position = 0
    private var place = Place.fieldStart
    /// The line number of the record at `start`.
    private var line = 1
    private var newlines = 0
    /// Whether the rest of a line that was too long is being skipped.
    private var isSkipping = false
    /// The number of bytes of that line that were skipped.
    private var skipped = 0
    /// The position up to which an unclosed quote was scanned. Until then, quotes may not contain line breaks;
    /// otherwise each line would be scanned as far again.
    private var brokenQuotes = 0
    private var isFirst = true
    private var isFinished = false

    /// With a `delimiter` of fields, a record ends with a line break outside quotes: LF, CR LF, or CR alone. Without one, a
    /// record is a line. `choosesDelimiter`: a first line without a comma has semicolons or tabs in its place.
    /// `longest`: the maximum length of a record, in bytes.
    init(delimiter: UInt8?, choosesDelimiter: Bool = false, longest: Int = Self.longest) {
        self.delimiter = delimiter
        self.choosesDelimiter = choosesDelimiter
        self.longest = longest
    }

    /// The maximum number of bytes to search for a record's end, line break included.
    private var farthest: Int { longest + 2 }
    private var tooLong: String { "longer than \(longest >> 20) MiB" }

    /// The number of bytes that are in no record yet.
    var pending: Int { buffer.count - start }

    var reached: Int { line + newlines }

    /// Takes more bytes, after `next` has returned nil.
    mutating func feed(_ bytes: [UInt8]) {
        if start == buffer.count {
            buffer = bytes
        } else {
            // Returned records keep the old buffer alive, so that this copies it.
            buffer.removeSubrange(..<start)
            buffer += bytes
        }
        position -= start
        brokenQuotes = max(0, brokenQuotes - start)
        start = 0
    }

    /// Marks the end of the bytes. The last record needs no line break.
    mutating func finish() { isFinished = true }

    /// Returns the next record; nil if more bytes are needed, or none is left.
    mutating func next() -> ListRecord? {
        // Some editors begin a file with a byte order mark.
        if isFirst, !begin() { return nil }
        if let record = nextWhole() { return record }
        guard isFinished, start < buffer.count, !isSkipping else { return nil }
        if place == .quoted { return giveUp(Self.openQuote) }
        position = buffer.count
        return cut()
    }

    /// Skips a byte order mark, and chooses the delimiter. Returns false if more bytes are needed to decide.
    private mutating func begin() -> Bool {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        if !isFinished, buffer.count < mark.count, mark.starts(with: buffer) { return false }
        let begin = buffer.starts(with: mark) ? mark.count : 0
        if choosesDelimiter {
            let end = buffer.firstIndex { $0 == 0x0a || $0 == 0x0d }
            guard isFinished || end != nil || buffer.count >= farthest else { return false }
            let first = buffer[begin..<(end ?? buffer.count)]
            // A line of Excel's in place of a record.
            let names = first.count == 5 && first.starts(with: Array("sep=".utf8))
            delimiter = names ? first.last : DelimitedFields.delimiter(of: first)
            isFirst = false
            (start, position) = (begin, begin)
            // The line is a record of its own, which is passed over.
            if names { _ = next() }
            return true
        }
        isFirst = false
        (start, position) = (begin, begin)
        return true
    }

    private mutating func nextWhole() -> ListRecord? {
        while position < buffer.count {
            if isSkipping {
                guard let end = lineEnd(from: position) else {
                    skipped += buffer.count - position
                    (start, position) = (buffer.count, buffer.count)
                    guard skipped > Self.longestSkip else { return nil }
                    let problem = "a line of more than \(Self.longestSkip >> 20) MiB"
                    return ListRecord(line: line, bytes: [], problem: .damaged(problem))
                }
                if isOpen(end) {
                    (start, position) = (end - 1, end - 1)
                    return nil
                }
                (start, position) = (end, end)
                isSkipping = false
                skipped = 0
                line += 1
                continue
            }
            if findRecord() { return cut() }
            if place == .quoted, position < brokenQuotes { return giveUp(Self.openQuote) }
            if position - start >= farthest { return giveUp(place == .quoted ? Self.openQuote : tooLong) }
        }
        return nil
    }

    /// Moves behind the line break, or to the maximum length of a record.
    private mutating func findLine() -> Bool {
        let limit = min(buffer.count, start + farthest)
        guard let end = newline(from: position), end < limit else {
            position = limit
            return false
        }
        position = end + 1
        newlines = 1
        return true
    }

    private mutating func findRecord() -> Bool {
        guard let delimiter else { return findLine() }
        var (position, place, newlines) = (position, place, newlines)
        let limit = min(buffer.count, start + farthest)
        let brokenQuotes = brokenQuotes
        let hasEnded = buffer.withUnsafeBufferPointer { bytes in
            while position < limit {
                let byte = bytes[position]
                position += 1
                if byte == 0x0a { newlines += 1 }
                switch (place, byte) {
                case (.quoted, UInt8(ascii: "\"")): place = .quote
                case (.quoted, 0x0a) where position < brokenQuotes: return false
                case (.quoted, 0x0d) where position < brokenQuotes: return false
                case (.quoted, _): break
                case (.quote, UInt8(ascii: "\"")): place = .quoted
                case (_, 0x0a): return true
                case (.carriageReturn, _):
                    position -= 1
                    newlines += 1
                    return true
                case (_, 0x0d): place = .carriageReturn
                case (_, delimiter): place = .fieldStart
                case (.fieldStart, UInt8(ascii: "\"")): place = .quoted
                default: place = .field
                }
            }
            return false
        }
        (self.position, self.place, self.newlines) = (position, place, newlines)
        return hasEnded
    }

    /// Returns the record up to the position.
    private mutating func cut() -> ListRecord {
        let isTooLong = position - start > farthest
        let record = ListRecord(
            line: line, bytes: isTooLong ? [] : buffer[start..<position],
            problem: isTooLong ? .record(tooLong) : nil)
        line += newlines
        newlines = 0
        start = position
        place = .fieldStart
        return record
    }

    /// Gives up on a record without an end: only its first line is invalid, and the next line is scanned anew. Returns nil
    /// if more bytes are needed.
    private mutating func giveUp(_ problem: String) -> ListRecord? {
        let end = lineEnd(from: start)
        if let end, isOpen(end) {
            position = end - 1
            return nil
        }
        brokenQuotes = max(brokenQuotes, position)
        let next = end ?? buffer.count
        let isKept = next - start <= longest
        let record = ListRecord(line: line, bytes: isKept ? buffer[start..<next] : [], problem: .record(problem))
        isSkipping = end == nil
        if end != nil { line += 1 }
        newlines = 0
        (start, position) = (next, next)
        place = .fieldStart
        return record
    }

    /// Returns the position behind the next line break.
    private func lineEnd(from index: Int) -> Int? {
        if delimiter == nil { return newline(from: index).map { $0 + 1 } }
        return buffer.withUnsafeBufferPointer { bytes in
            guard let end = bytes[index...].firstIndex(where: { $0 == 0x0a || $0 == 0x0d }) else { return nil }
            let next = end + 1
            return bytes[end] == 0x0d && next < bytes.count && bytes[next] == 0x0a ? next + 1 : next
        }
    }

    /// Returns whether the line break before the position may go on with an LF that has not been read.
    private func isOpen(_ end: Int) -> Bool {
        delimiter != nil && end == buffer.count && !isFinished && buffer[end - 1] == 0x0d
    }

    private func newline(from index: Int) -> Int? {
        buffer.withUnsafeBufferPointer { bytes in
            guard index < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + index, 0x0a, bytes.count - index)
            else { return nil }
            return UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }
}
