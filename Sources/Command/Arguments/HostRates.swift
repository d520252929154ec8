import KFCore

/// The request rates of `--rate`, in starts a second.
struct HostRates: Sendable {
    /// The rate of each host that has none of its own; nil is unlimited.
    var all: Double?
    /// By host, with the port unless it is the scheme's default.
    var hosts: [String: Double] = [:]

    /// Reads `5/s`, `HOST=20/s`, and several of them with commas. The option may be given for each of them.
    @Sendable
    static func parse(_ given: Given) throws(UsageError) -> HostRates {
        var rates = HostRates()
        for text in given.texts {
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let mark = part.lastIndex(of: "=")
                guard let rate = number(mark.map { part[part.index(after: $0)...] } ?? part),
                    let host = mark.map({ host(part[..<$0]) }) ?? ""
                else {
                    throw given.only(text).wrong(
                        "a request rate such as 5/s, 90/m or 1000/h, or HOST=20/s for one host")
                }
                if host.isEmpty { rates.all = rate } else { rates.hosts[host] = rate }
            }
        }
        return rates
    }

    /// Returns a host as the engine's queues are named, without the default port; nil if it is none.
    private static func host(_ text: Substring) -> String? {
        guard !text.contains(where: { "/@=?#*% ".contains($0) }) else { return nil }
        return try? RequestURL("http\(text.hasSuffix(":443") ? "s" : "")://\(text)/").queueName
    }

    private static func number(_ text: Substring) -> Double? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let spans = ["s": 1.0, "m": 60, "h": 3600]
        // The interval between two requests is in nanoseconds, which a rate below one a day would overflow.
        guard parts.count <= 2, let number = Double(parts[0]),
            let span = spans[parts.count == 2 ? String(parts[1]) : "s"],
            (1 / 86_400.0...1e6).contains(number / span)
        else { return nil }
        return number / span
    }
}
