import Glibc
import KFSystem

/// Options and limits of a transfer.
public struct TransferOptions: Hashable, Sendable {
    /// The time limit for connecting, and for any span in which less than 1 KiB arrives. Nil waits for ever; 0 means
    /// 15 s, as in Kingfisher.
    public var timeout: Duration? = .seconds(15) {
        didSet { if let timeout, timeout <= .zero { self.timeout = .seconds(15) } }
    }
    /// The time limit for the whole transfer from its start, with all redirects; nil is unlimited.
    public var maxTime: Duration?
    /// The greatest number of redirects to follow; one more is an error.
    public var maxRedirects = 10
    /// The greatest size of a body, in bytes. A greater announced length is refused before the body is read.
    public var maxBytes: Int64 = 256 << 20
    /// The User-Agent header.
    public var userAgent = "kf/\(Version.number)"
    /// Credentials, sent only to the origin (scheme, host, port) of the URL; those in the URL itself take precedence.
    /// Sent as ``authentication`` says. Part of the cache key.
    public var credentials: Credentials?
    /// How a password is proved to the servers of origins. Part of the cache key, with credentials: an origin may serve
    /// another image to a request without any.
    public var authentication = AuthenticationMethod.basic
    /// A client certificate, presented to a server of the URL's own origin that requests one, in the first handshake. Its
    /// file is part of the cache key, by its content.
    public var clientCertificate: ClientCertificate?
    /// A netrc file with credentials per host; an empty path means `~/.netrc`, nil uses none. Each host gets only its
    /// own credentials. The content of the whole file is part of the cache key.
    public var netrcFile: String?
    /// A Netscape cookie file. libcurl reads it before the first transfer, sends each host its cookies, and writes the file
    /// when the engine shuts down; nil ignores cookies. Must be a regular file or not exist. Its absolute path and cookies
    /// are part of the cache key.
    public var cookieJar: String? {
        didSet { cookieJar = cookieJar.map(Self.resolved) }
    }
    /// The proxy for all hosts, in place of the environment's. Empty uses none; nil reads the environment as curl does.
    public var proxy: String?
    /// A PEM file of certificate authorities that replace the system's, also for an https proxy. Its content is part of
    /// the cache key.
    public var caFile: String?
    /// A PEM file with the certificate authorities of the system, where libcurl's default is not right; ``caFile`` comes
    /// first. As the system's own file, it is no part of the cache key.
    public var systemCAFile: String?
    /// Hosts whose certificates are not verified, in lower case and without a port. Part of the cache key.
    public var trustedHosts: Set<String> = []
    /// Whether only HTTP/1.1 is used; HTTP/2 is then not offered.
    public var forcesHTTP11 = false
    /// Whether addresses outside the public internet are refused when the socket is opened. A proxy set in `proxy` is
    /// exempt; a proxy of the environment is refused.
    ///
    /// Part of the cache key, so that images from private addresses are not served from the cache either.
    public var deniesPrivateAddresses = false

    /// The time limit for connecting alone, with the name lookup and TLS; nil is `timeout`.
    package var connectTimeout: Duration?
    /// Hosts reached without the proxy, in the syntax of NO_PROXY. Nil means none if `proxy` is set, else the
    /// environment's list.
    package var noProxy: String?
    package var usesEnvironmentProxies = true
    /// The final statuses whose bodies are delivered, in addition to the 206 and 304 that `TransferRequest` asks for.
    package var acceptedStatus: [Int] = [200, 203]

    /// Creates options with the default values.
    public init() {}

    /// The path of the netrc file; nil without one.
    package var netrcPath: String? {
        guard netrcFile?.isEmpty == true else { return netrcFile }
        let home = getenv("HOME").map { RawText.decode($0) } ?? Self.userHome
        return "\(home ?? "")/.netrc"
    }

    /// The home that the system knows of the user. Asked once: the answer lies in memory that all calls share.
    private static let userHome = getpwuid(getuid())?.pointee.pw_dir.map { RawText.decode($0) }

    /// Returns the absolute path without symbolic links, so that one file has one name; the path as it is if its folder
    /// cannot be resolved.
    private static func resolved(_ path: String) -> String {
        if let whole = realPath(path) { return whole }
        // A path that ends in a slash names no file; opening it says so.
        let name = path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
        guard !name.isEmpty, let folder = realPath("\(path[..<name.startIndex]).") else { return path }
        return "\(folder)/\(name)"
    }

