import KFSystem

/// A place that has copies of another one's files. It is asked first, and the URL of the source if it has none.
///
/// `https://images.example.com/photos` covers `https://images.example.com/photos/cat.jpg`, and neither `…/photos2` nor
/// another host whose name begins alike. The rest of the URL is appended to the mirror's.
public struct SourceMirror: Sendable, Hashable {
    private let from: String
    private let to: String

    /// The prefix of the URLs that the mirror has, in their normal form.
    public var prefix: String { from }

    /// Creates a mirror for the URLs that begin with one URL, at another one. Throws `invalidURL` (1002); neither may have
    /// a query or a fragment. User info of `place` is sent to it.
    public init(of prefix: String, at place: String) throws(KingfisherError) {
        let from = try Self.url(prefix)
        guard from.credentials == nil else {
            throw .requestError(reason: .invalidURL(problem: "the beginning of the URLs of a mirror has user info"))
        }
        // Both end with a slash or neither does, so that the rest continues either.
        self.from = from.text
        _ = try Self.url(place)
        let bare = String(place.reversed().drop { $0 == "/" }.reversed())
        to = from.text.hasSuffix("/") ? bare + "/" : bare
    }

    private static func url(_ text: String) throws(KingfisherError) -> RequestURL {
        if text.contains("?") || text.contains("#") {
            throw .requestError(reason: .invalidURL(problem: "the URL of a mirror has a query or a fragment"))
        }
        return try RequestURL(text)
    }

    /// Returns the mirror's URL for that of a source; nil if the mirror does not cover it. Neither URL may leave its prefix
    /// by `..`, because the server of the mirror would then be asked, with its password, for what it does not mirror.
    func url(for text: String) -> RequestURL? {
        guard text.hasPrefix(from), Self.isPath(text, below: from) else { return nil }
        let rest = text.dropFirst(from.count)
        guard from.hasSuffix("/") || rest.isEmpty || rest.first == "/" || rest.first == "?",
            Self.isPath(to + rest, below: to)
        else { return nil }
        return try? RequestURL(to + rest)
    }

    private static func isPath(_ url: String, below prefix: String) -> Bool {
        components(url).starts(with: components(prefix))
    }

    /// Returns the scheme, the authority and the components of the path as the laxest server would read them: escapes are
    /// decoded, even twice, a backslash separates, empty components do not count, and `..;x` is `..`.
    private static func components(_ url: String) -> [[UInt8]] {
        var path = Array(url.utf8.prefix { $0 != UInt8(ascii: "?") })
        while case let decoded = PercentCoding.decodeBytes(path), decoded != path { path = decoded }
        let parts = path.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        return parts.reduce(into: []) { result, part in
            switch Array(part.prefix { $0 != UInt8(ascii: ";") }) {
            case Array(".".utf8): break
            // The scheme and the authority stay.
            case Array("..".utf8): if result.count > 2 { result.removeLast() }
            default: result.append(Array(part))
            }
        }
    }
}

extension RequestOptions {
    /// Returns the URLs of the mirrors for that of a source. They lack the parameters that the key lacks, which may be
    /// signatures.
    package func mirrored(_ url: RequestURL) -> [RequestURL] {
        if mirrors.isEmpty { return [] }
        let text = cacheKeyFilter == nil ? keyText(of: url) : url.text
        return mirrors.compactMap { $0.url(for: text) }
    }

    /// The options for a mirror, which gets no secrets of the source.
    package var forMirrors: RequestOptions {
        var options = outsideScope
        options.mirrors = []
        return options
    }
}
