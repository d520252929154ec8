/// Where a request goes: what credentials belong to.
struct Origin: Hashable {
    /// Lower case.
    var scheme: String
    /// Lower case; IPv6 literals in brackets.
    var host: String
    var port: Int

    var isSecure: Bool { scheme == "https" }

    /// The host, with its port where that is not the scheme's own: the name under which transfers queue.
    var authority: String {
        port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
    }
}
