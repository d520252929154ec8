import KFStorage
import KFSystem

/// The source of an image. Kingfisher's `Source`.
public enum Source: Sendable {
    /// A resource to download.
    case network(any Resource)
    /// A provider, such as a file or bytes in memory.
    case provider(any ImageDataProvider)

    /// The cache key of the original.
    public var cacheKey: String {
        switch self {
        case .network(let resource): resource.cacheKey
        case .provider(let provider): provider.cacheKey
        }
    }

    /// Returns the cache key for a request with these options.
    ///
    /// If the URL is the key, everything that identifies the requester is added. A key that the resource names gets
    /// only the identities that a modifier, redirect handler or responder names. The terms of trust are added to both.
    ///
    /// A modifier without a `cacheIdentity` is not run; ``RetrieveImageResult/key`` has the key that results from it.
    public func cacheKey(for request: RequestOptions) -> String {
        guard case .network(let resource) = self else { return cacheKey }
        let url = resource.downloadURL
        let key = resource.cacheKey
        guard key == url.cacheKey else {
            return key.with(RequestIdentity.suffix(ofNamedKeyFor: url, request))
        }
        return request.keyText(of: url).with(RequestIdentity.suffix(url, request))
    }

    /// Returns the name that stays when the source is asked by another user, is signed anew, or is a file that changes.
    package func listName(for request: RequestOptions) -> String {
        switch self {
        case .network(let resource):
            let url = resource.downloadURL
            return resource.cacheKey == url.cacheKey ? request.keyText(of: url) : resource.cacheKey
        case .provider(let file as LocalFileImageDataProvider):
            let key = file.cacheKey
            let end = key.hasPrefix("file:") ? key.unicodeScalars.lastIndex(of: "?") : nil
            return end.map { String(key.unicodeScalars[..<$0]) } ?? key
        case .provider(let provider): return provider.cacheKey
        }
    }

    /// Returns the source of a URL, under its own key unless another one is given.
    package static func url(_ url: RequestURL, key: String?) -> Source {
        .network(key.map { ImageResource(downloadURL: url, cacheKey: $0) } ?? url)
    }

    /// The name in messages, without secrets of the URL.
    public var name: String {
        switch self {
        case .network(let resource): resource.downloadURL.redacted
        case .provider(let provider): provider.name
        }
    }
}

extension String {
    /// Appends the suffix of a key. An empty one copies nothing, so that look-ups in memory allocate nothing for it.
    fileprivate func with(_ suffix: String) -> String { suffix.isEmpty ? self : self + suffix }
}

/// A URL to download and its cache key. Kingfisher's `Resource`.
public protocol Resource: SourceConvertible {
    /// The cache key of the original.
    var cacheKey: String { get }
    /// The URL to request.
    var downloadURL: RequestURL { get }
}

/// A value that names an image: a source, a resource or a URL.
public protocol SourceConvertible: Sendable {
    /// Returns the source of the image.
    func convertToSource() -> Source
}

extension Source: SourceConvertible {
    public func convertToSource() -> Source { self }
}

extension Resource {
    public func convertToSource() -> Source { .network(self) }
}

extension RequestURL: Resource {
    /// The normal form. Credentials add a digest of themselves, because one user may not see the images of another. The
    /// values are not in the key.
    public var cacheKey: String {
        credentials == nil ? text : text + RequestIdentity.suffix(self, RequestOptions())
    }

    public var downloadURL: RequestURL { self }
}

/// A URL with its own cache key. Kingfisher's `ImageResource`.
public struct ImageResource: Resource {
    public let cacheKey: String
    public let downloadURL: RequestURL

    /// Creates a resource. Without a key, the URL's normal form is the key.
    public init(downloadURL: RequestURL, cacheKey: String? = nil) {
        self.downloadURL = downloadURL
        self.cacheKey = cacheKey ?? downloadURL.cacheKey
    }
}

