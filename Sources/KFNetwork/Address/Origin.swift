/// Where a request goes: what credentials belong to. An object, because the addresses of a list share theirs.
final class Origin: Hashable, Sendable {
    /// Lower case.
    let scheme: String
    /// Lower case; IPv6 literals in brackets.
    let host: String
    let port: Int
    let isSecure: Bool
    /// The host, with its port where that is not the scheme's own: the name under which transfers queue.
    let authority: String

    init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        isSecure = scheme == "https"
        authority = port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }

    static func == (left: Origin, right: Origin) -> Bool {
        left === right || left.scheme == right.scheme && left.host == right.host && left.port == right.port
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
    }
}
