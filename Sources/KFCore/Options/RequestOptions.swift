/// How an origin is asked for an image.
public struct RequestOptions: Sendable {
    /// To connect, and any such span that brings less than 1 KiB; nil waits for ever.
    public var timeout: Duration? = .seconds(15)
    /// For the whole transfer; nil is no limit.
    public var maxTime: Duration?
    public var maxRedirects = 10
    /// In bytes of one response.
    public var maxBytes: Int64 = 256 << 20
    public var userAgent = "kf"
    public var headers: [(name: String, value: String)] = []
    /// From 0 to 1; the larger goes first among those that wait.
    public var priority: Float = 0.5

    public init() {}
}
