import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// Downloads images and checks them. Kingfisher's `ImageDownloader`.
///
/// Calls that ask for the same at the same time share one transfer: the same request, on the same terms (time, size, trust,
/// way), for the same cache. Each can leave by cancelling its task; the last one to leave ends the transfer.
public final class ImageDownloader: Sendable {
    /// How many transfers there are at once, and when a host is left alone.
    public struct Configuration: Sendable {
        /// Transfers at once, in all and to one host.
        public var maxConnections = 64
        /// Transfers at once to one host.
        public var maxConnectionsPerHost = 8
        /// Starts per second to one host; nil is no limit.
        public var ratePerHost: Double?
        /// A host that has failed so often in a row is left alone for a while; 0 asks it on and on.
        public var failuresToOpenCircuit = 10
        /// For how long a host that has only failed is left alone.
        public var circuitSpan = Duration.seconds(60)

        /// The defaults: 64 transfers, 8 to a host, no limit of their rate.
        public init() {}
    }

    /// Calls with equal keys get the same answer by one transfer.
    struct DownloadKey: Hashable, Sendable {
        /// The URL that was asked for, whatever a modifier made of it.
        let url: String
        let request: Digest
        let terms: TransferTerms
        let condition: RequestCondition?
        /// Bodies are written into files of this cache.
        let cache: ObjectIdentifier?
        let delegate: ObjectIdentifier?
        let responder: ObjectIdentifier?
        let acceptsEverySuccess: Bool
        /// Another number for each call that shares with no other; else 0.
        let unique: UInt64
    }

    private let transport: any Transport
    private let circuits: HostCircuits
    /// Where failed downloads wait before they are tried again.
    let rests = RetryRests()
    private let downloads = JoinedTasks<DownloadKey, DownloadAnswer>()
    private let lastUnique = Atomic<UInt64>(0)
    private let weakDelegate = Mutex(WeakDelegates())

    /// Starts nothing: the network's thread begins, and libcurl is loaded, with the first transfer.
    public convenience init(_ configuration: Configuration = Configuration()) {
        var engine = EngineConfiguration()
        engine.maxConnections = configuration.maxConnections
        engine.maxPerHost = configuration.maxConnectionsPerHost
        engine.ratePerHost = configuration.ratePerHost
        self.init(configuration, transport: TransferEngine(configuration: engine))
    }

    init(_ configuration: Configuration, transport: any Transport) {
        self.transport = transport
        circuits = HostCircuits(
            terms: .init(failures: configuration.failuresToOpenCircuit, span: configuration.circuitSpan))
    }

    /// Is told of every transfer; held weakly.
    public var delegate: (any ImageDownloaderDelegate)? {
        get { weakDelegate.withLock { $0.delegate } }
        set { weakDelegate.withLock { $0.delegate = newValue } }
    }

    /// Answers servers that ask who asks; held weakly. Without one, `RequestOptions` alone say it.
    public var authenticationChallengeResponder: (any AuthenticationChallengeResponsible)? {
        get { weakDelegate.withLock { $0.responder } }
        set { weakDelegate.withLock { $0.responder = newValue } }
    }

    private struct WeakDelegates {
        weak var delegate: (any ImageDownloaderDelegate)?
        weak var responder: (any AuthenticationChallengeResponsible)?
    }

    /// Ends every transfer of this URL; all who wait for it get `taskCancelled` (1003).
    public func cancel(url: RequestURL) { downloads.cancel { $0.url == url.text } }

    /// Ends every transfer.
    public func cancelAll() { downloads.cancel { _ in true } }

    /// From now on nothing is downloaded but what is on its way.
    public func drain() {
        rests.end()
        transport.drain()
    }

    /// Ends the transfers that still run and the thread that drives them. To be called before the process exits.
    public func shutdown() { transport.shutdown() }

    /// The bytes of one image, whole and checked. Large ones are written to a file of `store` while they come. Calls for
    /// the same share them until `keep` has ended, so that it does not matter when the cache has them. `cache` is the one
    /// that the call works for, whether or not it stores. The options have been prepared. With `acceptsEverySuccess` an
    /// image may come with any status from 200 to 299.
    func download(
        _ url: RequestURL, _ options: RequestOptions, condition: RequestCondition?, inspector: ImageInspector,
        acceptsEverySuccess: Bool = false, store: BodyStore?, cache: ImageCache?, gate: FlightGate? = nil, wish: Wish,
        keep: @escaping @Sendable (DownloadedImage) async -> Void = { _ in }
    ) async throws(KingfisherError) -> DownloadAnswer {
        let (delegate, responder) = (delegate, authenticationChallengeResponder)
        let isIncomparable = options.redirectHandler.map { $0.cacheIdentity == nil } ?? false
        let unique =
            isIncomparable || options.onDataReceived != nil
            ? lastUnique.wrappingAdd(1, ordering: .relaxed).newValue : 0
        let identity = RequestIdentity.digest(url, options)
        let key = DownloadKey(
            url: url.text, request: identity, terms: TransferTerms(options, inspector), condition: condition,
            cache: cache.map { ObjectIdentifier($0) }, delegate: delegate.map { ObjectIdentifier($0) },
            responder: responder.map { ObjectIdentifier($0) }, acceptsEverySuccess: acceptsEverySuccess, unique: unique)
        return try await downloads.value(for: key, wish: wish) { [self] flight async throws(KingfisherError) in
            let download = ImageDownload(
                transport: transport, circuits: circuits, delegate: delegate, responder: responder, url: url,
                identity: identity, options: options, condition: condition, acceptsEverySuccess: acceptsEverySuccess,
                inspector: inspector, store: store, wishes: flight.wishes, gate: gate, rests: rests)
            let answer = try await download.run()
            flight.deliver(answer)
            if case .image(let image) = answer { await keep(image) }
            return answer
        }
    }
}
