/// An http or https URL in its normal form: scheme and host in lower case, no default port, no fragment, and the user
/// info taken out. The normal form is both what is requested and the cache key.
public struct RequestURL: Hashable, Sendable {
    /// The normal form; bytes outside ASCII are percent-encoded in path and query.
    public let text: String
    /// `http` or `https`.
    public let scheme: String
    /// As totals are kept by: the host, with its port when that is not the scheme's own.
    public let host: String
    /// From the URL's user info, percent-decoded. They are never part of `text`.
    public let credentials: Credentials?

    /// Throws `invalidURL` (1002) with what is wrong, in words.
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

    /// The path's last component, percent-decoded: a name for a file; empty when the path ends in a slash.
    public var lastPathComponent: String {
        let path = text.dropFirst(scheme.count + 3 + host.count).prefix { $0 != "?" }
        return PercentCoding.decode(path.split(separator: "/", omittingEmptySubsequences: false).last ?? "")
    }

    /// Whether both have the same scheme, host and port: what credentials belong to.
    func isSameOrigin(as other: RequestURL) -> Bool { scheme == other.scheme && host == other.host }

    /// The normal form up to the query.
    var withoutQuery: String { String(text.prefix { $0 != "?" }) }

    /// Without the query, whose place `?…` marks: what messages show, since queries carry signatures.
    public var redacted: String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        return text[..<mark] + "?…"
    }
}
