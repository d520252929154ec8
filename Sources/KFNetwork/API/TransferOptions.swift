/// How one transfer is made and what it may cost. The defaults are the ones the program documents.
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

    /// The longest a connection may take, and the longest span that may bring less than 1 KiB. nil: no limit.
    package var timeout: Duration? = .seconds(15)
    /// The longest the whole transfer may take, redirects and their waiting included, from its first start on.
    package var maxTime: Duration?
    package var maxRedirects = 10
    /// Body bytes; counted as they come, and refused ahead of the body when the length is announced.
    package var maxBytes: Int64 = 256 << 20
    package var userAgent: String?
    /// Sent to the origin of the request alone, with the Basic scheme; with Digest when the server then asks for that.
    package var credentials: Credentials?
    /// The same for single hosts (lower case, with the port where it is not the scheme's own), redirects included.
    package var hostCredentials: [String: Credentials] = [:]
    /// Where to look for credentials of the hosts that have none above or in their address.
    package var netrc = Netrc.none
    /// The proxy to use, "" for none; nil means the proxies of the environment, as curl reads them, if those apply.
    package var proxy: String?
    /// Hosts that are reached without the proxy, in the form of NO_PROXY. nil: with a `proxy` none, else what the
    /// environment says.
    package var noProxy: String?
    package var usesEnvironmentProxies = true
    /// PEM certificates of the authorities to trust in place of the system's, for an https proxy as well.
    package var caFile: String?
    /// Hosts (lower case, no port) whose certificates are not checked.
    package var trustedHosts: Set<String> = []
    package var forceHTTP11 = false
    /// Refuse addresses that are not on the public internet, where the socket is opened. A proxy named in `proxy` is
    /// excepted; proxies of the environment are refused.
    package var denyPrivate = false
    /// Final statuses that are delivered, beside the 206 and 304 that `TransferRequest` asks for.
    package var acceptedStatus: Set<Int> = [200, 203]

    package init() {}
}
