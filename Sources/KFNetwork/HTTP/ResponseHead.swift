import Glibc

/// The status line and fields of a response.
package final class ResponseHead: Sendable, Equatable {
    package let status: Int
    /// "HTTP/1.0", "HTTP/1.1" or "HTTP/2".
    package let protocolName: String
    /// The reason phrase; empty in HTTP/2.
    package let reason: String
    package let headers: HeaderFields
    package let framing: BodyFraming
    /// The URL of the response after redirects, without user info.
    package let effectiveURL: String
    /// The redirects that led to the response, in their order.
    package let via: [Redirect]

    package init(
        status: Int, protocolName: String = "HTTP/1.1", reason: String = "",
        headers: HeaderFields = HeaderFields(),
        framing: BodyFraming = .untilClose, effectiveURL: String = "", via: [Redirect] = []
    ) {
        self.status = status
        self.protocolName = protocolName
        self.reason = reason
        self.headers = headers
        self.framing = framing
        self.effectiveURL = effectiveURL
        self.via = via
    }

    /// The announced length of the body; nil if none was announced or the body is chunked.
    package var contentLength: Int64? {
        if case .length(let length) = framing { length } else { nil }
    }

    /// Whether a truncated body can be recognized.
    package var isDelimited: Bool { framing != .untilClose }

    package static func == (left: ResponseHead, right: ResponseHead) -> Bool {
        left === right
            || left.status == right.status && left.protocolName == right.protocolName && left.reason == right.reason
                && left.headers == right.headers && left.framing == right.framing
                && left.effectiveURL == right.effectiveURL && left.via == right.via
    }
}

/// Parses the header lines of one hop. libcurl passes them on one by one, with 1xx heads and trailers. Heads of CONNECT
/// responses are suppressed by an option.
struct HeadParser {
    /// The limit for all header bytes: that of later versions of libcurl. Version 7.88 has none.
    static let maxBytes = 300 << 10
    /// The limit for the number of header lines; libcurl has none.
    static let maxLines = 256

    private var bytes = 0
    private var lines = 0
    private var status: StatusLine?
    private var fields = HeaderFields()
    private var isComplete = false

    /// Takes a line. Returns a final head when its blank line completes it.
    mutating func accept(_ raw: UnsafeRawBufferPointer) throws(TransferError) -> (StatusLine, HeaderFields)? {
        // Interim responses and trailers count too, because a server could send them without end.
        bytes += raw.count
        lines += 1
        guard bytes <= Self.maxBytes else { throw .badHeaders(detail: "more than 300 KiB of headers") }
        guard lines <= Self.maxLines else { throw .badHeaders(detail: "more than \(Self.maxLines) header lines") }
        if isComplete { return nil }

        let line = raw.trimmingLineEnd
        guard line.isEmpty || memchr(line.baseAddress!, 0, line.count) == nil else {
            throw .badHeaders(detail: "a NUL byte in a header")
        }
        guard let current = status else {
            status = try StatusLine(line)
            fields.reserve(fields: 16, bytes: 512)
            return nil
        }
        guard line.isEmpty else {
            try field(line)
            return nil
        }
        defer {
            status = nil
            fields = HeaderFields()
        }
        if current.status < 200 {
            guard current.status != 101 else { throw .badHeaders(detail: "an unrequested switch of protocols (101)") }
            return nil
        }
        isComplete = true
        return (current, fields)
    }

    private mutating func field(_ line: UnsafeRawBufferPointer) throws(TransferError) {
        if line[0] == 0x20 || line[0] == 0x09 {
            guard fields.continueLast(with: line.trimmingBlanks) else {
                throw .badHeaders(detail: "a continuation line before any header")
            }
            return
        }
        let found = memchr(line.baseAddress!, Int32(clamping: UInt8(ascii: ":")), line.count)
        let colon = found.map { UnsafeRawPointer($0) - line.baseAddress! } ?? line.count
        let letters = UnsafeRawBufferPointer(rebasing: line[..<colon])
        let name = FieldName(letters.bindMemory(to: UInt8.self).span)
        guard name != .other || !letters.contains(where: { $0 <= 0x20 || $0 == 0x7f }) else {
            throw .badHeaders(detail: "a blank in a header name")
        }
        guard colon < line.count, colon > 0 else { throw .badHeaders(detail: "a header line without a name") }
        let value = UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmingBlanks
        let start = value.baseAddress! - line.baseAddress!
        let whole = UnsafeRawBufferPointer(rebasing: line[..<(start + value.count)])
        fields.append(name, line: whole, colon: colon, value: start)
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

/// The first line of a head in libcurl's form: "HTTP/1.1 200 OK", "HTTP/2 200 ".
struct StatusLine: Equatable {
    var protocolName: String
    var status: Int
    var reason: String

    /// Whether the status excludes a body, whatever length the fields announce.
    var hasNoBody: Bool { status == 204 || status == 304 }

    /// Parses a status line. Throws for a status outside 100...599; libcurl accepts any three digits.
    init(_ line: UnsafeRawBufferPointer) throws(TransferError) {
        guard let start = line.baseAddress, let blank = memchr(start, 0x20, line.count) else {
            throw .badHeaders(detail: "no HTTP status line")
        }
        let word = UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(blank) - start)
        guard let name = Self.protocolName(word) else { throw .badHeaders(detail: "no HTTP status line") }
        var at = word.count + 1
        let first = at
        var status = 0
        while at < line.count, line[at] != 0x20 {
            guard at < first + 3, line[at] &- 0x30 < 10 else {
                throw .badHeaders(detail: "a status that is not three digits")
            }
            status = status * 10 + Int(line[at] - 0x30)
            at += 1
        }
        guard at == first + 3 else { throw .badHeaders(detail: "a status that is not three digits") }
        guard 100...599 ~= status else { throw .badHeaders(detail: "status \(status)") }
        self.status = status
        protocolName = name
        let rest = UnsafeRawBufferPointer(rebasing: line[min(at + 1, line.count)...])
        reason = rest.isText("OK") ? "OK" : String(decoding: rest, as: UTF8.self)
    }

    private static func protocolName(_ word: UnsafeRawBufferPointer) -> String? {
        if word.isText("HTTP/1.1") { return "HTTP/1.1" }
        if word.isText("HTTP/2") { return "HTTP/2" }
        if word.isText("HTTP/1.0") { return "HTTP/1.0" }
        if word.isText("HTTP/3") { return "HTTP/3" }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    @inline(__always)
    fileprivate func isText(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && (count == 0 || memcmp(baseAddress!, text.utf8Start, count) == 0)
    }
}
