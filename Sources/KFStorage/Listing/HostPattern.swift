import KFSystem

/// A pattern for the hosts that a filter selects.
///
/// - `example.com` is this host at any port, `example.com:8080` at this port;
/// - `*.example.com` is every host below it, but not `example.com` itself, and `*` is every host;
/// - `[::1]` is an IPv6 address, `[::1]:8080` the same with a port; without a port the brackets are optional;
/// - a name in Unicode is the same as its A-labels, `münchen.de` as `xn--mnchen-3ya.de`;
/// - `local` selects entries that come from no host.
///
/// Case is ignored. Port 80 also selects http URLs without a port, port 443 https URLs without a port.
public struct HostPattern: Sendable, Hashable {
    /// SQLite's GLOB pattern, for names with and without a port.
    private let glob: String
    private let port: Int?

    /// Parses a pattern; nil for a text that cannot be a host.
    public init?(_ text: String) {
        let text = text.lowercased()
        guard let (host, port) = Self.split(text) else { return nil }
        if let port {
            guard let number = Int(port), (1...65535).contains(number), port.utf8.allSatisfy(Self.isDigit) else {
                return nil
            }
            self.port = number
        } else {
            self.port = nil
        }
        if host == "*" {
            glob = "?*"
        } else if host.hasPrefix("*.") {
            let parent = host.dropFirst(2)
            guard Self.isName(parent), let parent = try? HostName.ascii(String(parent)) else { return nil }
            glob = "*." + parent
        } else {
            let isHost = host.hasPrefix("[") ? Self.isAddress(host.dropFirst().dropLast()) : Self.isName(host[...])
            guard isHost, let normal = try? HostName.normal(host) else { return nil }
            glob = GlobText.exactly(normal)
        }
    }

    /// The SQL condition over the tables `e` and `h`. `bind` binds its parameters.
    var condition: String {
        switch port {
        case nil: "(h.name GLOB ?2 OR h.name GLOB ?2 || ':[0-9]*')"
        case 80, 443: "(h.name GLOB ?2 || ?10 OR h.name GLOB ?2 AND coalesce(e.url, e.key) GLOB ?11)"
        default: "h.name GLOB ?2 || ?10"
        }
    }

    func bind(_ statement: Statement) {
        glob.bind(to: statement, at: 2)
        guard let port else { return }
        ":\(port)".bind(to: statement, at: 10)
        if port == 80 { "http://*".bind(to: statement, at: 11) }
        if port == 443 { "https://*".bind(to: statement, at: 11) }
    }

    /// Splits a text into the host (an IPv6 address in brackets) and the digits of the port.
    private static func split(_ text: String) -> (host: String, port: String?)? {
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            let rest = text[text.index(after: close)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            return (String(text[...close]), rest.isEmpty ? nil : String(rest.dropFirst()))
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        switch parts.count {
        case 1: return (text, nil)
        case 2: return (String(parts[0]), String(parts[1]))
        default: return ("[\(text)]", nil)
        }
    }

    /// Whether a text can be a name.
    private static func isName(_ text: Substring) -> Bool {
        !text.isEmpty
            && !text.utf8.contains { $0 <= 0x20 || $0 == 0x7f || "*?[]/\\@:#%<>\"^`{|}".utf8.contains($0) }
    }

    private static func isAddress(_ text: Substring) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        let (text, zone) = (parts[0], parts.dropFirst().first)
        if let zone, !zone.hasPrefix("25") || !isName(zone.dropFirst(2)) { return false }
        return text.contains(":") && text.utf8.allSatisfy { isDigit($0) || "abcdef:.".utf8.contains($0) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

/// Patterns of SQLite's GLOB operator: `*`, `?` and `[…]`.
package enum GlobText {
    /// Returns the pattern that matches only this text.
    package static func exactly(_ text: String) -> String {
        // By scalars: a wildcard with a combining accent is another Character, but SQLite still sees the wildcard.
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let text = "*?[".unicodeScalars.contains(scalar) ? "[\(scalar)]" : String(scalar)
            result.append(contentsOf: text.unicodeScalars)
        }
        return String(result)
    }
}
