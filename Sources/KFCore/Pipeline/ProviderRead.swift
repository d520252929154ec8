import Dispatch
import KFStorage
import KFSystem
import Synchronization

/// One read of a provider, shared by all of its waiters.
///
/// `@unchecked Sendable`, because one worker at a time owns it. State that its task and a cancelling thread touch is
/// under the lock.
final class ProviderRead: WorkInFlight, StoreWork, @unchecked Sendable {
    private let provider: any ImageDataProvider
    private let retrieval: Retrieval
    private var claim: FlightClaim?
    /// The result of a provider that needed a task.
    private var given: Result<[UInt8], KingfisherError>?
    private var hasTurn = false
    private let task = Mutex<(running: Task<Void, Never>?, isAbandoned: Bool)>((nil, false))

    init(
        _ provider: any ImageDataProvider, _ retrieval: Retrieval, commitsSeen: Int64?, in table: WorkTable,
        for first: any WorkWaiter
    ) {
        self.provider = provider
        self.retrieval = retrieval
        claim = FlightClaim(retrieval.place(commitsSeen), retrieval.options.request)
        super.init(.read(retrieval.readKey), in: table, for: first)
    }

    /// Lets a job wait for the read of its provider. Adds what the workers have to do for that.
    static func join(_ job: ImageJob, _ provider: any ImageDataProvider, _ works: inout [any StoreWork]) {
        let (retrieval, table) = (job.retrieval, job.manager.downloader.work)
        var read: ProviderRead?
        let joining = table.join(.read(retrieval.readKey), job) {
            let new = ProviderRead(provider, retrieval, commitsSeen: job.commitsSeen, in: table, for: job)
            read = new
            return new
        }
        switch joining {
        case .started: if let read { works.append(read) }
        case .late(let answer): works.append(LateJoin(job, answer))
        case .joined, .left: break
        }
    }

    func run(in batch: StoreBatch) {
        guard table.isWanted(self) else {
            claim?.leave()
            return endTurn()
        }
        if let given {
            take(given, batch)
            return endTurn()
        }
        switch claim?.enter() ?? .open {
        case .later(let pause):
            // Another process reads it.
            let nanoseconds = Int(pause.components.attoseconds / 1_000_000_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [self] in
                StoreWorkers.shared.add([self])
            }
            return
        case .undecided where retrieval.isCached, .ended:
            claim?.leave()
            return end(.success(.stored), batch)
        case .open, .undecided: break
        }
        guard let provider = provider as? any ImmediateImageDataProvider else { return ask() }
        take(Result { () throws(KingfisherError) in try provider.data() }, batch)
    }

    /// The reads of providers that may wait, at most 64 at once. A read counts until its bytes have been checked.
    private static let turns = Mutex<(running: Int, waiting: [ProviderRead])>((0, []))
    private static let mostTurns = 64

    private func ask() {
        let isTurn = Self.turns.withLock { turns in
            if turns.running < Self.mostTurns {
                turns.running += 1
                return true
            }
            turns.waiting.append(self)
            return false
        }
        if isTurn { begin() }
    }

    private func endTurn() {
        guard hasTurn else { return }
        hasTurn = false
        let next = Self.turns.withLock { turns -> ProviderRead? in
            if turns.waiting.isEmpty {
                turns.running -= 1
                return nil
            }
            return turns.waiting.removeFirst()
        }
        next?.begin()
    }

    /// Reads the provider in a task, and returns to a worker with the result.
    private func begin() {
        hasTurn = true
        let running = Task(executorPreference: ProviderExecutor.shared) { [self, provider] in
            do {
                given = .success(try await provider.data())
            } catch let error as KingfisherError {
                given = .failure(error)
            } catch {
                given = .failure(
                    .sourceError(
                        reason: .dataProviderError(detail: String(describing: error), error: UnderlyingError(error))))
            }
            StoreWorkers.shared.add([self])
        }
        let isAbandoned = task.withLock { task in
            task.running = running
            return task.isAbandoned
        }
        if isAbandoned { running.cancel() }
    }

    override func abandon() {
        let running = task.withLock { task in
            task.isAbandoned = true
            return task.running
        }
        running?.cancel()
    }

    private func take(_ given: Result<[UInt8], KingfisherError>, _ batch: StoreBatch) {
        do throws(KingfisherError) {
            let bytes = PendingBytes.memory(try given.get())
            let image = DownloadedImage(
                bytes, try bytes.checked(by: retrieval.box.inspector), response: nil, flight: claim?.hold,
                orders: OrderBook(self))
            claim?.leave()
            table.deliver(.download(.success(.image(image))), of: self, in: batch)
            image.release()
        } catch {
            claim?.leave()
            end(.failure(error), batch)
        }
    }

    private func end(_ result: Result<DownloadAnswer, KingfisherError>, _ batch: StoreBatch) {
        table.end(self, with: .download(result), in: batch)
    }
}

/// The threads for the program's own providers. A provider that blocks delays neither the cooperative pool nor a
/// worker.
private final class ProviderExecutor: TaskExecutor {
    static let shared = ProviderExecutor()

    private let pool = WorkerPool(label: "kf.providers", width: 16)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pool.submit { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

extension Retrieval {
    /// Returns the place in the cache for the image of the source.
    func place(_ commitsSeen: Int64?) -> DownloadPlace {
        DownloadPlace(
            cache: originals, key: original.source, stores: !options.cacheMemoryOnly, commitsSeen: commitsSeen,
            retrieval: self)
    }

    /// The identity of a read of the provider.
    var readKey: ReadKey {
        ReadKey(key: original, inspector: box.inspector, cache: ObjectIdentifier(originals))
    }
}
