import Dispatch
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// One read of a provider, shared by all of its waiters. It is its own key.
final class ProviderRead: SharedWork {
    private struct State {
        var claim: FlightClaim?
        /// The result of a provider that needed a task.
        var given: Result<[UInt8], KingfisherError>?
        var hasTurn = false
        var running: Task<Void, Never>?
        var isAbandoned = false
    }

    let table: WorkTable
    private let provider: any ImageDataProvider
    private let retrieval: Retrieval
    private let state: Mutex<State>

    init(_ provider: any ImageDataProvider, _ retrieval: Retrieval, commits: Int64?, in table: WorkTable) {
        self.provider = provider
        self.retrieval = retrieval
        self.table = table
        state = Mutex(State(claim: FlightClaim(retrieval, commits)))
    }

    var key: WorkKey { .read(self) }

    /// Lets a job wait for the read of its provider. Adds what the workers have to do for that.
    static func join(_ job: ImageJob, _ provider: any ImageDataProvider, _ works: inout [any StoreWork]) {
        let (asking, table) = (job.asking, job.downloader.work)
        let read = ProviderRead(provider, job.retrieval, commits: asking.commits, in: table)
        switch table.join(read, job, since: asking.moment) {
        case .started: works.append(read)
        case .late(let answer): works.append(answer.joined(by: job))
        case .joined, .left: break
        }
    }

    func run(_ turn: inout Turn) {
        guard table.isWanted(self) else {
            leaveClaim()
            return endTurn()
        }
        if let given = state.withLock({ $0.given }) {
            arrived(given, &turn)
            return endTurn()
        }
        switch state.withLock({ $0.claim?.enter() ?? .open }) {
        case .later(let pause):
            // Another process reads it.
            let nanoseconds = Int(pause.components.attoseconds / 1_000_000_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [self] in
                StoreWorkers.shared.add([self])
            }
            return
        case .undecided where !retrieval.isMissing, .ended:
            leaveClaim()
            return table.deliver(.stored, of: self, &turn)
        case .open, .undecided: break
        }
        guard let provider = provider as? any ImmediateImageDataProvider else { return ask() }
        arrived(Result { () throws(KingfisherError) in try provider.data() }, &turn)
    }

    private func leaveClaim() { state.withLock { $0.claim?.leave() } }

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
        let hadTurn = state.withLock { state in
            defer { state.hasTurn = false }
            return state.hasTurn
        }
        guard hadTurn else { return }
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
        state.withLock { $0.hasTurn = true }
        let running = Task(executorPreference: ProviderExecutor.shared) { [self, provider] in
            let given: Result<[UInt8], KingfisherError>
            do {
                given = .success(try await provider.data())
            } catch let error as KingfisherError {
                given = .failure(error)
            } catch {
                given = .failure(
                    .sourceError(
                        reason: .dataProviderError(detail: String(describing: error), error: UnderlyingError(error))))
            }
            state.withLock { $0.given = given }
            StoreWorkers.shared.add([self])
        }
        let isAbandoned = state.withLock { state in
            state.running = running
            return state.isAbandoned
        }
        if isAbandoned { running.cancel() }
    }

    func abandon() {
        let running = state.withLock { state in
            state.isAbandoned = true
            return state.running
        }
        running?.cancel()
    }

    private func arrived(_ given: Result<[UInt8], KingfisherError>, _ turn: inout Turn) {
        let flight = state.withLock { state in
            defer { state.claim?.leave() }
            return state.claim?.hold
        }
        do throws(KingfisherError) {
            let bytes = PendingBytes.memory(try given.get())
            let findings = try bytes.checked(by: retrieval.box.inspector)
            Body(bytes, findings, of: self, flight: flight).deliver(of: self, &turn)
        } catch {
            table.deliver(.failed(error), of: self, &turn)
        }
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

extension ProviderRead: Hashable {
    static func == (a: ProviderRead, b: ProviderRead) -> Bool {
        let (mine, other) = (a.retrieval, b.retrieval)
        return mine.original == other.original && mine.originals === other.originals
            && mine.box.inspector == other.box.inspector
    }

    func hash(into hasher: inout Hasher) { hasher.combine(retrieval.original) }
}
