import KFNetwork
import KFStorage
import KFSystem
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
    /// Whether the body of a 404 says that the place of all blobs is missing; nil for a server that does not say so.
    var isAbsence: (@Sendable ([UInt8]) -> Bool)? { get }
    /// Adds what proves the sender's identity.
    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest)
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
    var isAbsence: (@Sendable ([UInt8]) -> Bool)? { nil }

    init(_ url: RemoteURL) throws(KingfisherError) {
        guard !url.host.isEmpty else { throw RemoteURL.invalid("the address has no host") }
        address = RemoteAddress(url, prefix: url.prefix)
        credentials = url.credentials
        name = address.root.dropLast() + url.trimmedPath
    }

    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest) {}

    func advice(on status: Int, _ head: ResponseHead, isWrite: Bool) -> String { "" }
}
