import KFImaging
import KFStorage

/// What a transfer brought, checked: an image's bytes, whole.
struct DownloadedImage: Sendable {
    let bytes: PendingBytes
    let format: ImageFormat
    /// Nil for formats that kf recognises and cannot read.
    let info: ImageInfo?
    /// In bytes.
    let size: Int64
    /// Nil for what no server sent.
    let response: ResponseFacts?
}

/// What the cache and the user want to know of a response.
public struct ResponseFacts: Sendable {
    public let status: Int
    public let etag: String?
    public let lastModified: String?
    /// The header lines that decide about freshness.
    let freshness: String?
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

    public init() {}
}
