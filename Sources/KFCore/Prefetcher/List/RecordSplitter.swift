import Glibc

/// Cuts the bytes of a list into records, wherever the blocks that they come in are torn.
struct RecordSplitter {
    enum Rule: Equatable {
        /// A record is a line.
        case lines
        /// A record ends with a line that ends outside quotes (RFC 4180); fields are parted by this byte.
        case quoted(delimiter: UInt8)
    }

    /// A longer record is no wish for an image.
    static let longest = 1 << 20
    private static let tooLong = "longer than \(longest >> 20) MiB"

    private enum Place {
        case fieldStart, field, quoted
        /// Behind a quote inside quotes: the field's end, or the first of a doubled one.
        case quote
    }

    private let rule: Rule
    private var buffer: [UInt8] = []
    /// Where the record begins, and how far it has been looked at.
    private var start = 0
    private var position = 0
    private var place = Place.fieldStart
    /// Of the record that begins at `start`.
    private var line = 1
    private var newlines = 0
    /// The rest of a line that was too long goes by unseen.
    private var isSkipping = false
    private var isFirst = true

    init(_ rule: Rule) { self.rule = rule }

    /// The line that has been reached.
    var reached: Int { line + newlines }

    /// The records that end in these bytes.
    mutating func take(_ bytes: [UInt8]) -> [ListRecord] {
        if start == buffer.count {
            buffer = bytes
        } else {
            // A new buffer: records that were given out hold on to the old one.
            buffer = Array(buffer[start...]) + bytes
        }
        position -= start
        start = 0
        // Editors elsewhere begin a file with a mark that nobody sees.
        if isFirst, !dropMark() { return [] }
        var records: [ListRecord] = []
        while let record = next() { records.append(record) }
        return records
    }

    /// The last record, which needs no end.
    mutating func finish() -> [ListRecord] {
        isFirst = false
        var records: [ListRecord] = []
        while start < buffer.count {
            if isSkipping {
                start = buffer.count
            } else if place == .quoted {
                records.append(giveUp("a quoted field never ends"))
                while let record = next() { records.append(record) }
            } else {
                position = buffer.count
                records.append(cut())
            }
        }
        return records
    }

    /// False when more bytes are needed to tell.
    private mutating func dropMark() -> Bool {
        let mark: [UInt8] = [0xef, 0xbb, 0xbf]
        if buffer.count < mark.count, mark.starts(with: buffer) { return false }
        isFirst = false
        if buffer.starts(with: mark) {
            start = mark.count
            position = start
        }
        return true
    }

    private mutating func next() -> ListRecord? {
        while position < buffer.count {
            if isSkipping {
                guard let end = newline(from: position) else {
                    start = buffer.count
                    position = start
                    return nil
                }
                isSkipping = false
                start = end + 1
                position = start
                line += 1
                continue
            }
            let hasEnded = rule == .lines ? findLine() : findRecord()
            if hasEnded { return cut() }
        }
        guard position - start > Self.longest else { return nil }
        return giveUp(place == .quoted ? "a quoted field never ends" : Self.tooLong)
    }

    /// Moves behind the line's end.
    private mutating func findLine() -> Bool {
        guard let end = newline(from: position) else {
            position = buffer.count
            return false
        }
        position = end + 1
        newlines = 1
        return true
    }

    private mutating func findRecord() -> Bool {
        guard case .quoted(let delimiter) = rule else { return findLine() }
        var (position, place, newlines) = (position, place, newlines)
        let hasEnded = buffer.withUnsafeBufferPointer { bytes in
            while position < bytes.count {
                let byte = bytes[position]
                position += 1
                if byte == 0x0a { newlines += 1 }
                switch (place, byte) {
                case (.quoted, UInt8(ascii: "\"")): place = .quote
                case (.quoted, _): break
                case (.quote, UInt8(ascii: "\"")): place = .quoted
                case (_, 0x0a): return true
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

    /// The record up to the position.
    private mutating func cut() -> ListRecord {
        let tooLong = position - start > Self.longest + 2
        let record = ListRecord(
            line: line, bytes: tooLong ? [] : buffer[start..<position],
            problem: tooLong ? .record(Self.tooLong) : nil)
        line += newlines
        newlines = 0
        start = position
        place = .fieldStart
        return record
    }

    /// A record that has no end costs its first line; what comes after that is read anew.
    private mutating func giveUp(_ problem: String) -> ListRecord {
        let end = newline(from: start)
        let next = end.map { $0 + 1 } ?? buffer.count
        let isKept = next - start <= Self.longest
        let record = ListRecord(line: line, bytes: isKept ? buffer[start..<next] : [], problem: .record(problem))
        isSkipping = end == nil
        if end != nil { line += 1 }
        newlines = 0
        start = next
        position = next
        place = .fieldStart
        return record
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
