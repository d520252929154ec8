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
        guard !line.contains(0) else { throw .malformed("a NUL byte in a header") }
        guard let current = status else {
            status = try StatusLine(UnsafeRawBufferPointer(rebasing: line))
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

    private mutating func field(_ line: Slice<UnsafeRawBufferPointer>) throws(HeadFault) {
        if line.first == 0x20 || line.first == 0x09 {
            guard fields.continueLast(with: line.trimmingBlanks) else {
                throw .malformed("a continuation line before any header")
            }
            return
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex else {
            throw .malformed("a header line without a name")
        }
        let name = line[..<colon]
        guard !name.contains(where: { $0 <= 0x20 || $0 == 0x7f }) else {
            throw .malformed("a blank in a header name")
        }
        fields.append(name: name, value: line[(colon + 1)...].trimmingBlanks)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate var trimmingLineEnd: Slice<UnsafeRawBufferPointer> {
        var line = self[...]
        if line.last == 0x0a { line = line.dropLast() }
        if line.last == 0x0d { line = line.dropLast() }
        return line
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate var trimmingBlanks: Self {
        var line = self
        while let first = line.first, first == 0x20 || first == 0x09 { line = line.dropFirst() }
        while let last = line.last, last == 0x20 || last == 0x09 { line = line.dropLast() }
        return line
    }
}