extension Source {
    /// The name of the image in its source, with its extension. It may contain characters that are unsafe in file names.
    public var fileName: String {
        switch self {
        case .network(let resource): resource.downloadURL.lastPathComponent
        case .provider(let provider as LocalFileImageDataProvider):
            String(provider.path.pathComponents.last ?? "")
        case .provider: ""
        }
    }

    /// The name of the image in its source, without extension. It may contain characters that are unsafe in file names.
    public var fileStem: String {
        let name = fileName
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
        return String(name[..<dot])
    }

    /// The folders of the URL's path, or of a local path below `root`.
    package func folders(below root: String?) -> [String] {
        switch self {
        case .network(let resource): return resource.downloadURL.folders
        case .provider(let provider as LocalFileImageDataProvider):
            var path = provider.path[...]
            if let root, path.hasPrefix(root) { path = path.dropFirst(root.count) }
            return path.pathComponents.dropLast().map { String($0) }.filter { $0 != "." && $0 != ".." }
        case .provider: return []
        }
    }
}

extension RequestURL {
    /// Returns whether the text is an http or https URL.
    public static func isValid(_ text: String) -> Bool { (try? RequestURL(text)) != nil }

    /// Returns the text without user info, which must not appear anywhere, even if the text is not a valid URL.
    public static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@"), text[..<at].contains(":") else { return text }
        if let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"), (try? RequestURL(text)) != nil {
            let start = text.index(colon, offsetBy: 3)
            let authority = text[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            guard let end = authority.lastIndex(of: "@") else { return text }
            return String(text[..<start] + text[text.index(after: end)...])
        }
        // The text is not a URL, but may be meant as one, with a slash in its password or without a scheme.
        return "…@" + text[text.index(after: at)...]
    }

    /// Returns the text without user info and query, for messages.
    public static func redacted(_ text: String) -> String {
        let shown = withoutUserInfo(text)
        guard let mark = shown.firstIndex(of: "?") else { return shown }
        return shown[..<mark] + "?…"
    }
}

extension LocalFileImageDataProvider {
    /// Creates a provider from `file:///path` or `file://localhost/path`. Throws `invalidURL` (1002) for files of
    /// another host.
    public init(fileURL text: String, cacheKey: String? = nil) throws(KingfisherError) {
        try self.init(path: Self.path(of: text), cacheKey: cacheKey)
    }

    /// Returns the path that a text means; one that is no whole file: URL is a path itself.
    package static func localPath(of text: String) -> String {
        bestEffort { () throws(KingfisherError) in try path(of: text) } ?? text
    }

    /// Returns the path of a file: URL. Any other text is a path itself.
    package static func path(of text: String) throws(KingfisherError) -> String {
        guard text.prefix(5).lowercased() == "file:" else { return text }
        var rest = text.dropFirst("file:".count)
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            if rest.lowercased().hasPrefix("localhost/") { rest = rest.dropFirst("localhost".count) }
        }
        guard rest.hasPrefix("/") else {
            throw .requestError(
                reason: .invalidURL(problem: "a file: URL needs an absolute path, as in file:///tmp/a.png"))
        }
        return RawText.decode(PercentCoding.decodeBytes(rest))
    }
}

/// Cache keys that a user or a list gives in place of a source's own key.
///
/// They never equal the key of a source: a given key that begins like one is stored with the prefix `key:`. Any other
/// key is stored as it is, `shoes` as `shoes`.
package enum GivenKey {
    package static let prefix = "key:"

    /// The prefixes of the keys of URLs, files and bytes. `key:` itself is reserved too, so that `key:a` differs from
    /// the stored form of `a`.
    private static let reserved = ["http:", "https:", "file:", "data:", "sha256:", prefix]

    package static func cacheKey(_ given: String) -> String {
        let start = given.prefix(8).lowercased()
        return reserved.contains(where: start.hasPrefix) ? prefix + given : given
    }
}

/// A source that fails with an error, in place of an invalid one.
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
