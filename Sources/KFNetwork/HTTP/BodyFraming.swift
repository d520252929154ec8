/// The way in which the end of a body is recognized.
package enum BodyFraming: Sendable, Equatable {
    /// By its Content-Length.
    case length(Int64)
    /// By the last chunk.
    case chunked
    /// By the end of an HTTP/2 stream without a Content-Length.
    case stream
    /// By the closing of the connection. A truncated body then looks complete, so the content itself must be checked.
    case untilClose
}

extension BodyFraming {
    /// Reads the framing from the fields of a final head.
    ///
    /// Throws for two different lengths (libcurl takes the last), for a length that is not plain digits or exceeds 63
    /// bits, and for an unrequested transfer coding.
    init(fields: HeaderFields, isHTTP2: Bool) throws(TransferError) {
        // The case of nearly every head.
        if let length = fields.plainNumber(.contentLength), !fields.contains(.transferEncoding) {
            self = .length(length)
            return
        }
        var length: Int64?
        for value in fields.all(.contentLength) {
            // An intermediary may have joined repeated fields.
            let items =
                value.utf8.contains(0x2c) ? value.split(separator: ",", omittingEmptySubsequences: false) : [value[...]]
            for item in items {
                let one = try Self.parseLength(item.trimmingBlanks)
                if let length, length != one { throw .badHeaders(detail: "two different Content-Length values") }
                length = one
            }
        }
        var isChunked = false
        for value in fields.all(.transferEncoding) {
            for item in value.split(separator: ",") {
                switch item.trimmingBlanks.lowercased() {
                case "chunked": isChunked = true
                case "identity", "": break
                case let other: throw .contentEncoding(other)
                }
            }
        }
        if isHTTP2 {
            self = length.map { .length($0) } ?? .stream
        } else if isChunked {
            self = .chunked
        } else {
            self = length.map { .length($0) } ?? .untilClose
        }
    }

    private static func parseLength(_ text: Substring) throws(TransferError) -> Int64 {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw .badHeaders(detail: "a Content-Length that is not a number")
        }
        guard let length = Int64(text) else { throw .badHeaders(detail: "a Content-Length that exceeds 63 bits") }
        return length
    }
}

extension HeaderFields {
    /// Whether the fields delimit the body, so that the connection need not close at its end.
    var delimitBody: Bool { contains(.contentLength) || contains(.transferEncoding) }
}
