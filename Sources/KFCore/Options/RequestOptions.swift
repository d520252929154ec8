/// How an origin is asked for an image.
public struct RequestOptions: Sendable {
    /// To connect, and any such span that brings less than 1 KiB; nil waits for ever, and 0 is 15 s, as in Kingfisher.
    public var timeout: Duration? = .seconds(15) {
        didSet { if let timeout, timeout <= .zero { self.timeout = .seconds(15) } }
    }
    /// For the whole transfer; nil is no limit.
    public var maxTime: Duration?
    /// As many redirects are followed; one more is an error.
    public var maxRedirects = 10
    /// In bytes of one response.
    public var maxBytes: Int64 = 256 << 20
    /// The User-Agent header.
    public var userAgent = "kf"
    /// Sent as they are to the origin (scheme, host, port) of the URL. Redirects and alternatives to other origins get
    /// only fields that hold no secret, such as Accept. Each header is part of the cache key unless it is neutral: see
    /// <doc:Identity>.
    public var headers: [(name: String, value: String)] = []
    /// Sent to the origin of the URL alone, unless the URL has its own. Part of the cache key.
    public var credentials: Credentials?
    /// Look for credentials in this file, or in ~/.netrc if it is empty; nil looks nowhere. libcurl sends each host its
    /// own; the content of the whole file is part of the cache key.
    public var netrcFile: String?
    /// Used for every host, whatever the environment says; empty is none, nil goes by the environment as curl does.
    public var proxy: String?
    /// PEM certificates of the authorities to trust in place of the system's. Part of the cache key, by their content.
    public var caFile: String?
    /// Hosts whose certificates are not checked, in lower case and without a port. Part of the cache key.
    public var trustedHosts: Set<String> = []
    /// Does not offer HTTP/2.
    public var forcesHTTP11 = false
    /// Refuses addresses that are not on the public internet, where the socket is opened. Part of the cache key: what
    /// another call has fetched from a private address is not served either.
    public var deniesPrivateAddresses = false
    /// From 0 to 1; the larger goes first among those that wait.
    public var priority: Float = 0.5
    /// The key of what comes is the URL without its query: for signatures and the like that change each time.
    public var ignoresQuery = false
    /// Names of query parameters that are not part of the key, for signed URLs: `*`, `?` and `[…]` match as in a shell.
    /// The request has them all the same.
    public var ignoredParameters: [String] = []
    /// The text of a URL in the key, in place of its normal form; the two options above are not looked at then. URLs with
    /// the same text share one image. Everything that identifies the requester stays part of the key. Called once or more
    /// for each call, from any thread.
    public var cacheKeyFilter: (@Sendable (RequestURL) -> String)?
    /// Changes the request before the caches are asked, or, if it names an identity, before the transfer.
    public var modifier: (any ImageDownloadRequestModifier)?
    /// Has a say in redirects.
    public var redirectHandler: (any ImageDownloadRedirectHandler)?

    /// Sees every piece of the body as it comes, on the network's thread. A call with it has a transfer of its own. The
    /// buffer is valid during the call.
    public var onDataReceived: (@Sendable (UnsafeRawBufferPointer) -> Void)?

    /// What the modifier made of the request, once it has run.
    var prepared: PreparedRequest?
    /// The identity that the downloader's challenge responder names.
    var responderIdentity: String?

    /// The defaults.
    public init() {}
}
