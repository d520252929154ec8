import KFNetwork
import KFTerms

/// The server of an ``HTTPCacheLayer``: its address, its credentials, and the meaning of some statuses.
protocol BlobServer: Sendable {
    /// The name in messages, which holds no secret.
    var name: String { get }
    var address: RemoteAddress { get }
    /// The user and the password of the address.
    var credentials: Credentials? { get }
    /// Whether blobs lie in collections (WebDAV), which have to be made.
    var hasCollections: Bool { get }
    /// The reason when a blob cannot be written because its place is missing.
    var absence: String { get }
    /// Adds what proves the sender's identity. `blob` is nil for a request without a body.
    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest?)
    /// Returns the URL of a page of the server's list, and what precedes a blob's path there; nil if it cannot list.
    func list(after token: String?) -> (url: String, prefix: String)?
    /// Returns what follows the reason of a refusal: its cause, where it is known. Begins with a semicolon, or is empty.
    func advice(on status: Int, _ head: ResponseHead, isWrite: Bool) -> String
}

/// A web server: `http:` and `https:` remotes.
struct WebServer: BlobServer {
    let name: String
    let address: RemoteAddress
    let credentials: Credentials?
    var hasCollections: Bool { true }
    var absence: String { "no such folder" }

    init(_ url: RemoteURL) throws(KingfisherError) {
        guard !url.host.isEmpty else { throw RemoteURL.invalid("the address has no host") }
        address = RemoteAddress(url, prefix: url.prefix)
        credentials = url.credentials
        name = address.root.dropLast() + url.trimmedPath
    }

    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest?) {}

    func list(after token: String?) -> (url: String, prefix: String)? { nil }

    func advice(on status: Int, _ head: ResponseHead, isWrite: Bool) -> String { "" }
}
