import KFNetwork

/// The facts about a response. Copies share the response's head; values are read from it on access.
public struct ResponseFacts: Sendable {
    private let response: TransferResponse
    /// The URL of the mirror that was asked, before redirects; nil if the URL of the source was asked.
    public package(set) var mirror: String?

    package init(_ head: ResponseHead, _ metrics: DownloadMetrics = DownloadMetrics()) {
        response = TransferResponse(head: head, metrics: metrics)
    }

    package init(_ response: TransferResponse) { self.response = response }

    /// The status code.
    public var status: Int { response.head.status }
    /// The URL that answered, after redirects, without user info and fragment.
    public var url: String { response.head.effectiveURL }
    /// The ETag header as the server sent it; nil when there is none.
    public var etag: String? { fields[.etag] }
    /// The Last-Modified header as the server sent it; nil when there is none.
    public var lastModified: String? { fields[.lastModified] }
    /// The timing and sizes of the transfer.
    public var metrics: DownloadMetrics { response.metrics }
    /// The header fields in their order, with the names as the server sent them. Each access parses them again.
    public var headers: [(name: String, value: String)] { fields.pairs }

    /// Returns the first value of a header; nil when there is none. The case of the name does not matter.
    public func header(_ name: String) -> String? { fields[name] }

    /// The header fields that determine the freshness of this response alone.
    package var freshness: HeaderLines { fields.freshness(of: status) }
    /// The header fields that may opt out.
    var optOut: HeaderLines { fields.optOut }
    /// The redirects that led to the response.
    package var redirects: [Redirect] { response.head.via }
    /// The Content-Encoding header as the server sent it; nil when there is none. Bodies in gzip and deflate have been
    /// decoded.
    package var encoding: String? { fields[.contentEncoding] }

    private var fields: HeaderFields { response.head.headers }
}

extension Redirect {
    /// The header fields that determine the freshness of the redirect.
    package var freshness: HeaderLines { headers.freshness(of: status) }
}

extension HeaderFields {
    /// Returns the fields that RFC 9111 uses, with the status of their response.
    fileprivate func freshness(of status: Int) -> HeaderLines {
        HeaderLines(lines(of: [.cacheControl, .expires, .date, .age, .vary])).of(status: status)
    }
}
