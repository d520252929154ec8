import CCurl
import Glibc
import KFSystem

/// A URL as libcurl parses it.
struct TransferURL: Equatable {
    /// The URL for libcurl; may contain user info.
    var text: String
    /// The URL without user info.
    var bare: String
    var origin: Origin
    /// The offset of the path if `plainOrigin` can parse the URL, else 0.
    private(set) var plainLength = 0

    /// Parses a URL of any scheme; libcurl must be loaded. Faster if a `neighbour` in the list has the same origin.
    init(
        _ text: String, relativeTo base: TransferURL? = nil, neighbour: TransferURL? = nil
    ) throws(TransferError) {
        if let neighbour, neighbour.plainLength > 0, Self.hasPlainPath(text, behind: neighbour) {
            self.init(text: text, bare: text, origin: neighbour.origin, plainLength: neighbour.plainLength)
            return
        }
        // An embedded NUL would end the C string early. Control characters are never part of a URL.
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else { throw .invalidURL }
        if base == nil, let (origin, length) = Self.plainOrigin(of: text) {
            self.init(text: text, bare: text, origin: origin, plainLength: length)
            return
        }
        var parts = kf_url()
        defer { kf_url_free(&parts) }
        try Self.parse(base?.text, text, host: nil, &parts)
        let host = String(cString: parts.host)
        // libcurl would convert a name by the locale of the process, and leaves some IPv6 addresses as they are.
        guard let normal = try? HostName.normal(host) else { throw .invalidURL }
        if normal != host { try Self.parse(base?.text, text, host: normal, &parts) }
        self.init(
            text: String(cString: parts.text), bare: String(cString: parts.bare),
            origin: Origin(
                scheme: String(cString: parts.scheme), host: String(cString: parts.host), port: Int(parts.port)))
    }

    /// The user and the password in the URL, without escapes; nil without user info. Throws for control
    /// characters.
    var credentials: Credentials? {
        get throws(TransferError) {
            guard let start = text.firstRange(of: "://")?.upperBound,
                case let authority = text[start...].prefix(while: { !"/?#".contains($0) }),
                let at = authority.lastIndex(of: "@")
            else { return nil }
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let texts = parts.map { RawText.decode(PercentCoding.decodeBytes($0)) }
            guard texts.allSatisfy({ FieldText.isValue($0) && !$0.contains(byte: 0x09) }) else { throw .invalidURL }
            return Credentials(user: texts[0], password: texts.count > 1 ? texts[1] : "")
        }
    }

    /// The path and the query, as a request line has them.
    var target: String {
        var url = bare
        // libcurl takes the dots out of a path.
        if url.firstRange(of: "/.") != nil {
            var parts = kf_url()
            defer { kf_url_free(&parts) }
            if url.withPath({ kf_url_parse(nil, $0, nil, &parts) }) == KF_URL_OK { url = String(cString: parts.bare) }
        }
        let utf8 = url.utf8
        guard let mark = url.firstRange(of: "://")?.upperBound,
            let start = utf8[mark...].firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") })
        else { return "/" }
        let end = utf8[start...].firstIndex(of: UInt8(ascii: "#")) ?? utf8.endIndex
        let target = String(url[start..<end])
        return target.utf8.first == UInt8(ascii: "?") ? "/\(target)" : target
    }

    private static func parse(
        _ base: String?, _ text: String, host: String?, _ parts: inout kf_url
    ) throws(TransferError) {
        kf_url_free(&parts)
        // libcurl encodes each byte outside ASCII: a Location in Latin-1 is asked for as the server wrote it.
        switch text.withPath({ kf_url_parse(base, $0, host, &parts) }) {
        case KF_URL_OK: break
        case KF_URL_NO_MEMORY: throw .engine(detail: "out of memory")
        default: throw .invalidURL
        }
    }

    private init(text: String, bare: String, origin: Origin, plainLength: Int = 0) {
        self.plainLength = plainLength
        self.text = text
        self.bare = bare
        self.origin = origin
    }

    /// Returns the origin of a URL that every parser reads alike, and the offset of its path; nil for other URLs.
    ///
    /// Such a URL is http(s), a host of letters, digits, dots and hyphens, an optional port, and a path of visible
    /// ASCII. The host is a dotted quad, or its last label starts with a letter. Most URLs of a long list are of this
    /// form, and libcurl's parser would make ten allocations for each.
    private static func plainOrigin(of text: String) -> (Origin, length: Int)? {
        var text = text
        return text.withUTF8 { bytes -> (Origin, length: Int)? in
            let secure = bytes.starts(with: "https://".utf8)
            guard secure || bytes.starts(with: "http://".utf8) else { return nil }
            let start = secure ? 8 : 7
            var end = start
            while end < bytes.count, isHostByte(bytes[end]) { end += 1 }
            guard end > start, end - start <= 253, let host = plainHost(bytes[start..<end]) else { return nil }
            var port = 0
            if end < bytes.count, bytes[end] == UInt8(ascii: ":") {
                end += 1
                let digits = end
                while end < bytes.count, bytes[end] &- 0x30 < 10, end - digits < 5 {
                    port = port * 10 + Int(bytes[end] - 0x30)
                    end += 1
                }
                guard end > digits, 1...65535 ~= port else { return nil }
            }
            guard isPlainPath(bytes[end...]) else { return nil }
            let origin = Origin(
                scheme: secure ? "https" : "http", host: host, port: port != 0 ? port : secure ? 443 : 80)
            return (origin, end)
        }
    }

    private static func isPlainPath(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        bytes.first == UInt8(ascii: "/") && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }
    }

    private static func hasPlainPath(_ text: String, behind neighbour: TransferURL) -> Bool {
        var (text, other) = (text, neighbour.text)
        return text.withUTF8 { bytes in
            other.withUTF8 { other in
                bytes.count > neighbour.plainLength
                    && memcmp(bytes.baseAddress!, other.baseAddress!, neighbour.plainLength) == 0
                    && isPlainPath(bytes[neighbour.plainLength...])
            }
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte | 0x20 &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
    }

    private static func plainHost(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        let host = String(unsafeUninitializedCapacity: bytes.count) { room in
            for (index, byte) in bytes.enumerated() { room[index] = byte.asciiLowercased }
            return bytes.count
        }
        let last = (bytes.lastIndex(of: UInt8(ascii: ".")) ?? bytes.startIndex - 1) + 1
        guard last < bytes.endIndex else { return nil }
        // libcurl reads "2130706433" and "0x7f.1" as IPv4 addresses, so these are left to its parser.
        return bytes[last] | 0x20 &- 0x61 < 26 || IPAddress(host) != nil ? host : nil
    }
}

/// The scheme, host and port of a URL, to which credentials belong. It is an object because the URLs of a list share
/// it.
final class Origin: Hashable, Sendable {
    /// The scheme in lower case.
    let scheme: String
    /// The host in lower case; IPv6 literals are in brackets.
    let host: String
    let port: Int
    let isSecure: Bool
    var isHTTP: Bool { isSecure || scheme == "http" }
    /// The host without a dot at its end, with its port unless that is the scheme's default. Names the host's queue.
    let authority: String

    init(scheme: String, host: String, port: Int) {
        self.scheme = scheme
        self.host = host
        self.port = port
        isSecure = scheme == "https"
        let name = String(HostName.withoutDot(host[...]))
        authority = port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
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
