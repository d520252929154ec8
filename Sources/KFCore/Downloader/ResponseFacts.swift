import KFNetwork

/// The facts about a response.
public struct ResponseFacts: Sendable {
    /// The status code.
    public let status: Int
    /// The URL that answered, after redirects, without user info and fragment.
    public let url: String
    /// The ETag header as the server sent it; nil when there is none.
    public let etag: String?
    /// The Last-Modified header as the server sent it; nil when there is none.
    public let lastModified: String?
    /// All header fields.
    let fields: HeaderFields
    /// The header fields that determine the freshness of this response alone.
    let freshness: HeaderLines
    /// The redirects that led to the response.
    let redirects: [Redirect]
    /// The Content-Encoding header as the server sent it; nil when there is none. Bodies in gzip and deflate have been
    /// decoded.
    let encoding: String?
    /// The timing and sizes of the transfer.
    public let metrics: DownloadMetrics

    /// The header fields in their order, with the names as the server sent them. Each access parses them again.
    public var headers: [(name: String, value: String)] { fields.pairs }

    /// Returns the first value of a header; nil when there is none. The case of the name does not matter.
    public func header(_ name: String) -> String? { fields[name] }
}

extension ResponseFacts {
    init(_ head: ResponseHead, _ metrics: DownloadMetrics = DownloadMetrics()) {
        let headers = head.headers
        status = head.status
        url = head.effectiveURL
        fields = headers
        etag = headers["etag"]
        lastModified = headers["last-modified"]
        freshness = headers.freshness.of(status: head.status)
        redirects = head.via
        encoding = headers["content-encoding"]
        self.metrics = metrics
    }
}

extension Redirect {
    /// The header fields that determine the freshness of the redirect.
    var freshness: HeaderLines { headers.freshness.of(status: status) }
}

extension HeaderFields {
    /// The fields that RFC 9111 uses.
    fileprivate var freshness: HeaderLines {
        HeaderLines(
            ["cache-control", "expires", "date", "age", "vary"].flatMap { name in all(name).map { (name, $0) } })
    }
}
