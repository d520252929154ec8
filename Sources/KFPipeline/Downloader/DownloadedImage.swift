import KFImaging
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The checked bytes of a whole image, from a transfer or a provider.
final class DownloadedImage: Sendable {
    private let pending: Mutex<PendingBytes>
    let findings: ImageInspector.Findings
    /// The response; nil for a provider or a remote.
    let response: ResponseFacts?
    /// The URL that was requested, after the request modifier; nil for a provider or a remote.
    let url: RequestURL?
    /// Whether a redirect handler or challenge responder without an identity influenced the response. The image then
    /// belongs to this call alone.
    let isPersonal: Bool
    /// The claim that keeps other processes from requesting the key.
    let flight: FlightHold?
    let stores: OrderBook
    /// The entry of the remote that it came from; nil if it came from its source.
    let entry: RemoteEntry?
    /// How it came: fetched, from a remote, or from one without an entry for it (pinned).
    let way: RetrievalWay
    /// The stores of results made from it, until all waiters have received it; nil afterwards.
    private let made = Mutex<[OrderBook]?>([])
    private let known = Mutex<Digest?>(nil)
    /// The room that it takes, until everything is stored.
    private let room: (Room, bytes: Int64)?
    /// Whether the delegate has received the unprocessed image.
    private let hasTold = Atomic(false)

    init(
        _ bytes: PendingBytes, _ findings: ImageInspector.Findings, response: ResponseFacts?, url: RequestURL? = nil,
        isPersonal: Bool = false,
        flight: FlightHold?, stores: OrderBook, entry: RemoteEntry? = nil,
        way: RetrievalWay = .fetched, room: (Room, bytes: Int64)? = nil
    ) {
        self.room = room
        pending = Mutex(bytes)
        self.findings = findings
        self.response = response
        self.url = url
        self.isPersonal = isPersonal
        self.flight = flight
        self.stores = stores
        (self.entry, self.way) = (entry, way)
    }

    /// Whether the image and what is made from it may be stored.
    var isKept: Bool { !isPersonal && way != .pinned && !findings.warnings.contains(where: \.isDamage) }

    /// Whether it is the image as its server sent it. A remote may have had the processed image.
    var isOriginal: Bool { entry?.original == nil }

    /// The bytes, in memory or in a file of the cache.
    var bytes: PendingBytes { pending.withLock { $0 } }

    deinit { if let (room, bytes) = room { room.change(bytes: -bytes, count: -1) } }

    /// Returns a closure that passes a processed image to the delegate; nil without a delegate or a URL.
    func telling(_ delegate: (any ImageDownloaderDelegate)?) -> (@Sendable (Image) -> Void)? {
        guard let delegate, let url else { return nil }
        return { [response] made in delegate.imageDownloader(didDownload: made, for: url, with: response) }
    }

    /// Passes the unprocessed image to the delegate, once.
    func tell(_ delegate: any ImageDownloaderDelegate, _ options: ProcessingOptions) {
        guard format.isDecodable, delegate.wantsUnprocessedImages, !hasTold.exchange(true, ordering: .relaxed),
            let tell = telling(delegate)
        else { return }
        let decoded = Result {
            let loaded = try bytes.load()
            return try Allowance(options.decode.limits, fileBytes: loaded.count).run { () throws(ImagingError) in
                try ImageDecoder.decode(loaded, options: options.decode)
            }
        }
        // The call did not request pixels, so damage must not fail it.
        if case .success(let image) = decoded { tell(image) }
    }

    /// Replaces the bytes in memory by the file that now contains them.
    func move(to file: StagedObject) { pending.withLock { $0 = .staged(file) } }

    /// Returns the digest of the bytes, without hashing them again if their store has it, or if they have been hashed
    /// here.
    func digest(stored: StoreOrder?) throws(KingfisherError) -> Digest {
        if let digest = stored?.change?.digest ?? digestSoFar { return digest }
        let digest = try bytes.digest()
        known.withLock { $0 = digest }
        return digest
    }

    /// The digest, if it has been computed.
    var digestSoFar: Digest? { known.withLock { $0 } }

    /// Throws `unexpectedContent` (2011) unless the bytes have the hash.
    func check(_ pin: ContentHash?) throws(KingfisherError) {
        guard let pin else { return }
        let digest = try digest(stored: nil)
        let matches = if let known = pin.matches(digest) { known } else { pin.matches(try bytes.load()) }
        if matches { return }
        let found = pin.function == .sha256 ? ContentHash(digest) : pin.function.hash(of: try bytes.load())
        throw .responseError(
            reason: .unexpectedContent(
                expected: pin.description, found: found.description, bytes: bytes.size))
    }

    /// Keeps the stores of a result until all waiters have received the image. Returns false if they already have.
    func keep(_ stores: OrderBook) -> Bool {
        made.withLock { $0?.append(stores) } != nil
    }

    /// Delivers the image to all waiters of the work that brought it.
    func deliver(of work: any SharedWork, reporting received: Int64? = nil, _ turn: inout Turn) {
        work.table.deliver(.image(self), of: work, stays: true, reporting: received, &turn)
        release()
    }

    /// Releases all stores, once every waiter has received the image.
    private func release() {
        let made = made.withLock { made in
            defer { made = nil }
            return made
        }
        for stores in made ?? [] { stores.release() }
        stores.release()
    }

    var format: ImageFormat { findings.format }

    var info: ImageInfo? { findings.info }

    /// The measures of the original, which may be another image than one that a remote had; nil if they are not known.
    var originalMeasures: ImageMeasures? {
        if let entry, !isOriginal { return HeaderLines(entry.freshness).measures }
        return ImageMeasures(format: format, width: info?.width, height: info?.height, bytes: bytes.size)
    }
}
