import KFNetwork

/// What the cache and the user want to know of a response.
public struct ResponseFacts: Sendable {
    /// The status code.
    public let status: Int
    /// The ETag header as it came; nil when there is none.
    public let etag: String?
    /// The Last-Modified header as it came; nil when there is none.
    public let lastModified: String?
    /// The fields of its head.
    let fields: HeaderFields
    /// The header lines that decide about freshness.
    let freshness: HeaderLines
    /// The Content-Encoding header as it came; nil when there is none. gzip and deflate have been decoded.
    let encoding: String?
    /// How long it took.
    public let metrics: DownloadMetrics

    /// All header fields in their order, with the names as they were sent. They are read anew each time.
    public var headers: [(name: String, value: String)] { fields.pairs }

    /// The first value of a header, whose name may be in any case; nil when there is none.
    public func header(_ name: String) -> String? { fields[name] }
}

extension ResponseFacts {
    /// The header fields that RFC 9111 decides by.
    private static let kept = ["cache-control", "expires", "date", "age", "vary"]

    init(_ head: ResponseHead, _ metrics: DownloadMetrics = DownloadMetrics()) {
        let headers = head.headers
        status = head.status
        fields = headers
        etag = headers["etag"]
        lastModified = headers["last-modified"]
        freshness = HeaderLines(Self.kept.flatMap { name in headers.all(name).map { (name, $0) } })
            .of(status: head.status)
        encoding = headers["content-encoding"]
        self.metrics = metrics
    }
}
