import KFNetwork
import KFStorage
import KFTerms

/// A URL to download, with the terms of the transfer.
struct DownloadOrder: Sendable {
    let url: RequestURL
    let terms: DownloadTerms
    var condition: RequestCondition?
    var isForMirror = false
    /// Whether the retry strategy has asked for the transfer.
    var isRetry = false
    /// Whether a request that the host refuses for a limit is made again when the host allows it.
    var outwaitsLimits = false
    /// Called with the bytes as they arrive. A call with a tap has a transfer of its own.
    var tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// The retrieval whose caches receive the image and have it if another process stores it first; nil if no cache takes
    /// part.
    var retrieval: Retrieval?
    /// The number of commits by other processes when the look-up missed; nil to fetch regardless of later commits.
    var commits: Int64?
    /// The moment of that look-up in the table of shared work; nil as for `commits`.
    var moment: UInt64?
    var delegate: (any ImageDownloaderDelegate)?
    var responder: (any AuthenticationChallengeResponsible)?
}

extension DownloadOrder {
    /// Requires a job whose source is a URL.
    init(_ job: ImageJob, _ url: RequestURL) {
        let (retrieval, asking, isRetry) = job.state.withLock { ($0.retrieval, $0.asking, $0.retried > 0) }
        let mirror = asking.mirror(of: retrieval)
        let condition = asking.condition(retrieval)
        self.init(
            url: mirror ?? url, terms: mirror.flatMap { _ in retrieval.box.mirrored } ?? retrieval.box.download,
            // The validators of the source mean nothing to a mirror.
            condition: mirror == nil || condition?.place != nil ? condition : nil, isForMirror: mirror != nil,
            isRetry: isRetry, outwaitsLimits: retrieval.options.retryStrategy != nil,
            tap: retrieval.tap, retrieval: retrieval, commits: asking.commits, moment: asking.moment,
            delegate: job.downloader.delegate, responder: job.downloader.authenticationChallengeResponder)
    }
}

/// The identity of a transfer. Calls with equal keys share one transfer (single flight). A class, so that the tables that
/// move it around move one word.
final class DownloadKey: Hashable, Sendable {
    let downloader: ObjectIdentifier
    /// The URL of the source, before any modifier.
    let url: RequestURL
    /// The options of the request, the limits of the transfer, and the check of its image.
    let terms: DownloadTerms
    let condition: RequestCondition?
    /// The cache whose files receive the body.
    let cache: ObjectIdentifier?
    let isForMirror: Bool
    let delegate: ObjectIdentifier?
    let responder: ObjectIdentifier?
    /// A unique number for a call that shares no transfer, otherwise 0.
    let unique: UInt64
    /// The text of the URL is hashed once, and not again when a table grows.
    private let hash: Int

    /// Creates the key of an order for a downloader.
    init(_ order: DownloadOrder, _ downloader: ImageDownloader, unique: UInt64) {
        self.downloader = ObjectIdentifier(downloader)
        (url, terms, condition, isForMirror) = (order.url, order.terms, order.condition, order.isForMirror)
        cache = order.retrieval.map { ObjectIdentifier($0.originals) }
        delegate = order.delegate.map { ObjectIdentifier($0) }
        responder = order.responder.map { ObjectIdentifier($0) }
        self.unique = unique
        var hasher = Hasher()
        hasher.combine(url)
        hasher.combine(unique)
        hash = hasher.finalize()
    }

    static func == (a: DownloadKey, b: DownloadKey) -> Bool {
        a.hash == b.hash && a.unique == b.unique && a.url.text == b.url.text && a.downloader == b.downloader
            && a.cache == b.cache && a.delegate == b.delegate && a.responder == b.responder
            && a.condition == b.condition && a.isForMirror == b.isForMirror && a.terms.isAlike(b.terms)
            && a.hasSameRequest(as: b)
    }

    /// The digests are made only where two calls with other options want one URL.
    private func hasSameRequest(as other: DownloadKey) -> Bool {
        terms === other.terms && url == other.url || terms.digest(of: url) == other.terms.digest(of: other.url)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

/// The terms of downloading and checking images. One object is made per call or run, and all of its transfers share it.
final class DownloadTerms: Sendable {
    let request: RequestOptions
    let inspector: ImageInspector
    /// Whether images are accepted with any status from 200 to 299.
    let acceptsEverySuccess: Bool
    /// The engine's options, without credentials from a URL.
    let transfer: TransferTerms

    init(_ request: RequestOptions, _ inspector: ImageInspector, acceptsEverySuccess: Bool) {
        self.request = request
        self.inspector = inspector
        self.acceptsEverySuccess = acceptsEverySuccess
        var options = request.transfer
        if acceptsEverySuccess { options.acceptedStatus = ResponseStatus.bringingImages }
        transfer = TransferTerms(options)
    }

    /// Returns the digest of a request, which identifies a body that can be resumed.
    func digest(of url: RequestURL) -> Digest { RequestIdentity.digest(url, request) }

    /// Returns whether a transfer with the other terms would end in the same way.
    func isAlike(_ other: DownloadTerms) -> Bool {
        self === other || transfer.options == other.transfer.options && inspector == other.inspector
    }
}
