import Glibc
import KFNetwork
import KFSystem

/// An http or https URL in its normal form: scheme and host in lower case, no default port, no fragment, no user info.
/// The normal form is both requested and used as the cache key.
///
/// It is one reference, so that copies cost little and a ``Source`` holds it without a box.
public struct RequestURL: Hashable, Sendable {
    private let parts: URLParts

    /// The normal form. Spaces and bytes outside ASCII are percent-encoded in path and query.
    public var text: String { parts.text }
    /// `http` or `https`.
    public var scheme: String { parts.scheme }
    /// The host, with its port unless it is the scheme's default. Statistics by host use it.
    public var host: String { parts.host }
    /// The credentials of the URL's user info, percent-decoded. They are never part of ``text``.
    public var credentials: Credentials? { parts.credentials }

    /// Parses a URL. Throws `invalidURL` (1002) with the reason.
    public init(_ string: some StringProtocol) throws(KingfisherError) {
        parts = try URLParts(String(string))
    }

    /// Creates the URL of a text in the normal form that has the origin of another URL; nil for other texts. Lists have many
    /// such neighbours, which need a tenth of the time to parse.
    package init?(_ text: String, near other: RequestURL) {
        guard let parts = URLParts.neighbour(of: other.parts, text) else { return nil }
        self.parts = parts
    }

    /// Creates a URL of text that is not one. Its requests fail with `invalidURL` (1002).
    package init(invalid text: String) { parts = URLParts(invalid: text) }

    public static func == (a: RequestURL, b: RequestURL) -> Bool {
        a.parts === b.parts || a.text == b.text && a.credentials == b.credentials
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Returns whether a text begins with a scheme, as `data:` and `https://` do and relative references do not.
    package static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return false }
        let scheme = text.utf8[..<colon]
        return scheme.first.map { ($0 | 0x20).isLetter } == true
            && scheme.allSatisfy { ($0 | 0x20).isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }

    /// Returns the URL of a relative reference to this one (RFC 3986, section 5.2), without user info; nil for a text with
    /// a scheme.
    /// Throws `invalidURL` (1002).
    package func resolving(_ reference: String) throws(KingfisherError) -> RequestURL? {
        if Self.hasScheme(reference) { return nil }
        if reference.hasPrefix("//") { return try RequestURL("\(scheme):\(reference)") }
        let mark = reference.firstIndex { $0 == "?" || $0 == "#" } ?? reference.endIndex
        let (path, rest) = (reference[..<mark], reference[mark...])
        let own = text.dropFirst(scheme.count + 3 + host.count)
        let ownPath = own.prefix { $0 != "?" }
        let origin = "\(scheme)://\(host)"
        guard !path.isEmpty else { return try RequestURL(origin + (rest.hasPrefix("?") ? ownPath + rest : own)) }
        let above = path.hasPrefix("/") ? "" : ownPath[...(ownPath.lastIndex(of: "/") ?? ownPath.startIndex)]
        var parts: [Substring] = []
        let all = (above + path).split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, part) in all.enumerated() {
            let isLast = index == all.count - 1
            switch part {
            case ".": if isLast { parts.append("") }
            case "..":
                _ = parts.popLast()
                if isLast { parts.append("") }
            default: parts.append(part)
            }
        }
        return try RequestURL("\(origin)/\(parts.joined(separator: "/"))\(rest)")
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
    package var hostName: Substring { HostName.withoutDot(host[..<portStart]) }

    /// The name of the host's queue in the engine: `hostName` with the port of `host`.
    package var queueName: String { "\(hostName)\(host[portStart...])" }

    private var portStart: String.Index {
        // The colons of an IPv6 address are within its brackets.
        guard let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") else { return host.endIndex }
        return colon
    }

    /// Returns whether both have the same scheme, host and port, which credentials belong to.
    func isSameOrigin(as other: RequestURL) -> Bool { scheme == other.scheme && host == other.host }

