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
    /// Adds what proves the sender's identity. `blob` is nil for a request without a body.
    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest?)
    /// The first page of the server's list.
    var firstPage: BlobPage { get }
    /// The page that exists if the address is right, in the place of a first page that does not exist yet.
    var rootPage: BlobPage { get }
    /// Returns what a page holds; `now` is the server's time. Throws `remoteIsUnavailable` (3017) for anything else than a
    /// page, or if a part of the list is missing.
    func contents(of page: BlobPage, _ xml: [UInt8], at now: Timestamp) throws(KingfisherError) -> BlobPage.Contents
    /// Returns what follows the reason of a refusal: its cause, where it is known. Begins with a semicolon, or is empty.
    func advice(on status: Int, _ head: ResponseHead, isLookUp: Bool) -> String
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

    func sign(_ request: inout TransferRequest, for blob: CacheLayerRequest?) {}

    func advice(on status: Int, _ head: ResponseHead, isLookUp: Bool) -> String { "" }

    // MARK: The list

    var firstPage: BlobPage {
        var page = page(RemoteLayout.root)
        page.mayBeMissing = true
        return page
    }

    var rootPage: BlobPage { page("") }

    /// Returns the page of a folder.
    private func page(_ place: String) -> BlobPage {
        BlobPage(url: address.root + address.prefix + place, method: .listCollection, place: place)
    }

    func contents(of page: BlobPage, _ xml: [UInt8], at now: Timestamp) throws(KingfisherError) -> BlobPage.Contents {
        guard let list = DAVPage(xml) else { throw .cannotList(name, "what the server sent is no list of WebDAV") }
        let folder = DAVPage.plain(PercentCoding.decode(address.prefix) + page.place) + "/"
        var contents = BlobPage.Contents()
        var hasItself = false
        for member in list.members {
            if member.path + "/" == folder, member.isCollection { hasItself = true }
            guard member.path.hasPrefix(folder) else { continue }
            let path = page.place + member.path.dropFirst(folder.count)
            switch RemoteLayout.place(path) {
            case nil: break
            case .folder:
                guard member.isCollection else { throw .cannotList(name, "\(path) is no folder") }
                contents.pages.append(self.page(path + "/"))
            case .blob where member.isCollection: break
            case .blob(let path):
                guard !member.hasFailed, let size = member.size,
                    let blob = CacheLayerBlob(path: path, bytes: size, usedAt: member.modified, now: now)
                else { throw .cannotList(name, "the server does not say what \(member.path) is") }
                contents.blobs.append(blob)
            }
        }
        // Otherwise the server calls its folders by other names.
        guard hasItself else { throw .cannotList(name, "the server's list is not that of \(folder)") }
        return contents
    }
}