    private static func realPath(_ path: String) -> String? {
        guard let found = path.withPath({ realpath($0, nil) }) else { return nil }
        defer { free(found) }
        return RawText.decode(found)
    }
}

/// The way in which a password is proved to an origin. What a server has asked for is remembered: after a challenge for
/// Digest, the password itself does not go to that origin again.
public enum AuthenticationMethod: String, CaseIterable, Sendable {
    /// The first request has the password, by the Basic scheme.
    case basic
    /// The first request has no password, and only challenges for Digest are answered.
    case digest
    /// The first request has no password, and the strongest challenge is answered: Digest, else Basic.
    case any
}

/// A user name and password for HTTP authentication.
public struct Credentials: Hashable, Sendable {
    /// The user name, not percent-encoded.
    public let user: String
    /// The password, not percent-encoded. It is never stored or shown.
    public let password: String

    /// Creates credentials from a name and a password, neither percent-encoded.
    public init(user: String, password: String) {
        self.user = user
        self.password = password
    }
}

/// Options that all transfers of a batch share. They are an object, so that one comparison of references shows that a
/// libcurl handle is already set up for them.
package final class TransferTerms: Sendable {
    package let options: TransferOptions
    /// The timeout in nanoseconds; `Int64.max` without one.
    let timeoutSpan: Int64
    /// The time limit for connecting in nanoseconds; `Int64.max` without one.
    let connectSpan: Int64
    private let acceptsOK: Bool

    package init(_ options: TransferOptions = TransferOptions()) {
        self.options = options
        timeoutSpan = options.timeout?.saturatedNanoseconds ?? .max
        connectSpan = (options.connectTimeout ?? options.timeout)?.saturatedNanoseconds ?? .max
        acceptsOK = options.acceptedStatus.contains(200)
    }

    static let standard = TransferTerms()

    func trusts(_ host: String) -> Bool { !options.trustedHosts.isEmpty && options.trustedHosts.contains(host) }

    /// Returns whether the body of a response with this status is delivered. 200, nearly every status, is not hashed.
    func accepts(_ status: Int) -> Bool { status == 200 ? acceptsOK : options.acceptedStatus.contains(status) }
}

/// The limits of an engine. Transfers beyond them wait without a libcurl handle.
package struct EngineConfiguration: Sendable {
    /// The greatest number of concurrent transfers over all hosts.
    package var maxConnections = 64
    /// The greatest number of concurrent transfers to one host and port.
    package var maxPerHost = standardPerHost
    /// The greatest number of starts per second to one host and port; nil is unlimited.
    package var ratePerHost: Double?
    /// The rates of single hosts in place of `ratePerHost`, by the names of their queues (`Origin.authority`).
    package var ratesByHost: [String: Double] = [:]
    /// The number of failures in a row that opens the circuit of a host; 0 never does. Transfers to it then end with
    /// `.circuitOpen` without a request, for `circuitSpan`.
    package var failuresToOpenCircuit = 0
    package var circuitSpan = Duration.seconds(60)
    /// Called with the hosts that get no requests for a while, and again when the first transfer waits for that. Called on the
    /// I/O thread; must not block.
    package var onHostRest: (@Sendable ([(host: String, rest: HostRest, isAwaited: Bool)]) -> Void)?
    /// The greatest rate at which bodies arrive, in bytes per second over all transfers; nil is unlimited.
    package var bytesPerSecond: Int64?
    /// The greatest number of resolver threads. Threads that outlive their timed-out transfer, waiting for a dead name
    /// server, count too.
    package var maxResolverThreads = 96
    /// The size of a read from a socket, in bytes. Reading 200 MB from loopback costs 12 % less processor time than with
    /// 64 KiB, and no less beyond. malloc maps and unmaps buffers of 128 KiB and more for every transfer.
    package var receiveBufferSize = 96 << 10

    /// The default number of concurrent transfers to a host; browsers open 6 connections to a host.
    package static let standardPerHost = 8

    package init() {}

    /// The number of connections that are kept while they are idle: fewer under a low limit on descriptors, which other
    /// engines and files need too.
    var keptConnections: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < 1024 else {
            return maxConnections
        }
        return max(1, min(maxConnections, Int(limit.rlim_cur) / 16))
    }
}
