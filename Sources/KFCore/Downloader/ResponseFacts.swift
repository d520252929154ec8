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

/// How long the parts of a transfer took, and how much it brought.
public struct DownloadMetrics: Sendable {
    /// The lookup of the name; zero where a connection was there already. Of redirects all are summed up.
    public var dns = Duration.zero
    /// The handshake of TCP alone.
    public var connect = Duration.zero
    /// The handshake of TLS alone; zero without TLS.
    public var tls = Duration.zero
    /// From the last request to the first byte of its answer.
    public var firstByte = Duration.zero
    /// From the start to the end; what it waited for a connection to come free is not in it.
    public var total = Duration.zero
    /// Bytes of the body.
    public var receivedBytes: Int64 = 0
    /// `HTTP/1.1` or `HTTP/2`.
    public var protocolName = ""
    /// Of the server that answered.
    public var remoteAddress = ""
    /// How many were followed.
    public var redirects = 0

    init() {}
}
