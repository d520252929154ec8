import KFNetwork
import KFStorage

/// A URL to download, and on what terms.
struct DownloadOrder: Sendable {
    let url: RequestURL
    let terms: DownloadTerms
    var condition: RequestCondition?
    /// Sees the bytes as they come. A call with it has a transfer of its own.
    var tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// Where the image belongs; nil when nothing is to be stored.
    var place: DownloadPlace?
    var delegate: (any ImageDownloaderDelegate)?
    var responder: (any AuthenticationChallengeResponsible)?
}

/// Where an image belongs that is to be downloaded, and who knows whether it is there by now.
struct DownloadPlace: Sendable {
    let cache: ImageCache
    /// The key of the original image.
    let key: EntryKey
    /// Something of what comes may be stored.
    let stores: Bool
    /// Commits of other processes when the image was missing; nil when it is fetched whatever they have stored.
    let commitsSeen: Int64?
    let finder: any ImageFinder
}

/// Knows whether an image is cached by now.
protocol ImageFinder: AnyObject, Sendable {
    /// Blocks on the disk.
    var isCached: Bool { get }
}

/// Calls with equal keys get the same answer by one transfer.
struct DownloadKey: Hashable, Sendable {
    let downloader: ObjectIdentifier
    /// The URL that was asked for, whatever a modifier made of it.
    let url: String
    let request: Digest
    /// The limits of the transfer, and the check of its image.
    let terms: DownloadTerms
    let condition: RequestCondition?
    /// Bodies are written into files of this cache.
    let cache: ObjectIdentifier?
    let delegate: ObjectIdentifier?
    let responder: ObjectIdentifier?
    /// Another number for each call that shares with no other; else 0.
    let unique: UInt64

    static func == (a: DownloadKey, b: DownloadKey) -> Bool {
        a.request == b.request && a.unique == b.unique && a.url == b.url && a.downloader == b.downloader
            && a.cache == b.cache && a.delegate == b.delegate && a.responder == b.responder
            && a.condition == b.condition && a.terms.isAlike(b.terms)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(request.prefix)
        hasher.combine(unique)
    }
}

/// The terms on which images are downloaded and checked: made once for a call or a run, and shared by all of its transfers.
final class DownloadTerms: Sendable {
    let request: RequestOptions
    let inspector: ImageInspector
    /// Images are accepted with any status from 200 to 299.
    let acceptsEverySuccess: Bool
    /// The engine's part, except for credentials that a URL brings.
    let transfer: TransferTerms

    init(_ request: RequestOptions, _ inspector: ImageInspector, acceptsEverySuccess: Bool) {
        self.request = request
        self.inspector = inspector
        self.acceptsEverySuccess = acceptsEverySuccess
        var options = request.transfer
        if acceptsEverySuccess { options.acceptedStatus = ResponseStatus.bringingImages }
        transfer = TransferTerms(options)
    }

    /// Whether a transfer on the other terms would end in the same way.
    func isAlike(_ other: DownloadTerms) -> Bool {
        self === other || transfer.options == other.transfer.options && inspector == other.inspector
    }
}
