import KFImaging
import KFNetwork
import KFStorage
import KFTerms
import Synchronization

/// A downloader that checks images. Kingfisher's `ImageDownloader`.
///
/// Concurrent calls share one transfer (single flight) if they have the same request, the same terms (time, size,
/// trust, route) and the same cache. Cancelling a task removes that call from the transfer. When the last call leaves,
/// the transfer is cancelled.
public final class ImageDownloader: Sendable {
    /// The limits of concurrent transfers, and the circuit breakers.
    public struct Configuration: Sendable {
        /// The maximum number of concurrent transfers, over all hosts. The default is 64.
        public var maxConnections = 64
        /// The maximum number of concurrent transfers to one host. The default is 8. A host gets two at first, one more with
        /// each answer, and fewer when it refuses requests for a limit.
        public var maxConnectionsPerHost = EngineConfiguration.standardPerHost
        /// The maximum number of starts per second to one host; nil is unlimited.
        public var ratePerHost: Double?
        /// The rates of single hosts, in place of ``ratePerHost``.
        package var ratesByHost: [String: Double] = [:]
        /// The maximum rate of all transfers together, in bytes per second; nil is unlimited. Transfers share it equally.
        public var bytesPerSecond: Int64?
        /// The number of failures in a row that opens the circuit of a host. Requests then fail at once with
        /// `circuitOpen` (2010) for ``circuitSpan``. A time-out counts three times until the host has answered once.
        ///
        /// 0, the default, disables circuit breakers: in a process that runs for months, one bad path of a host must
        /// not block the others. The command uses 10 for a run.
        public var failuresToOpenCircuit = 0
        /// The time that a circuit stays open. Then one request decides whether it closes. The default is 60 s.
        public var circuitSpan = Duration.seconds(60)
        /// Called when a host gets no requests for a while, and again when the first transfer waits for that, on a worker's
        /// thread.
        package var onHostRest: (@Sendable (_ host: String, HostRest, _ isAwaited: Bool) -> Void)?

        /// Creates the defaults: 64 transfers, 8 per host, no limit on the rate, no circuit breakers.
        public init() {}
    }

    package let configuration: Configuration
    let site: DownloadSite
    /// The queue of failed downloads during their back-off delays.
    let rests = RestQueue()
    /// The work in flight.
    let work = WorkTable()
    private let weakDelegate = Mutex(WeakDelegates())

    /// Creates a downloader. The network thread starts, and libcurl is loaded, with the first transfer.
    public convenience init(_ configuration: Configuration = Configuration()) {
        var engine = EngineConfiguration()
        engine.maxConnections = configuration.maxConnections
        engine.maxPerHost = configuration.maxConnectionsPerHost
        engine.ratePerHost = configuration.ratePerHost
        engine.ratesByHost = configuration.ratesByHost
        engine.bytesPerSecond = configuration.bytesPerSecond
        engine.failuresToOpenCircuit = configuration.failuresToOpenCircuit
        engine.circuitSpan = configuration.circuitSpan
        if let tell = configuration.onHostRest {
            // It prints.
            engine.onHostRest = { rests in
                StoreWorkers.blocking.submit { for rest in rests { tell(rest.host, rest.rest, rest.isAwaited) } }
            }
        }
        self.init(configuration, transport: TransferEngine(configuration: engine))
    }

    init(_ configuration: Configuration, transport: any Transport) {
        self.configuration = configuration
        site = DownloadSite(transport)
    }

    /// The delegate of every transfer, held weakly.
    ///
    /// In a debug build, setting a delegate prints each of its methods that is never called to standard error: those with
    /// Kingfisher's labels, and those with other types than the methods of ``ImageDownloaderDelegate``.
    public var delegate: (any ImageDownloaderDelegate)? {
        get { weakDelegate.withLock { $0.delegate } }
        set {
            #if DEBUG
            if let newValue { type(of: newValue).printUncalledMethods() }
            #endif
            weakDelegate.withLock { $0.delegate = newValue }
        }
    }

    /// The responder to authentication challenges, held weakly. Without one, only ``TransferOptions/credentials`` and
    /// ``TransferOptions/netrcFile`` apply.
    public var authenticationChallengeResponder: (any AuthenticationChallengeResponsible)? {
        get { weakDelegate.withLock { $0.responder } }
        set { weakDelegate.withLock { $0.responder = newValue } }
    }

    private struct WeakDelegates {
        weak var delegate: (any ImageDownloaderDelegate)?
        weak var responder: (any AuthenticationChallengeResponsible)?
    }

    /// Cancels every transfer of this URL. All of its waiters get `taskCancelled` (1003).
    public func cancel(url: RequestURL) {
        work.cancel { key in
            if case .download(let download) = key { download.url.text == url.text } else { false }
        }
    }

    /// Cancels every transfer, from origins and remotes. All waiters get `taskCancelled` (1003).
    public func cancelAll() {
        work.cancel { key in
            switch key {
            case .download, .remote: true
            case .read, .make: false
            }
        }
    }

    /// Cancels waiting retries and starts no new transfers from now on. Transfers in flight finish.
    public func drain() {
        rests.end()
        site.transport.drain()
    }

    package var runningTransfers: Int { work.runningTransfers }

    /// The present moment in the table of shared work, for a look-up that begins now.
    package var moment: UInt64 { work.moment }

    /// Starts no transfers while `isHeld` is true, as when too many bodies wait to be stored.
    func changePressure(isHeld: Bool) { site.backlog.change(bytes: 0, count: isHeld ? Room.all : -Room.all) }

    /// Cancels the transfers that still run and ends the network thread. Call it before the process exits.
    public func shutdown() { site.transport.shutdown() }

    /// Lets a job of a run wait with the jobs that rest before they repeat its request. Returns false if there are none.
    func rests(_ job: ImageJob, for download: ImageDownload) -> Bool {
        guard !download.isRetry, job.asked.options.answers != nil, !rests.isEmpty else { return false }
        return rests.join(job, download.key)
    }
}

extension ImageDownloader: TransferReceiver {
    package func ended(_ transfers: [EndedTransfer]) {
        var (bytes, count) = (Int64(0), 0)
        let downloads = transfers.compactMap { transfer -> ImageDownload? in
            guard let download = transfer.token as? ImageDownload else { return nil }
            if let size = download.ended(transfer.result, requests: transfer.requests) {
                bytes += size
                count += 1
            }
            return download
        }
        if count > 0 { site.backlog.change(bytes: bytes, count: count) }
        StoreWorkers.shared.add(downloads)
    }

    package func decide(_ gates: [any TransferGate], answer: @escaping @Sendable ([Bool]) -> Void) {
        StoreWorkers.blocking.submit {
            answer(gates.map { ($0 as? ImageDownload)?.isStillMissing() ?? true })
        }
    }
}
