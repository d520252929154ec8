import KFStorage

/// Where an image comes from. Kingfisher's `Source`.
public enum Source: Sendable {
    /// To be downloaded.
    case network(any Resource)
    /// Given by the caller: a file, bytes.
    case provider(any ImageDataProvider)

    public var cacheKey: String {
        switch self {
        case .network(let resource): resource.cacheKey
        case .provider(let provider): provider.cacheKey
        }
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
public protocol Resource: Sendable {
    var cacheKey: String { get }
    var downloadURL: RequestURL { get }
}

extension RequestURL: Resource {
    /// The normal form. What one user may see is not what another may: credentials add a digest of themselves, behind
    /// a sign that no normal form has. Their values are not in it.
    public var cacheKey: String {
        guard let credentials else { return text }
        var sha = SHA256()
        for part in ["kf credentials", host, credentials.user, credentials.password] { sha.update("\(part)\0") }
        return "\(text)#user=\(sha.finish().hex.prefix(16))"
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
