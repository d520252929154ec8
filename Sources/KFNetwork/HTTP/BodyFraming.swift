/// What tells that a body is whole.
package enum BodyFraming: Sendable, Equatable {
    /// Content-Length said how long it is.
    case length(Int64)
    /// The last chunk ends it.
    case chunked
    /// HTTP/2 marks its end, and said no length.
    case stream
    /// Nothing but the closing of the connection, so a body that broke off looks like a whole one. Whoever knows the
    /// content has to check it.
    case untilClose
}

extension BodyFraming {
    /// Reads the framing off the fields of a final head.
    ///
    /// Two different lengths are refused (libcurl takes the last), as are lengths that are not plain digits or do not
    /// fit 63 bits, and codings that nobody asked for.
    init(fields: HeaderFields, isHTTP2: Bool) throws(HeadFault) {
        // What nearly every head is like.
        if let length = fields.plainNumber(.contentLength), !fields.contains(.transferEncoding) {
            self = .length(length)
            return
        }
        var length: Int64?
        for value in fields.all(.contentLength) {
            // Repeated fields may have been joined on the way.
            let items =
                value.utf8.contains(0x2c) ? value.split(separator: ",", omittingEmptySubsequences: false) : [value[...]]
            for item in items {
                let one = try Self.parseLength(item.trimmingBlanks)
                if let length, length != one { throw .conflictingLength }
                length = one
            }
        }
        var isChunked = false
        for value in fields.all(.transferEncoding) {
            for item in value.split(separator: ",") {
                switch item.trimmingBlanks.lowercased() {
                case "chunked": isChunked = true
                case "identity", "": break
                case let other: throw .coding(other)
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

    private static func parseLength(_ text: Substring) throws(HeadFault) -> Int64 {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
            throw .malformed("a Content-Length that is no number")
        }
        guard let length = Int64(text) else { throw .malformed("a Content-Length past 63 bits") }
        return length
    }
}

extension HeaderFields {
    /// Whether they tell where the body ends, so that its end need not be that of the connection.
    var delimitBody: Bool { contains(.contentLength) || contains(.transferEncoding) }
}

extension StringProtocol where SubSequence == Substring {
    var trimmingBlanks: Substring {
        var slice = self[...]
        while let first = slice.utf8.first, first == 0x20 || first == 0x09 { slice = slice.dropFirst() }
        while let last = slice.utf8.last, last == 0x20 || last == 0x09 { slice = slice.dropLast() }
        return slice
    }
}

/// What is wrong with a response head.
enum HeadFault: Error, Equatable {
    case malformed(String)
    case conflictingLength
    /// A transfer coding that was not asked for, or the content coding of a part.
    case coding(String)
}
