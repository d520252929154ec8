/// The headers, the password and the client certificate of a request, all of which were given for one origin (scheme, host,
/// port).
///
/// This type is the one rule about secrets: any other origin gets `outside`. The targets of redirects, alternatives, mirrors,
/// overlays, images in place of failed ones, and URLs that a modifier or a handler names are asked through it. The user info
/// of such a URL is for its own origin. A netrc file and a cookie jar name the hosts of their secrets. Remotes and proxies
/// have requests and credentials of their own.
package struct OriginScope: Sendable {
    package var headers: [(name: String, value: String)]
    package var credentials: Credentials?
    package var clientCertificate: ClientCertificate?

    package init(
        headers: [(name: String, value: String)], credentials: Credentials? = nil,
        clientCertificate: ClientCertificate? = nil
    ) {
        self.headers = headers
        self.credentials = credentials
        self.clientCertificate = clientCertificate
    }

    /// The scope that any other origin gets: the headers that are known to hold no secret.
    package var outside: OriginScope { OriginScope(headers: headers.filter { RequestField.mayChangeOrigin($0.name) }) }
}
