import KFStorage

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
