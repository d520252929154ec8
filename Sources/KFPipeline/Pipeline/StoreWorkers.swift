import Dispatch
import Glibc
import KFStorage
import KFSystem
import Synchronization

/// Work for a worker thread: checking and staging an image, or making one.
protocol StoreWork: AnyObject, Sendable {
    /// Runs the work, once. It blocks and computes, and adds what follows from it to the turn.
    func run(_ turn: inout Turn)
}

/// Work without a state of its own.
final class WorkerTask: StoreWork {
    private let body: @Sendable (inout Turn) -> Void

    init(_ body: @escaping @Sendable (inout Turn) -> Void) { self.body = body }

    func run(_ turn: inout Turn) { body(&turn) }
}

/// The worker threads, one per processor. They hand their results to the index in arrays.
final class StoreWorkers: Sendable {
    /// The workers that check and stage what has arrived.
    static let shared = StoreWorkers(width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    /// The workers that decode, process and encode. An original that arrives does not wait for them: it is committed as
    /// soon as it is whole, so that a kill loses no more than is on its way.
    static let makers = StoreWorkers(width: sysconf(Int32(_SC_NPROCESSORS_ONLN)), gathers: false)

    /// The look-up threads, for short calls that block on files and the index and must not wait behind a decode.
    static let blocking = WorkerPool(label: "kf.look", width: 4)

    private struct State {
        var works = WorkQueue<any StoreWork>()
        var running = 0
    }

    /// The limits of a turn: number of stores and age. It also ends when no more work waits.
    private static let mostStores = 64
    private static let longest = Duration.milliseconds(5)

    private let width: Int
    /// Whether the results of several works are handed on together. What takes long does not wait for others.
    private let gathers: Bool
    private let queue = DispatchQueue(label: "kf.store", attributes: .concurrent)
    private let state = Mutex(State())

    init(width: Int, gathers: Bool = true) { (self.width, self.gathers) = (max(1, width), gathers) }

    /// Adds work, and returns at once. The queue is unbounded: callers bound the work in flight.
    func add(_ works: [any StoreWork]) {
        guard !works.isEmpty else { return }
        let starts = state.withLock { state in
            for work in works { state.works.append(work) }
            let starts = min(width - state.running, state.works.count)
            state.running += max(0, starts)
            return starts
        }
        for _ in 0..<max(0, starts) { queue.async { [self] in drain() } }
    }

    private func drain() {
        var turn = Turn()
        while true {
            guard let work = next(unless: !turn.isEmpty) else {
                if turn.isEmpty { return }
                turn.flush()
                continue
            }
            work.run(&turn)
            if !gathers || turn.stores >= Self.mostStores || turn.isOlder(than: Self.longest) { turn.flush() }
        }
    }

    /// Returns the next work; nil if there is none. The thread then ends, unless its turn must be flushed first.
    private func next(unless hasMore: Bool) -> (any StoreWork)? {
        state.withLock { state in
            let work = state.works.popFirst()
            if work == nil, !hasMore { state.running -= 1 }
            return work
        }
    }
}
