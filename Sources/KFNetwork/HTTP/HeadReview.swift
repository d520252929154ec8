/// The decision about a final head, unless it is refused.
enum HeadReview {
    case deliver(BodyFraming)
    case follow(TransferURL)
    /// The status is an error.
    case fail

    /// The parts of the request that the decision depends on.
    struct Terms {
        let method: TransferMethod
        let isSigned: Bool
        let transfer: TransferTerms
        let isConditional: Bool
        let resumption: TransferRequest.Resumption?
        let redirects: Int

        /// Whether redirects are followed. A PUT must not become a GET, and a signature is good for one host and path.
        var followsRedirects: Bool { method == .get && !isSigned }
    }

    init(
        status: StatusLine, fields: HeaderFields, from url: TransferURL, terms: Terms
    ) throws(TransferError) {
        switch status.status {
        case 301, 302, 303, 307, 308:
            guard terms.followsRedirects, let location = fields[.location], !location.isEmpty else {
                self = .fail
                return
            }
            self = .follow(try Self.target(location, from: url, after: terms.redirects, terms.transfer))
        case 304 where !terms.isConditional: throw .unexpectedStatus(304)
        case 304: self = .deliver(.length(0))
        case 206 where terms.resumption == nil && !terms.transfer.accepts(206): throw .unexpectedStatus(206)
        case let code where terms.transfer.accepts(code) && (terms.method == .head || status.hasNoBody):
            // The fields may announce the length of a body that is not sent.
            self = .deliver(.length(0))
        case let code where code == 206 || terms.transfer.accepts(code):
            self = .deliver(try Self.framing(status: status, fields: fields, terms: terms))
        default: self = .fail
        }
    }

    /// Returns the target of a redirect that may be followed after a number of others.
    static func target(
        _ location: String, from url: TransferURL, after redirects: Int, _ terms: TransferTerms
    ) throws(TransferError) -> TransferURL {
        guard let target = try? TransferURL(location, relativeTo: url) else { throw .invalidRedirect }
        guard target.origin.isHTTP else { throw .forbiddenRedirectScheme(target.origin.scheme) }
        guard target.origin.isSecure || !url.origin.isSecure else {
            throw .insecureRedirect(host: target.origin.authority)
        }
        let limit = terms.options.maxRedirects
        guard redirects < limit else { throw .tooManyRedirects(limit: limit) }
        return target
    }

    private static func framing(
        status: StatusLine, fields: HeaderFields, terms: Terms
    ) throws(TransferError) -> BodyFraming {
        var framing = try BodyFraming(fields: fields, isHTTP2: status.protocolName == "HTTP/2")
        // A part of an encoded body cannot continue the partial body.
        if status.status == 206, let name = ContentCoding(fields).name { throw .contentEncoding(name) }
        var before: Int64 = 0
        if status.status == 206, let resumption = terms.resumption {
            // A chunked response does not announce its length; the range does.
            framing = .length(try RangeReview.length(fields: fields, framing: framing, resumption: resumption))
            before = resumption.offset
        }
        let limit = terms.transfer.options.maxBytes
        if case .length(let length) = framing, length > limit - before { throw .tooLarge(limit: limit) }
        return framing
    }
}

/// Checks that a 206 continues the partial body (RFC 9110, 15.3.7.3), of which libcurl checks nothing.
///
/// Bytes of two representations would make a damaged image that no check detects. So all of these must match: the
/// validator, the media type, and the range from the first missing byte to the last one. The range was requested only from
/// the URL that sent the first part.
enum RangeReview {
    /// Returns the number of bytes that the response must contain.
    static func length(
        fields: HeaderFields, framing: BodyFraming, resumption: TransferRequest.Resumption
    ) throws(TransferError) -> Int64 {
        try checkValidator(fields, resumption.validator)
        try checkType(fields.all(.contentType), resumption.contentType)
        let values = fields.all(.contentRange)
        guard values.count == 1, let range = ContentRange(values[0]) else {
            throw .badHeaders(detail: "no usable Content-Range")
        }
        guard range.first == resumption.offset else {
            throw .badHeaders(detail: "a Content-Range that starts elsewhere")
        }
        if let total = range.total, let expected = resumption.total, total != expected {
            throw .badHeaders(detail: "a Content-Range with another total")
        }
        guard let total = range.total ?? resumption.total else {
            throw .badHeaders(detail: "a Content-Range without a total")
        }
        guard range.last == total - 1 else { throw .badHeaders(detail: "a Content-Range that ends early") }
        let length = range.last - range.first + 1
        if case .length(let announced) = framing, announced != length {
            throw .badHeaders(detail: "a Content-Range that does not match the Content-Length")
        }
        return length
    }

    /// Compares the validator byte for byte, so that a weak tag differs from a strong one. A server that sent an ETag
    /// with the whole body must send it with a part (15.3.7). An ETag that appears only with the part is refused.
    private static func checkValidator(_ fields: HeaderFields, _ validator: String) throws(TransferError) {
        let isTag = validator.hasPrefix("\"")
        guard fields.all(.etag) == (isTag ? [validator] : []) else {
            throw .badHeaders(detail: "a partial response with another ETag")
        }
        guard isTag || fields.all(.lastModified) == [validator] else {
            throw .badHeaders(detail: "a partial response with another Last-Modified")
        }
    }

    /// Compares the media type, which a response to If-Range may omit (15.3.7). Multipart bodies were not requested.
    private static func checkType(_ values: [String], _ expected: String?) throws(TransferError) {
        guard let type = values.first else { return }
        guard values.count == 1, type == expected, !type.lowercased().hasPrefix("multipart/") else {
            throw .badHeaders(detail: "a partial response with another Content-Type")
        }
    }
}

/// The field `Content-Range: bytes first-last/total` of a 206.
struct ContentRange: Equatable {
    var first: Int64
    var last: Int64
    /// The total; nil for `*`.
    var total: Int64?

    /// Parses the field; nil unless it is well-formed and first ≤ last < total.
    init?(_ text: String) {
        let words = text[...].trimmingBlanks.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].trimmingBlanks.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        if halves[1] == "*" {
            total = nil
        } else {
            guard let total = Self.number(halves[1]), last < total else { return nil }
            self.total = total
        }
        self.first = first
        self.last = last
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { $0 &- 0x30 < 10 } ? Int64(text) : nil
    }
}
