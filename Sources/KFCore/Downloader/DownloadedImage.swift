import KFImaging
import KFStorage
import Synchronization

/// What a transfer or a provider brought, checked: an image's bytes, whole.
final class DownloadedImage: Sendable {
    private let pending: Mutex<PendingBytes>
    let findings: ImageInspector.Findings
    /// Nil for what no server sent.
    let response: ResponseFacts?
    /// What was requested, after the request modifier; nil for what no server sent.
    let url: RequestURL?
    /// A redirect handler or a challenge responder without an identity had a say in it: it is for this call alone.
    let isPersonal: Bool
    /// Keeps other processes from requesting the key.
    let flight: FlightHold?
    /// Where it is being stored.
    let orders: OrderBook
    /// Where what is made of it is being stored, while it is being given to those who wait for it; nil after that.
    private let made = Mutex<[OrderBook]?>([])
    /// Somebody takes it as it is, and the delegate has been told.
    private let hasTold = Atomic(false)

    init(
        _ bytes: PendingBytes, _ findings: ImageInspector.Findings, response: ResponseFacts?, url: RequestURL? = nil,
        isPersonal: Bool = false,
        flight: FlightHold?, orders: OrderBook
    ) {
        pending = Mutex(bytes)
        self.findings = findings
        self.response = response
        self.url = url
        self.isPersonal = isPersonal
        self.flight = flight
        self.orders = orders
    }

    /// In memory, or in a file of the cache.
    var bytes: PendingBytes { pending.withLock { $0 } }

    /// Tells the delegate of what a processor made of it; nil when there is nobody to tell.
    func telling(_ delegate: (any ImageDownloaderDelegate)?) -> ((Image) -> Void)? {
        guard let delegate, let url else { return nil }
        return { [response] made in delegate.imageDownloader(didDownload: made, for: url, with: response) }
    }

    /// Tells the delegate, once, of the image that is taken as it came.
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
        // The call did not ask for pixels: damage is not its failure.
        if case .success(let image) = decoded { tell(image) }
    }

    /// The bytes are in a file now, and leave memory.
    func move(to file: StagedObject) { pending.withLock { $0 = .staged(file) } }

    /// What is made of it stays at hand until all who wait for the image have been given it. False when they have.
    func keep(_ orders: OrderBook) -> Bool {
        made.withLock { $0?.append(orders) } != nil
    }

    /// All who waited for it have been given it.
    func release() {
        let made = made.withLock { made in
            defer { made = nil }
            return made
        }
        for orders in made ?? [] { orders.release() }
        orders.release()
    }

    var format: ImageFormat { findings.format }
    var info: ImageInfo? { findings.info }
}

extension Result<DownloadAnswer, KingfisherError> {
    var isImage: Bool {
        if case .success(.image) = self { return true }
        return false
    }
}

/// How a source answered.
enum DownloadAnswer: Sendable {
    case image(DownloadedImage)
    /// 304, the answer to a condition. The flight keeps other processes from requesting the key.
    case unchanged(ResponseFacts, FlightHold?)
    /// Nothing was asked: another process has stored the image meanwhile.
    case stored
    /// A status without an image; a personal one was given to this caller alone.
    case refused(ResponseFacts, isPersonal: Bool)
}
