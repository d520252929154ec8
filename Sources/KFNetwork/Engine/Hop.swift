/// One request on the way of a transfer: the first, one that a redirect led to, or one made again with a password.
struct Hop {
    var url: TransferURL
    var headers: [(name: String, value: String)]
    var credentials: Credentials?
    var usesDigest = false
    /// Shown to the server if it asks for a client certificate.
    var clientCertificate: ClientCertificate?
    /// Whether the certificate goes unchecked.
    var isTrusted: Bool
    /// Redirects followed before it.
    var redirects = 0
    /// Origins about whose passwords, or certificates, somebody was asked. Nobody is asked twice.
    var askedForPassword: Set<Origin> = []
    var askedForTrust: Set<Origin> = []
    var askedForCertificate: Set<Origin> = []

    /// How often the request was made again because its connection ended before the response began. The retry strategy
    /// does not count these.
    var restarts = 0

    static let maxRestarts = 4

    /// The first hop of a transfer.
    init(url: TransferURL, request: TransferRequest) {
        self.url = url
        headers = request.headers
        let options = request.terms.options
        credentials = options.credentials ?? Self.credentials(for: url.origin, options)
        isTrusted = !options.trustedHosts.isEmpty && options.trustedHosts.contains(url.origin.host)
    }

    /// Only headers that are known to hold no secret are sent to another origin. What was left out does not come back when
    /// a later redirect leads to the first origin again: the path there is then another server's choice.
    func following(to target: TransferURL, options: TransferOptions) -> Hop {
        var next = self
        next.url = target
        next.redirects += 1
        next.restarts = 0
        guard target.origin != url.origin else { return next }
        next.headers.removeAll { !RequestField.mayChangeOrigin($0.name) }
        next.credentials = Self.credentials(for: target.origin, options)
        next.usesDigest = false
        next.clientCertificate = nil
        next.isTrusted = options.trustedHosts.contains(target.origin.host)
        return next
    }

    private static func credentials(
        for origin: Origin, _ options: TransferOptions
    ) -> Credentials? {
        options.hostCredentials.isEmpty ? nil : options.hostCredentials[origin.authority]
    }

    /// The same request for another connection, or nil after too many.
    func restarted() -> Hop? {
        guard restarts < Self.maxRestarts else { return nil }
        var next = self
        next.restarts += 1
        return next
    }

    /// The first restart may meet another connection that is about to end; later ones open their own.
    var wantsOwnConnection: Bool { restarts > 1 }

    /// The header lines to send, as libcurl wants them.
    func headerLines(resumption: TransferRequest.Resumption?) throws(TransferError) -> [String] {
        var lines: [String] = []
        for (name, value) in headers {
            guard Self.isToken(name), Self.isClean(value) else { throw .invalidRequestHeader(name: name) }
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // Images are compressed already, and a decoded body cannot be resumed.
        if !headers.contains(where: { $0.name.lowercased() == "accept-encoding" }) {
            lines.append("Accept-Encoding: identity")
        }
        if let resumption {
            guard Self.isClean(resumption.validator) else { throw .invalidRequestHeader(name: "If-Range") }
            lines.append("Range: bytes=\(resumption.offset)-")
            lines.append("If-Range: \(resumption.validator)")
        }
        return lines
    }

    /// A line break in a value would be a header, or a request, of its own.
    static func isClean(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    private static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte &- 0x30 < 10 || byte | 0x20 &- 0x61 < 26 || "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
    }
}
