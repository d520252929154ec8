/// An http or https URL in its normal form: scheme and host in lower case, no default port, no fragment, no user info.
/// The normal form is both requested and used as the cache key.
public struct RequestURL: Hashable, Sendable {
    /// The normal form. Spaces and bytes outside ASCII are percent-encoded in path and query.
    public let text: String
    /// `http` or `https`.
    public let scheme: String
    /// The host, with its port unless it is the scheme's default. Statistics by host use it.
    public let host: String
    /// The credentials of the URL's user info, percent-decoded. They are never part of ``text``.
    public let credentials: Credentials?

    /// Parses a URL. Throws `invalidURL` (1002) with the reason.
    public init(_ string: some StringProtocol) throws(KingfisherError) {
        do {
            let parts = try URLParts(string)
            scheme = parts.scheme
            host = parts.authority
            credentials = parts.credentials
            text = parts.text
        } catch {
            throw .requestError(reason: .invalidURL(problem: error.message))
        }
    }

    /// The last component of the path, percent-decoded, to name a file; empty if the path ends with a slash.
    public var lastPathComponent: String { PercentCoding.decode(pathComponents.last ?? "") }

    /// The components of the path before the last one, percent-decoded, without empty ones.
    var folders: [String] { pathComponents.dropLast().filter { !$0.isEmpty }.map { PercentCoding.decode($0) } }

    private var pathComponents: [Substring] {
        let path = text.dropFirst(scheme.count + 3 + host.count).prefix { $0 != "?" }
        return path.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// The host without its port, and without the dot at the end of a fully qualified name.
    var hostName: Substring {
        var name = host[...]
        // The colons of an IPv6 address are within its brackets.
        if let colon = name.lastIndex(of: ":"), !name[colon...].contains("]") { name = name[..<colon] }
        return name.hasSuffix(".") ? name.dropLast() : name
    }

    /// Returns whether both have the same scheme, host and port, which credentials belong to.
    func isSameOrigin(as other: RequestURL) -> Bool { scheme == other.scheme && host == other.host }

    /// The normal form without the query.
    var withoutQuery: String { String(text.prefix { $0 != "?" }) }

    /// The normal form with `?…` in place of the query. Messages show it, because queries may carry signatures.
    public var redacted: String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        return text[..<mark] + "?…"
    }
}

/// A strict parser of URLs. Nothing that it refuses reaches a socket, a file name or the index.
struct URLParts {
    struct Problem: Error {
        let message: String
    }

    var scheme = ""
    /// The host, with its port unless it is the scheme's default.
    var authority = ""
    var credentials: Credentials?
    var target = ""

    var text: String { "\(scheme)://\(authority)\(target)" }

    init(_ string: some StringProtocol) throws(Problem) {
        let bytes = Array(string.utf8)
        if let bad = bytes.first(where: { $0 < 0x20 || $0 == 0x7f }) {
            throw Problem(message: "the URL has a control character in it (byte \(bad))")
        }
        guard bytes.first != 0x20, bytes.last != 0x20 else {
            throw Problem(message: "the URL has a space at its \(bytes.first == 0x20 ? "beginning" : "end")")
        }
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? 0
        scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        guard Self.isScheme(bytes[..<colon]), bytes[colon...].starts(with: "://".utf8) else {
            throw Problem(message: "not a URL; it should begin with http:// or https://")
        }
        guard scheme == "http" || scheme == "https" else {
            throw Problem(message: "\(scheme): is not supported, only http: and https: are")
        }
        let rest = bytes[(colon + 3)...]
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        try parseAuthority(rest[..<(end ?? rest.endIndex)])
        target = Self.target(end.map { rest[$0...] } ?? [])
    }

    private mutating func parseAuthority(_ bytes: ArraySlice<UInt8>) throws(Problem) {
        var hostAndPort = bytes
        if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
            hostAndPort = bytes[(at + 1)...]
            let info = bytes[..<at]
            let colon = info.firstIndex(of: UInt8(ascii: ":")) ?? info.endIndex
            credentials = Credentials(
                user: PercentCoding.decode(String(decoding: info[..<colon], as: UTF8.self)),
                password: PercentCoding.decode(String(decoding: info[colon...].dropFirst(), as: UTF8.self)))
        }
        let (host, port) = try Self.split(hostAndPort)
        guard !host.isEmpty else { throw Problem(message: "the URL has no host") }
        authority = String(decoding: host, as: UTF8.self).lowercased()
        guard let port else { return }
        guard let number = Int(String(decoding: port, as: UTF8.self)), (1...65535).contains(number),
            port.allSatisfy({ (0x30...0x39).contains($0) })
        else { throw Problem(message: "the URL's port is not a number from 1 to 65535") }
        if number != (scheme == "http" ? 80 : 443) { authority += ":\(number)" }
    }

    /// Characters that end a host for one parser and not for another. They can send a request to the wrong machine.
    private static let forbidden = Array(" \\^`{}|<>\"%".utf8)

    private static func split(
        _ bytes: ArraySlice<UInt8>
    ) throws(Problem) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
        var host = bytes
        var after = bytes[bytes.endIndex...]
        if bytes.first == UInt8(ascii: "[") {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else {
                throw Problem(message: "the URL's IPv6 address has no closing bracket")
            }
            host = bytes[...close]
            after = bytes[(close + 1)...]
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            host = bytes[..<colon]
            after = bytes[colon...]
        }
        guard !host.contains(where: forbidden.contains) else {
            throw Problem(message: "the URL's host has an invalid character")
        }
        guard !after.isEmpty else { return (host, nil) }
        guard after.first == UInt8(ascii: ":") else { throw Problem(message: "the URL's host is malformed") }
        return (host, after.count == 1 ? nil : after.dropFirst())
    }

    /// Returns path and query. The fragment is for browsers only.
    private static func target(_ bytes: ArraySlice<UInt8>) -> String {
        let kept = bytes.prefix { $0 != UInt8(ascii: "#") }
        var result: [UInt8] = kept.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
        for byte in kept {
            if byte > 0x20, byte < 0x80 { result.append(byte) } else { result += PercentCoding.encode(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, (first | 0x20).isLetter else { return false }
        return bytes.allSatisfy { ($0 | 0x20).isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x61...0x7a).contains(self) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}

/// Percent-encoding in URLs.
enum PercentCoding {
    static func encode(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Decodes the escapes. Bytes that are not UTF-8 become U+FFFD.
    static func decode(_ text: some StringProtocol) -> String { String(decoding: decodeBytes(text), as: UTF8.self) }

    /// Decodes the escapes. Invalid escapes stay unchanged.
    static func decodeBytes(_ text: some StringProtocol) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }
}

extension PercentCoding {
    /// Converts bytes to text. Bytes that are not UTF-8 become percent escapes, so that nothing is lost.
    static func text(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var result: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { result.append(byte) } else { result += encode(byte) }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
