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

    /// The longest a connection may take, and the longest span that may bring less than 1 KiB. nil: no limit.
    package var timeout: Duration? = .seconds(15)
    /// The longest the whole transfer may take, redirects and their waiting included, from its first start on.
    package var maxTime: Duration?
    package var maxRedirects = 10
    /// Body bytes; counted as they come, and refused ahead of the body when the length is announced.
    package var maxBytes: Int64 = 256 << 20
    package var userAgent: String?
    /// Sent with the Basic scheme to the origin of the request alone.
    package var credentials: Credentials?
    /// Look for credentials in ~/.netrc. Those in the address or in `credentials` come first.
    package var netrc = false
    /// Used for every address, whatever NO_PROXY says; nil means the proxies of the environment, as curl reads them.
    package var proxy: String?
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