    /// The normal form without the query.
    package var withoutQuery: String { String(text.prefix { $0 != "?" }) }

    /// The normal form with `?…` in place of the query. Messages show it, because queries may carry signatures.
    public var redacted: String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        return text[..<mark] + "?…"
    }
}

private final class URLParts: Sendable {
    let text: String
    let scheme: String
    let host: String
    let credentials: Credentials?

    /// Parses a URL. One that is in its normal form is not copied.
    init(_ string: String) throws(KingfisherError) {
        var string = string
        var parser = URLParser()
        // A throwing closure would need a `Result`, whose metadata cost each start of the program 100,000 instructions.
        let problem = string.withUTF8 { parser.parse($0) }
        if let problem { throw .requestError(reason: .invalidURL(problem: problem)) }
        scheme = parser.isSecure ? "https" : "http"
        host = parser.host
        credentials = parser.credentials
        text = parser.isNormal ? string : "\(parser.isSecure ? "https" : "http")://\(parser.host)\(parser.target)"
    }

    /// Returns the URL of a text that begins like a URL in the normal form, and is in the normal form behind that.
    static func neighbour(of other: URLParts, _ text: String) -> URLParts? {
        let length = other.scheme.utf8.count + "://".utf8.count + other.host.utf8.count
        var (string, normal) = (text, other.text)
        let isNormal = string.withUTF8 { bytes in
            normal.withUTF8 { normal in
                bytes.count > length && normal.count > length && bytes[length] == UInt8(ascii: "/")
                    && memcmp(bytes.baseAddress!, normal.baseAddress!, length) == 0
                    && bytes[length...].allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
            }
        }
        return isNormal ? URLParts(text, other) : nil
    }

    private init(_ text: String, _ origin: URLParts) {
        (self.text, scheme, host, credentials) = (text, origin.scheme, origin.host, nil)
    }

    init(invalid text: String) { (self.text, scheme, host, credentials) = (text, "", "", nil) }
}

/// A strict parser of URLs. Nothing that it refuses reaches a socket, a file name or the index.
private struct URLParser {
    private(set) var isSecure = false
    private(set) var host = ""
    private(set) var credentials: Credentials?
    /// Whether the text is the normal form.
    private(set) var isNormal = true
    /// The path and the query; empty if the text is the normal form.
    private(set) var target = ""

