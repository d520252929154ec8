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

    /// Returns the mirror's URL for that of a source; nil if the mirror does not cover it.
    func url(for text: String) -> RequestURL? {
        guard text.hasPrefix(from) else { return nil }
        let rest = text.dropFirst(from.count)
        guard from.hasSuffix("/") || rest.isEmpty || rest.first == "/" || rest.first == "?" else { return nil }
        return try? RequestURL(to + rest)
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
