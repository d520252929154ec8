/// What the cache and the user want to know of a response.
public struct ResponseFacts: Sendable {
    public let status: Int
    public let etag: String?
    public let lastModified: String?
    /// The header lines that decide about freshness.
    let freshness: HeaderLines
    public let metrics: DownloadMetrics
}

/// How long the parts of a transfer took, and how much it brought.
public struct DownloadMetrics: Sendable {
    public var dns = Duration.zero
    public var connect = Duration.zero
    public var tls = Duration.zero
    public var firstByte = Duration.zero
    public var total = Duration.zero
    public var receivedBytes: Int64 = 0
    /// `HTTP/1.1` or `HTTP/2`.
    public var protocolName = ""
    /// Of the server that answered.
    public var remoteAddress = ""
    public var redirects = 0

    public init() {}
}
