import KFStorage
import KFSystem

/// Where an image comes from. Kingfisher's `Source`.
public enum Source: Sendable {
    /// To be downloaded.
    case network(any Resource)
    /// Given by the caller: a file, bytes.
    case provider(any ImageDataProvider)

    /// What its original is kept under.
    public var cacheKey: String {
        switch self {
        case .network(let resource): resource.cacheKey
        case .provider(let provider): provider.cacheKey
        }
    }

    /// The key of what a request with these options brings. Where the URL is the key, everything that identifies the
    /// requester is part of it; a key that the resource names itself gets only what a modifier, redirect handler or
    /// responder names. The terms of trust are part of both.
    ///
    /// A modifier without a `cacheIdentity` is not run here; `RetrieveImageResult.key` has the key that came of it.
    public func cacheKey(for request: RequestOptions) -> String {
        guard case .network(let resource) = self else { return cacheKey }
        let url = resource.downloadURL
        let key = resource.cacheKey
        guard key == url.cacheKey else {
            return RequestIdentity.key(key, RequestIdentity.suffix(ofNamedKeyFor: url, request))
        }
        return RequestIdentity.key(request.keyText(of: url), RequestIdentity.suffix(url, request))
    }

    /// What messages show.
    public var name: String {
        switch self {
        case .network(let resource): resource.downloadURL.redacted
        case .provider(let provider): provider.name
        }
    }
}

/// Something to download and the key it is kept under. Kingfisher's `Resource`.
public protocol Resource: SourceConvertible {
    /// What its original is kept under.
    var cacheKey: String { get }
    /// What is requested.
    var downloadURL: RequestURL { get }
}

/// What an image can be asked for by: a source, a resource, a URL.
public protocol SourceConvertible: Sendable {
    /// Where the image comes from.
    func convertToSource() -> Source
}

extension Source: SourceConvertible {
    public func convertToSource() -> Source { self }
}

extension Resource {
    public func convertToSource() -> Source { .network(self) }
}

extension RequestURL: Resource {
    /// The normal form. What one user may see is not what another may: credentials add a digest of themselves, behind
    /// a sign that no normal form has. Their values are not in it.
    public var cacheKey: String {
        credentials == nil ? text : text + RequestIdentity.suffix(self, RequestOptions())
    }

    public var downloadURL: RequestURL { self }
}

/// A URL with a key of its own. Kingfisher's `ImageResource`.
public struct ImageResource: Resource {
    public let cacheKey: String
    public let downloadURL: RequestURL

    /// Without a key, the URL's normal form is the key.
    public init(downloadURL: RequestURL, cacheKey: String? = nil) {
        self.downloadURL = downloadURL
        self.cacheKey = cacheKey ?? downloadURL.cacheKey
    }
}

extension Source {
    /// The name that the source gives its image, without its extension; not yet fit for a file name.
    public var fileStem: String {
        let name: String
        switch self {
        case .network(let resource): name = resource.downloadURL.lastPathComponent
        case .provider(let provider as LocalFileImageDataProvider):
            name = String(provider.path.split(separator: "/").last ?? "")
        case .provider: name = ""
        }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }
}

extension RequestURL {
    /// Whether the text is an http or https URL.
    public static func isValid(_ text: String) -> Bool {
        if case .success = Result(catching: { () throws(KingfisherError) in try RequestURL(text) }) { return true }
        return false
    }

    /// What a person wrote, without user info: it is to appear nowhere, not even when the rest is no URL.
    public static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@"), text[..<at].contains(":") else { return text }
        if let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"), (try? RequestURL(text)) != nil {
            let start = text.index(colon, offsetBy: 3)
            let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard let end = authority.lastIndex(of: "@") else { return text }
            return String(text[..<start] + text[text.index(after: end)...])
        }
        // No URL, but perhaps meant as one, with a slash in its password or without its scheme.
        return "…@" + text[text.index(after: at)...]
    }

    /// The same, and without the query: what messages show.
    public static func redacted(_ text: String) -> String {
        let shown = withoutUserInfo(text)
        guard text.contains("://"), let mark = shown.firstIndex(of: "?") else { return shown }
        return shown[..<mark] + "?…"
    }
}

extension LocalFileImageDataProvider {
    /// From `file:///path` or `file://localhost/path`. Throws `invalidURL` (1002) for files of another machine.
    public init(fileURL text: String, cacheKey: String? = nil) throws(KingfisherError) {
        try self.init(path: Self.path(of: text), cacheKey: cacheKey)
    }

    /// The path that a file: URL means; any other text is a path itself.
    static func path(of text: String) throws(KingfisherError) -> String {
        guard text.prefix(5).lowercased() == "file:" else { return text }
        var rest = text.dropFirst("file:".count)
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            if rest.lowercased().hasPrefix("localhost/") { rest = rest.dropFirst("localhost".count) }
        }
        guard rest.hasPrefix("/") else {
            throw .requestError(
                reason: .invalidURL(problem: "a file: URL has an absolute path, as in file:///tmp/a.png"))
        }
        return RawText.decode(PercentCoding.decodeBytes(rest))
    }
}

/// Cache keys that a user or a list gives, in place of a source's own.
///
/// They never equal the key of a source: a given key that begins as such a key does is stored behind `key:`. Any other
/// is stored as it is, `shoes` as `shoes`.
package enum GivenKey {
    package static let prefix = "key:"

    /// How the keys of URLs, files and bytes begin, and the prefix itself: `key:a` must not be what `a` becomes.
    private static let reserved = ["http:", "https:", "file:", "data:", "sha256:", prefix]

    /// The key in the cache.
    package static func cacheKey(_ given: String) -> String {
        let start = given.prefix(8).lowercased()
        return reserved.contains(where: start.hasPrefix) ? prefix + given : given
    }
}

/// A source that gives nothing but an error: what a caller has named cannot be asked for.
package struct FailedSource: ImmediateImageDataProvider {
    package let name: String
    private let error: KingfisherError

    package init(name: String, error: KingfisherError) {
        self.name = name
        self.error = error
    }

    package var cacheKey: String { name }

    package func data() throws(KingfisherError) -> [UInt8] { throw error }
}