    /// Returns the reason why the bytes are not a URL; nil if they are one.
    mutating func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        for byte in bytes where byte <= 0x20 || byte >= 0x7f {
            if byte < 0x20 || byte == 0x7f { return "the URL has a control character in it (byte \(byte))" }
            isNormal = false
        }
        if bytes.first == 0x20 { return "the URL has a space at its beginning" }
        if bytes.last == 0x20 { return "the URL has a space at its end" }
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? 0
        let scheme = bytes[..<colon]
        guard Self.isScheme(scheme), bytes[colon...].prefix(3).equals("://") else {
            return "not a URL; it should begin with http:// or https://"
        }
        isSecure = scheme.equals("https")
        if !isSecure, !scheme.equals("http") {
            let name = String(decoding: scheme, as: UTF8.self).lowercased()
            guard name == "http" || name == "https" else {
                return "\(name): is not supported, only http: and https: are"
            }
            isSecure = name == "https"
            isNormal = false
        }
        let rest = bytes[(colon + 3)...]
        let path = rest[(rest.firstIndex { $0 == 0x2f || $0 == 0x3f || $0 == 0x23 } ?? rest.endIndex)...]
        if let problem = parseAuthority(rest[..<path.startIndex]) { return problem }
        if path.first != 0x2f || path.contains(0x23) { isNormal = false }
        if !isNormal { target = Self.target(path) }
        return nil
    }

    private mutating func parseAuthority(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        var place = bytes
        if let at = bytes.lastIndex(of: UInt8(ascii: "@")) {
            place = bytes[(at + 1)...]
            let info = bytes[..<at]
            let colon = info.firstIndex(of: UInt8(ascii: ":")) ?? info.endIndex
            credentials = Credentials(
                user: PercentCoding.decode(String(decoding: info[..<colon], as: UTF8.self)),
                password: PercentCoding.decode(String(decoding: info[colon...].dropFirst(), as: UTF8.self)))
            isNormal = false
        }
        var end = place.firstIndex(of: UInt8(ascii: ":")) ?? place.endIndex
        if place.first == UInt8(ascii: "[") {
            guard let close = place.firstIndex(of: UInt8(ascii: "]")) else {
                return "the URL's IPv6 address has no closing bracket"
            }
            end = close + 1
        }
        let name = place[..<end]
        let address = name.first == UInt8(ascii: "[") ? name[..<Self.zone(of: name).startIndex] : name
        if address.contains(where: Self.isForbidden) { return "the URL's host has an invalid character" }
        if end < place.endIndex, place[end] != UInt8(ascii: ":") { return "the URL's host is malformed" }
        if name.isEmpty { return "the URL has no host" }
        let digits = place[end...].dropFirst()
        // A number with more digits than any port stays too great.
        let port = digits.allSatisfy(\.isDigit) ? digits.reduce(0) { min($0, 99_999) * 10 + Int($1 - 0x30) } : 0
        if !digits.isEmpty, !(1...65535).contains(port) { return "the URL's port is not a number from 1 to 65535" }
        let hasPort = !digits.isEmpty && port != (isSecure ? 443 : 80)
        if address.allSatisfy({ $0 < 0x80 && !(0x41...0x5a).contains($0) }), HostName.isNormal(name),
            digits.first != 0x30, hasPort == (end < place.endIndex)
        {
            host = String(decoding: place, as: UTF8.self)
            return nil
        }
        isNormal = false
        let text = String(decoding: name, as: UTF8.self)
        switch Result(catching: { () throws(HostName.Failure) in try HostName.normal(text) }) {
        case .success(let normal): host = normal + (hasPort ? ":\(port)" : "")
        case .failure(let error): return "the URL's host \(text) \(error.reason)"
        }
        return nil
    }

    /// Returns the zone of an IPv6 address in brackets, with them: `%25eth0]` (RFC 6874); `]` without one.
    private static func zone(of name: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
        guard let percent = name.firstIndex(of: 0x25), name[percent...].starts(with: "%25".utf8) else {
            return name.suffix(1)
        }
        let zone = name[(percent + 3)...].dropLast()
        let isZone = !zone.isEmpty && zone.allSatisfy { ($0 | 0x20).isLetter || $0.isDigit || "-._~".utf8.contains($0) }
        return isZone ? name[percent...] : name.suffix(1)
    }

    /// Characters that end a host for one parser and not for another. They can send a request to the wrong machine.
    private static func isForbidden(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, 0x22, 0x25, 0x3c, 0x3e, 0x5c, 0x5e, 0x60, 0x7b...0x7d: true
        default: false
        }
    }

    /// Returns path and query. The fragment is for browsers only.
    private static func target(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        bytes.prefix { $0 != 0x23 }.reduce(into: bytes.first == 0x2f ? "" : "/") { text, byte in
            if byte > 0x20, byte < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += PercentCoding.encode(byte)
            }
        }
    }

    private static func isScheme(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        guard let first = bytes.first, (first | 0x20).isLetter else { return false }
        return bytes.allSatisfy { ($0 | 0x20).isLetter || $0.isDigit || "+-.".utf8.contains($0) }
    }
}

extension Slice<UnsafeBufferPointer<UInt8>> {
    /// The comparison of any two sequences costs each item of a list 500 instructions.
    fileprivate func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && (0..<count).allSatisfy { self[startIndex + $0] == text.utf8Start[$0] }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x61...0x7a).contains(self) }
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
