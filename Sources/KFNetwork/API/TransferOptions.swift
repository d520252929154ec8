/// How one transfer is made and what it may cost. The defaults are the ones the program documents. Copies share one object
/// until one of them is changed; transfers of one batch should share theirs.
package struct TransferOptions: Sendable {
    package struct Credentials: Sendable, Equatable {
        package var user: String
        package var password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    package enum Netrc: Sendable, Equatable {
        case none
        /// ~/.netrc
        case standard
        case file(String)
    }

    private struct Values {
        var timeout: Duration? = .seconds(15)
        var timeoutSpan: Int64 = 15_000_000_000
        var maxTime: Duration?
        var maxRedirects = 10
        var maxBytes: Int64 = 256 << 20
        var userAgent: String?
        var credentials: Credentials?
        var hostCredentials: [String: Credentials] = [:]
        var netrc = Netrc.none
        var proxy: String?
        var noProxy: String?
        var usesEnvironmentProxies = true
        var caFile: String?
        var trustedHosts: Set<String> = []
        var forceHTTP11 = false
        var denyPrivate = false
        var acceptedStatus: Set<Int> = [200, 203]
        var acceptsOK = true
    }

    // Unchecked, because the values are changed only while no other copy refers to them.
    private final class Box: @unchecked Sendable {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }

        static let standard = Box(Values())
    }

    private var box = Box.standard

    package init() {}

    /// Whether both are copies of one, unchanged since.
    func isCopy(of other: TransferOptions) -> Bool { box === other.box }

    private mutating func own() -> Box {
        if !isKnownUniquelyReferenced(&box) { box = Box(box.values) }
        return box
    }

    /// The longest a connection may take, and the longest span that may bring less than 1 KiB. nil: no limit.
    package var timeout: Duration? {
        get { box.values.timeout }
        set {
            let box = own()
            box.values.timeout = newValue
            box.values.timeoutSpan = newValue?.saturatedNanoseconds ?? .max
        }
    }

    /// The timeout in nanoseconds; the greatest number for none.
    var timeoutSpan: Int64 { box.values.timeoutSpan }

    /// The longest the whole transfer may take, redirects and their waiting included, from its first start on.
    package var maxTime: Duration? {
        get { box.values.maxTime }
        set { own().values.maxTime = newValue }
    }

    package var maxRedirects: Int {
        get { box.values.maxRedirects }
        set { own().values.maxRedirects = newValue }
    }

    /// Body bytes; counted as they come, and refused ahead of the body when the length is announced.
    package var maxBytes: Int64 {
        get { box.values.maxBytes }
        set { own().values.maxBytes = newValue }
    }

    package var userAgent: String? {
        get { box.values.userAgent }
        set { own().values.userAgent = newValue }
    }

    /// Sent to the origin of the request alone, with the Basic scheme; with Digest when the server then asks for that.
    package var credentials: Credentials? {
        get { box.values.credentials }
        set { own().values.credentials = newValue }
    }

    /// The same for single hosts (lower case, with the port where it is not the scheme's own), redirects included.
    package var hostCredentials: [String: Credentials] {
        get { box.values.hostCredentials }
        set { own().values.hostCredentials = newValue }
    }

    /// Where to look for credentials of the hosts that have none above or in their address.
    package var netrc: Netrc {
        get { box.values.netrc }
        set { own().values.netrc = newValue }
    }

    /// The proxy to use, "" for none; nil means the proxies of the environment, as curl reads them, if those apply.
    package var proxy: String? {
        get { box.values.proxy }
        set { own().values.proxy = newValue }
    }

    /// Hosts that are reached without the proxy, in the form of NO_PROXY. nil: with a `proxy` none, else what the
    /// environment says.
    package var noProxy: String? {
        get { box.values.noProxy }
        set { own().values.noProxy = newValue }
    }

    package var usesEnvironmentProxies: Bool {
        get { box.values.usesEnvironmentProxies }
        set { own().values.usesEnvironmentProxies = newValue }
    }

    /// PEM certificates of the authorities to trust in place of the system's, for an https proxy as well.
    package var caFile: String? {
        get { box.values.caFile }
        set { own().values.caFile = newValue }
    }

    /// Hosts (lower case, no port) whose certificates are not checked.
    package var trustedHosts: Set<String> {
        get { box.values.trustedHosts }
        set { own().values.trustedHosts = newValue }
    }

    package var forceHTTP11: Bool {
        get { box.values.forceHTTP11 }
        set { own().values.forceHTTP11 = newValue }
    }

    /// Refuse addresses that are not on the public internet, where the socket is opened. A proxy named in `proxy` is
    /// excepted; proxies of the environment are refused.
    package var denyPrivate: Bool {
        get { box.values.denyPrivate }
        set { own().values.denyPrivate = newValue }
    }

    /// Final statuses that are delivered, beside the 206 and 304 that `TransferRequest` asks for.
    package var acceptedStatus: Set<Int> {
        get { box.values.acceptedStatus }
        set {
            let box = own()
            box.values.acceptedStatus = newValue
            box.values.acceptsOK = newValue.contains(200)
        }
    }

    /// Without hashing the status that nearly every response has.
    func accepts(_ status: Int) -> Bool {
        status == 200 ? box.values.acceptsOK : box.values.acceptedStatus.contains(status)
    }
}
