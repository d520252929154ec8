import Dispatch
import Glibc
import KFImaging
import KFNetwork
import KFStorage
import Support
import Synchronization

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

/// Collects how jobs ended, by their numbers.
final class EndedImages: ImageRecipient {
    private let results = Mutex<[Int: [Result<RetrieveImageResult, KingfisherError>]]>([:])

    func ended(_ jobs: [ImageJob]) {
        results.withLock { results in
            for job in jobs { results[job.number, default: []] += job.results.prefix(1) }
        }
    }

    /// The number of jobs that have ended.
    var count: Int { results.withLock { $0.count } }

    /// The result of a job that has ended exactly once; nil for any other.
    func result(_ number: Int) -> Result<RetrieveImageResult, KingfisherError>? {
        results.withLock { $0[number]?.count == 1 ? $0[number]?[0] : nil }
    }

    /// The error code of a job that has failed once.
    func code(_ number: Int) -> Int? {
        if case .failure(let error)? = result(number) { return error.errorCode }
        return nil
    }
}

/// The right to occupy threads of the shared workers. One test at a time has it: two could wait for each other's threads.
final class WorkerClaim: Sendable {
    private static let isTaken = Atomic(false)

    init() async { _ = await eventually { !Self.isTaken.exchange(true, ordering: .sequentiallyConsistent) } }

    deinit { Self.isTaken.store(false, ordering: .sequentiallyConsistent) }
}

/// Occupies every thread of the shared workers, or of the look-ups, until it is released. One at a time does: another
/// waits for its release.
final class BlockedWorkers: Sendable {
    private let claim: Mutex<WorkerClaim?>
    private let width: Int
    private let running = Atomic(0)
    private let gate = DispatchSemaphore(value: 0)

    private init(_ claim: WorkerClaim?, isOfLookUps: Bool) {
        self.claim = Mutex(claim)
        // `StoreWorkers.blocking` has four threads.
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        width = isOfLookUps ? 4 : 2 * processors
        if isOfLookUps {
            for _ in 0..<width { StoreWorkers.blocking.submit { [self] in occupy() } }
        } else {
            for workers in [StoreWorkers.shared, .makers] {
                workers.add((0..<processors).map { _ in WorkerTask { [self] _ in occupy() } })
            }
        }
    }

    /// Occupies the threads once the work that waits now has run.
    static func behind() -> BlockedWorkers { BlockedWorkers(nil, isOfLookUps: false) }

    /// Returns when every thread is occupied.
    convenience init(isOfLookUps: Bool = false) async {
        self.init(await WorkerClaim(), isOfLookUps: isOfLookUps)
        _ = await eventually { running.load(ordering: .sequentiallyConsistent) == width }
    }

    private func occupy() {
        running.wrappingAdd(1, ordering: .sequentiallyConsistent)
        gate.wait()
    }

    func release() {
        for _ in 0..<width { gate.signal() }
        claim.withLock { $0 = nil }
    }
}

/// Counts its calls, which wait while it is closed.
final class CountingProcessor: ImageProcessor {
    let identifier: String
    private let calls = Atomic(0)
    private let gate = DispatchSemaphore(value: 0)
    private let failure: ImagingError?
    private let claim: Mutex<WorkerClaim?>

    init(_ identifier: String, failing failure: ImagingError? = nil) {
        self.identifier = identifier
        self.failure = failure
        claim = Mutex(nil)
        gate.signal()
    }

    /// Creates a closed one. A call occupies a thread of the workers until it is opened.
    init(closed identifier: String) async {
        self.identifier = identifier
        failure = nil
        claim = Mutex(await WorkerClaim())
    }

    var count: Int { calls.load(ordering: .sequentiallyConsistent) }

    func open() {
        gate.signal()
        claim.withLock { $0 = nil }
    }

    func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        calls.wrappingAdd(1, ordering: .sequentiallyConsistent)
        gate.wait()
        gate.signal()
        if let failure { throw failure }
        return try item.image(options.decode)
    }
}

/// A transport whose transfers end when the test says so. It records them in the order of their starts.
final class ManualTransport: Transport {
    private struct State {
        var urls: [String] = []
        var open: [UInt64: TransferStart] = [:]
        var most = 0
        var holds: [Bool] = []
    }

    private let state = Mutex(State())

    /// The URLs of all transfers that were started.
    var urls: [String] { state.withLock { $0.urls } }
    /// Transfers that have not ended, in the order of their starts.
    var open: [UInt64] { state.withLock { $0.open.keys.sorted() } }
    /// The highest number of open transfers.
    var most: Int { state.withLock { $0.most } }
    /// The values of `hold`, in order.
    var holds: [Bool] { state.withLock { $0.holds } }

    func start(_ transfers: [TransferStart]) {
        state.withLock { state in
            state.urls += transfers.map(\.request.url)
            for transfer in transfers { state.open[transfer.id] = transfer }
            state.most = max(state.most, state.open.count)
        }
    }

    /// Lets all open transfers begin their requests.
    func begin() { for start in state.withLock({ Array($0.open.values) }) { _ = start.request.gate?.enter() } }

    func cancel(_ id: UInt64) {
        guard let start = state.withLock({ $0.open.removeValue(forKey: id) }) else { return }
        start.receiver.ended([EndedTransfer(id: id, token: start.token, result: .failure(.cancelled))])
    }

    /// Ends transfers with status 200 and a body that counts as `received` bytes (nil: its size), with one message.
    func finish(_ transfers: some Collection<UInt64>, body: [UInt8], received: Int64? = nil) {
        let mine = state.withLock { state in transfers.compactMap { state.open.removeValue(forKey: $0) } }
        var ended: [EndedTransfer] = []
        for transfer in mine {
            _ = transfer.request.gate?.enter()
            let head = ResponseHead(
                status: 200, framing: .length(Int64(body.count)), effectiveURL: transfer.request.url)
            var metrics = DownloadMetrics()
            metrics.receivedBytes = received ?? Int64(body.count)
            let result = Result { () throws(SinkError) -> TransferResponse in
                try transfer.sink.take(head, body)
                return TransferResponse(head: head, metrics: metrics)
            }
            ended.append(
                EndedTransfer(id: transfer.id, token: transfer.token, result: result.mapError { .sink($0) }))
        }
        mine.first?.receiver.ended(ended)
    }

    func prioritize(_ id: UInt64, _ priority: Float) {}
    func hold(_ isHeld: Bool) { state.withLock { $0.holds.append(isHeld) } }
    func drain() {}
    func shutdown() {}
}

/// Work that does nothing.
final class IdleWork: SharedWork {
    let key: WorkKey
    let table: WorkTable

    init(_ name: String = "idle", in table: WorkTable = WorkTable()) {
        key = WorkKey(named: name)
        self.table = table
    }

    func run(_ turn: inout Turn) {}
}

extension WorkKey {
    private static let cache = ImageCache(ImageCache.Configuration(directory: nil))

    /// The key of a test's work.
    init(named name: String) {
        let provider = RawImageDataProvider(data: [], cacheKey: name)
        let retrieval = Retrieval(.provider(provider), KingfisherOptions(), Self.cache)
        self = .read(ProviderRead(provider, retrieval, commits: nil, in: WorkTable()))
    }
}

extension Body {
    /// Creates the body that a test's work has brought, with the findings of another picture.
    convenience init(of bytes: PendingBytes) throws {
        let findings = try ManagerFixture.fixture("png/rgb.png").withUnsafeBytes {
            try ImageInspector(limits: DecodeLimits(), check: .structure).inspect($0)
        }
        self.init(bytes, findings, of: IdleWork())
    }
}
