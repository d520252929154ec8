/// How an origin is asked for an image.
public struct RequestOptions: Sendable {
    /// To connect, and any such span that brings less than 1 KiB; nil waits for ever.
    public var timeout: Duration? = .seconds(15)
    /// For the whole transfer; nil is no limit.
    public var maxTime: Duration?
    /// As many redirects are followed; one more is an error.
    public var maxRedirects = 10
    /// In bytes of one response.
    public var maxBytes: Int64 = 256 << 20
    /// The User-Agent header.
    public var userAgent = "kf"
    /// Sent as they are; Authorization and Cookie to the first host alone.
    public var headers: [(name: String, value: String)] = []
    /// For the host of the URL, unless the URL brings its own.
    public var credentials: Credentials?
    /// Look for credentials in this file, or in ~/.netrc if it is empty; nil looks nowhere.
    public var netrcFile: String?
    /// Used for every host, whatever the environment says; empty is none, nil goes by the environment as curl does.
    public var proxy: String?
    /// PEM certificates of the authorities to trust in place of the system's.
    public var caFile: String?
    /// Hosts whose certificates are not checked, in lower case and without a port.
    public var trustedHosts: Set<String> = []
    /// Does not offer HTTP/2.
    public var forcesHTTP11 = false
    /// Refuses addresses that are not on the public internet, where the socket is opened.
    public var deniesPrivateAddresses = false
    /// From 0 to 1; the larger goes first among those that wait.
    public var priority: Float = 0.5
    /// The key of what comes is the URL without its query: for signatures and the like that change each time.
    public var ignoresQuery = false
    /// Changes the request ahead of its being made.
    public var modifier: (any ImageDownloadRequestModifier)?
    /// Has a say in redirects.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?

    /// Sees the pieces of a body as they come, on the network's thread; of joined requests, the first one's does. The
    /// buffer is valid during the call.
    public var onDataReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    /// The defaults.
    public init() {}
}
