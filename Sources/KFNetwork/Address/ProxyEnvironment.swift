import Glibc

/// The proxy variables of the environment, read as libcurl reads them. Used to name a proxy in an error, never to
/// choose one.
struct ProxyEnvironment {
    private let lookUp: (String) -> String?
    private let noProxy: String?

    /// Creates a reader of the environment. `noProxy` replaces NO_PROXY.
    init(
        noProxy: String? = nil, _ lookUp: @escaping (String) -> String? = { getenv($0).map { String(cString: $0) } }
    ) {
        self.noProxy = noProxy
        self.lookUp = lookUp
    }

    /// Returns the variable that sets a proxy for the origin; nil if none does, or NO_PROXY lists the host.
    func variable(for origin: Origin) -> String? {
        // Only lower-case http_proxy: in a CGI program, HTTP_PROXY holds the client's Proxy header.
        let names =
            (origin.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        let name = names.first { lookUp($0)?.isEmpty == false }
        return isExcepted(origin.host) ? nil : name
    }

    func proxy(for origin: Origin) -> String? { variable(for: origin).flatMap(lookUp) }

    func isExcepted(_ host: String) -> Bool {
        guard let list = noProxy ?? lookUp("no_proxy") ?? lookUp("NO_PROXY") else { return false }
        if list[...].trimmingBlanks == "*" { return true }
        return list.split(whereSeparator: { $0 == "," || $0 == " " }).contains { item in
            let suffix = item.drop(while: { $0 == "." }).lowercased()
            return !suffix.isEmpty && (host == suffix || host.hasSuffix("." + suffix))
        }
    }
}

extension TransferOptions {
    /// Returns whether requests to a host go through a proxy.
    package func usesProxy(toHost host: String, isSecure: Bool) -> Bool {
        if let proxy { return !proxy.isEmpty }
        let origin = Origin(scheme: isSecure ? "https" : "http", host: host, port: isSecure ? 443 : 80)
        return usesEnvironmentProxies && ProxyEnvironment(noProxy: noProxy).variable(for: origin) != nil
    }
}
