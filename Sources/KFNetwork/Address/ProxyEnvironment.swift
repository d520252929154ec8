import Glibc

/// What the environment says of proxies, as libcurl reads it. Used to refuse such a proxy by name, never to choose one.
struct ProxyEnvironment {
    private let lookUp: (String) -> String?
    private let noProxy: String?

    /// `noProxy` takes the place of NO_PROXY.
    init(
        noProxy: String? = nil, _ lookUp: @escaping (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) {
        self.noProxy = noProxy
        self.lookUp = lookUp
    }

    /// The variable that names a proxy for the origin; nil when none does, or NO_PROXY excepts the host.
    func variable(for origin: Origin) -> String? {
        // http_proxy in lower case alone: a CGI program finds the Proxy header of its client in HTTP_PROXY.
        let names =
            (origin.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        let name = names.first { lookUp($0)?.isEmpty == false }
        return isExcepted(origin.host) ? nil : name
    }

    /// Whether NO_PROXY says that the host is reached directly.
    func isExcepted(_ host: String) -> Bool {
        guard let list = noProxy ?? lookUp("no_proxy") ?? lookUp("NO_PROXY") else { return false }
        if list.trimmingBlanks == "*" { return true }
        return list.split(whereSeparator: { $0 == "," || $0 == " " }).contains { item in
            let suffix = item.drop(while: { $0 == "." }).lowercased()
            return !suffix.isEmpty && (host == suffix || host.hasSuffix("." + suffix))
        }
    }
}
