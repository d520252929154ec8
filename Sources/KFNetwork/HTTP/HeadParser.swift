import Glibc

/// Gathers the header lines of one hop. libcurl hands them over one by one, heads of 1xx answers, of proxies' CONNECT
/// (suppressed by an option) and trailers included.
struct HeadParser {
    /// 300 kB is what later versions of libcurl allow; 7.88 allows any amount.
    static let maxBytes = 300 << 10
    /// libcurl has no limit to the number of fields.
    static let maxLines = 256

    /// What a line completed.
    enum Step {
        case more
        /// The blank line after a final head.
        case head(StatusLine, HeaderFields)
    }

    private var bytes = 0
    private var lines = 0
    private var status: StatusLine?
    private var fields = HeaderFields()
    private var isComplete = false

    mutating func accept(_ raw: UnsafeRawBufferPointer) throws(HeadFault) -> Step {
        // Interim answers and trailers count too: an endless row of either must end.
        bytes += raw.count
        lines += 1
        guard bytes <= Self.maxBytes else { throw .malformed("more than 300 kB of headers") }
        guard lines <= Self.maxLines else { throw .malformed("more than \(Self.maxLines) header lines") }
        if isComplete { return .more }

        let line = raw.trimmingLineEnd
        guard line.isEmpty || memchr(line.baseAddress!, 0, line.count) == nil else {
            throw .malformed("a NUL byte in a header")
        }
        guard let current = status else {
            status = try StatusLine(line)
            fields.reserve(fields: 16, bytes: 512)
            return .more
        }
        guard line.isEmpty else {
            try field(line)
            return .more
        }
        defer {
            status = nil
            fields = HeaderFields()
        }
        if current.status < 200 {
            guard current.status != 101 else { throw .malformed("a switch of protocols nobody asked for") }
            return .more
        }
        isComplete = true
        return .head(current, fields)
    }

    private mutating func field(_ line: UnsafeRawBufferPointer) throws(HeadFault) {
        if line[0] == 0x20 || line[0] == 0x09 {
            guard fields.continueLast(with: line.trimmingBlanks) else {
                throw .malformed("a continuation line before any header")
            }
            return
        }
        let found = memchr(line.baseAddress!, Int32(UInt8(ascii: ":")), line.count)
        let colon = found.map { UnsafeRawPointer($0) - line.baseAddress! } ?? line.count
        // Without a way out of the loop, the compiler looks at 16 bytes at a time.
        var hasBlank = false
        for byte in UnsafeRawBufferPointer(rebasing: line[..<colon]) {
            hasBlank = (byte <= 0x20) || (byte == 0x7f) || hasBlank
        }
        guard !hasBlank else { throw .malformed("a blank in a header name") }
        guard colon < line.count, colon > 0 else { throw .malformed("a header line without a name") }
        var value = colon + 1
        while value < line.count, line[value] == 0x20 || line[value] == 0x09 { value += 1 }
        var end = line.count
        while end > value, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
        fields.append(line: UnsafeRawBufferPointer(rebasing: line[..<end]), colon: colon, value: value)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var trimmingLineEnd: UnsafeRawBufferPointer {
        var end = count
        if end > 0, self[end - 1] == 0x0a { end -= 1 }
        if end > 0, self[end - 1] == 0x0d { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[..<end])
    }

    fileprivate var trimmingBlanks: UnsafeRawBufferPointer {
        var (start, end) = (0, count)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}
