import KFImaging
import KFNetwork
import KFStorage
import Synchronization

/// Downloads images and checks them. Kingfisher's `ImageDownloader`.
///
/// Calls that ask for the same at the same time share one transfer: the same request, on the same terms (time, size, trust,
/// way), for the same cache. Each can leave by cancelling its task; the last one to leave ends the transfer.
public final class ImageDownloader: Sendable {
    /// How many transfers there are at once, and when a failing host is not asked.
    public struct Configuration: Sendable {
        /// Transfers at once, in all and to one host.
        public var maxConnections = 64
        /// Transfers at once to one host.
        public var maxConnectionsPerHost = EngineConfiguration.standardPerHost
        /// Starts per second to one host; nil is no limit.
        public var ratePerHost: Double?
        /// After so many failures in a row a host is not asked for `circuitSpan`: its circuit is open, and each request
        /// fails at once with `circuitOpen` (2010). 0, the default, has no circuits: one bad path of a host must not
        /// block its good ones in a process that runs for months. The command sets 10 for a run.
        public var failuresToOpenCircuit = 0
        /// How long a circuit stays open; then one request decides whether it closes.
        public var circuitSpan = Duration.seconds(60)

        /// The defaults: 64 transfers, 8 to a host, no limit of their rate, no circuits.
        public init() {}
    }

    let configuration: Configuration
    private let site: DownloadSite
    /// Where failed downloads wait before they are tried again.
    let rests = RestQueue()
    /// What is under way.
    let work = WorkTable()
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
        self.configuration = configuration
        let terms = HostCircuits.Terms(failures: configuration.failuresToOpenCircuit, span: configuration.circuitSpan)
        site = DownloadSite(transport, HostCircuits(terms: terms))
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
    public func cancel(url: RequestURL) {
        work.cancel { key in
            if case .download(let download) = key { download.url == url.text } else { false }
        }
    }

    /// Ends every transfer.
    public func cancelAll() {
        work.cancel { key in
            if case .download = key { true } else { false }
        }
    }

    /// From now on nothing is downloaded but what is on its way.
    public func drain() {
        rests.end()
        site.transport.drain()
    }

    /// Ends the transfers that still run and the thread that drives them. To be called before the process exits.
    public func shutdown() { site.transport.shutdown() }

    /// Joins the waiters with the transfers that bring what they want, and starts those that are new, all with one
    /// message to the network. The requests have been prepared.
    func download(_ orders: [(order: DownloadOrder, waiter: any WorkWaiter)]) {
        var starts: [TransferStart] = []
        starts.reserveCapacity(orders.count)
        var late: [any StoreWork] = []
        for (order, waiter) in orders {
            if let tell = order.terms.request.modifier?.onDownloadTaskStarted {
                tell(DownloadTask { [weak waiter] in waiter?.cancel() })
            }
            let key = key(order)
            let joining = work.join(.download(key), waiter) {
                ImageDownload(key, order, site, receiver: self, in: work, for: waiter)
            }
            switch joining {
            case .started(let download as ImageDownload): if let start = download.begin() { starts.append(start) }
            case .late(let answer): late.append(LateJoin(waiter, answer))
            case .started, .joined, .left: break
            }
        }
        site.start(starts)
        StoreWorkers.shared.add(late)
    }

    private func key(_ order: DownloadOrder) -> DownloadKey {
        let request = order.terms.request
        let isIncomparable = request.redirectHandler.map { $0.cacheIdentity == nil } ?? false
        let unique =
            isIncomparable || order.tap != nil ? lastUnique.wrappingAdd(1, ordering: .relaxed).newValue : 0
        return DownloadKey(
            downloader: ObjectIdentifier(self), url: order.url.text,
            request: RequestIdentity.digest(order.url, request), terms: order.terms, condition: order.condition,
            cache: order.place.map { ObjectIdentifier($0.cache) },
            delegate: order.delegate.map { ObjectIdentifier($0) },
            responder: order.responder.map { ObjectIdentifier($0) }, unique: unique)
    }

}

extension ImageDownloader: TransferReceiver {
    package func ended(_ transfers: [EndedTransfer]) {
        var (bytes, count) = (Int64(0), 0)
        let downloads = transfers.compactMap { transfer -> ImageDownload? in
            guard let download = transfer.token as? ImageDownload else { return nil }
            download.ended(transfer.result)
            if let size = download.size {
                bytes += size
                count += 1
            }
            return download
        }
        if count > 0 { site.backlog.change(bytes: bytes, count: count, site.transport) }
        StoreWorkers.shared.add(downloads)
    }

    package func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        StoreWorkers.blocking.submit {
            answer(gates.map { ($0 as? ImageDownload)?.isStillMissing() ?? true })
        }
    }
}
