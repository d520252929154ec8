/// How a transfer is made, and its limits.
public struct TransferOptions: Hashable, Sendable {
    /// The time limit for connecting, and for any span that brings less than 1 KiB. Nil waits for ever; 0 stands for 15 s,
    /// as in Kingfisher.
    public var timeout: Duration? = .seconds(15) {
        didSet { if let timeout, timeout <= .zero { self.timeout = .seconds(15) } }
    }
    /// The time limit for the whole transfer, redirects included, from its start; nil is unlimited.
    public var maxTime: Duration?
    /// The number of redirects to follow; one more is an error.
    public var maxRedirects = 10
    /// The limit for the body, in bytes. A longer announced length is refused before the body.
    public var maxBytes: Int64 = 256 << 20
    /// The User-Agent header.
    public var userAgent = "kf"
    /// Sent only to the origin (scheme, host, port) of the URL, unless the URL has its own: by the Basic scheme, or by
    /// Digest when the server asks for it. Part of the cache key.
    public var credentials: Credentials?
    /// A netrc file with credentials for each host; empty names `~/.netrc`, nil uses none. Each host gets its own. The
    /// content of the whole file is part of the cache key.
    public var netrcFile: String?
    /// A Netscape cookie file. libcurl reads it before the first transfer, sends each host its cookies, and writes the file
    /// when the engine shuts down; nil ignores cookies. Its path and cookies are part of the cache key.
    public var cookieJar: String?
    /// The proxy for all hosts, in place of the environment's; empty uses none, nil reads the environment as curl does.
    public var proxy: String?
    /// A PEM file of the certificate authorities to trust in place of the system's, for an https proxy as well. Its
    /// content is part of the cache key.
    public var caFile: String?
    /// Hosts whose certificates are not checked, in lower case and without a port. Part of the cache key.
    public var trustedHosts: Set<String> = []
    /// Does not offer HTTP/2.
    public var forcesHTTP11 = false
    /// Refuses addresses that are not on the public internet, when the socket is opened. A proxy named in `proxy` is
    /// exempt; a proxy of the environment is refused. Part of the cache key, so that images from private addresses are not
    /// served from the cache either.
    public var deniesPrivateAddresses = false

    /// Credentials of further hosts (lower case, with the port unless it is the scheme's default), also after a redirect.
    package var hostCredentials: [String: Credentials] = [:]
    /// Hosts that are reached without the proxy, in the form of NO_PROXY. Nil: none with a `proxy`, else the environment's.
    package var noProxy: String?
    package var usesEnvironmentProxies = true
    /// The final statuses that are delivered, beside the 206 and 304 that `TransferRequest` asks for.
    package var acceptedStatus: Set<Int> = [200, 203]

    /// The defaults.
    public init() {}
}

/// A user name and password for HTTP authentication.
public struct Credentials: Hashable, Sendable {
    /// The name, not percent-encoded.
    public let user: String
    /// The password, not percent-encoded. It is never stored or shown.
    public let password: String

    /// Takes both as they are, not percent-encoded.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

/// Options that all transfers of a batch share. A libcurl handle that was set up from the same object needs no new setup,
/// and comparing two objects costs no comparison of their fields.
package final class TransferTerms: Sendable {
    package let options: TransferOptions
    /// The timeout in nanoseconds; the greatest number for none.
    let timeoutSpan: Int64
    private let acceptsOK: Bool

    package init(_ options: TransferOptions = TransferOptions()) {
        self.options = options
        timeoutSpan = options.timeout?.saturatedNanoseconds ?? .max
        acceptsOK = options.acceptedStatus.contains(200)
    }

    static let standard = TransferTerms()

    /// Whether a response with this status is delivered. Does not hash 200, the status of nearly every response.
    func accepts(_ status: Int) -> Bool { status == 200 ? acceptsOK : options.acceptedStatus.contains(status) }
}

/// The limits of an engine. Transfers beyond them wait without a libcurl handle.
package struct EngineConfiguration: Sendable {
    /// Transfers at once, over all hosts.
    package var maxConnections = 64
    /// Transfers at once to one host and port.
    package var maxPerHost = standardPerHost
    /// Starts per second to one host and port; nil is unlimited.
    package var ratePerHost: Double?
    /// Resolver threads at once. Threads that still wait for a dead name server after their transfer has timed out count
    /// too.
    package var maxResolverThreads = 96
    /// The size of a read from a socket, in bytes. Loopback is no faster beyond 64 KiB, and malloc maps and unmaps buffers
    /// of 128 KiB and more for every transfer.
    package var receiveBufferSize = 64 << 10

    /// The number of transfers that a host gets at once unless a limit is given: browsers open 6 connections to a host.
    package static let standardPerHost = 8

    package init() {}
}
