import Dispatch
import Synchronization

/// A lock among processes that is waited for in the kernel's queue, and only for a bounded time.
///
/// An OFD lock has no timed wait. Polling for it starves: beside two prefetchers, which take the lock again as soon as
/// they have released it, a poller finds it free by chance alone. So a thread of this lock's own blocks in the kernel;
/// a caller waits for that thread, and can give up. The lock that such a thread gets too late is released at once.
///
/// Threads of one process exclude each other too. The lock file's descriptor must not be used for the same byte by
/// anything else: locks of one open file do not conflict.
final class BoundedLock: Sendable {
    private final class Waiter: Sendable {
        let signal = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, StorageError>?>(nil)
    }

    private struct State {
        /// A thread of this process holds the lock, or is about to try.
        var isHeld = false
        /// Since when the lock's own thread has been blocked.
        var blockedSince: ContinuousClock.Instant?
        var waiters: [Waiter] = []
    }

    /// Every wait may last this long, whatever its deadline: healthy holders are done within 20 ms.
    private static let grace = Duration.milliseconds(100)
    /// How often a waiting thread looks whether its patience has been cut short.
    private static let slice = Duration.milliseconds(50)

    private let file: FileLock
    private let kind: FileLock.Kind
    private let byte: Int64
    private let patience: Patience
    private let holderIsNoted: Bool
    private let queue = DispatchQueue(label: "kf.lock")
    private let state = Mutex(State())

    /// `holderIsNoted`: holders note themselves in the file, as those of the write lock do.
    init(
        _ file: FileLock, _ kind: FileLock.Kind, byte: Int64, patience: Patience, holderIsNoted: Bool = false
    ) {
        self.holderIsNoted = holderIsNoted
        self.file = file
        self.kind = kind
        self.byte = byte
        self.patience = patience
    }

    /// Since when other processes have kept every thread of this process from the lock; nil when they do not.
    var blockedSince: ContinuousClock.Instant? { state.withLock { $0.blockedSince } }

    /// Waits for the lock, as long as the patience allows a wait that began at `start`. Throws `locked` after that.
    /// Blocks the calling thread.
    func acquire(since start: ContinuousClock.Instant = .now) throws(StorageError) {
        let called = ContinuousClock.now
        if try tryAcquire() { return }
        let waiter = Waiter()
        state.withLock { state in
            state.waiters.append(waiter)
            blockIfNeeded(&state)
        }
        while true {
            let now = ContinuousClock.now
            let left = max(called + Self.grace, patience.deadline(from: start)) - now
            guard left > .zero else { break }
            _ = waiter.signal.wait(timeout: .now() + min(left, Self.slice).dispatchInterval)
            if let outcome = waiter.outcome.withLock({ $0 }) { return try outcome.get() }
        }
        // The lock may come in the moment of giving up.
        if let outcome = withdraw(waiter) { return try outcome.get() }
        let holder = LockHolder.describe(file, byte: byte, isNoted: holderIsNoted)
        throw .locked(path: file.path, holder: holder, waited: .now - min(start, called))
    }

    /// False when the lock is not to be had at once.
    func tryAcquire() throws(StorageError) -> Bool {
        // `isHeld` keeps other threads of this process away meanwhile.
        let mayTry = state.withLock { state in
            guard !state.isHeld, state.blockedSince == nil else { return false }
            state.isHeld = true
            return true
        }
        guard mayTry else { return false }
        let result = Result { () throws(StorageError) in try file.tryAcquire(kind, byte: byte) }
        if case .success(true) = result { return true }
        state.withLock { state in
            state.isHeld = false
            blockIfNeeded(&state)
        }
        return try result.get()
    }

    func release() {
        state.withLock { state in
            file.release(byte: byte)
            state.isHeld = false
            blockIfNeeded(&state)
        }
    }

    private func blockIfNeeded(_ state: inout State) {
        guard !state.waiters.isEmpty, !state.isHeld, state.blockedSince == nil else { return }
        state.blockedSince = .now
        queue.async { [self] in
            land(Result { () throws(StorageError) in try file.acquire(kind, byte: byte) })
        }
    }

    /// The lock's own thread is no longer blocked.
    private func land(_ result: Result<Void, StorageError>) {
        let woken = state.withLock { state -> [Waiter] in
            state.blockedSince = nil
            var woken: [Waiter] = []
            switch result {
            case .success where state.waiters.isEmpty: file.release(byte: byte)
            case .success:
                state.isHeld = true
                woken = [state.waiters.removeFirst()]
            case .failure:
                woken = state.waiters
                state.waiters = []
            }
            for waiter in woken { waiter.outcome.withLock { $0 = result } }
            return woken
        }
        for waiter in woken { waiter.signal.signal() }
    }

    /// The waiter's outcome if there is one after all.
    private func withdraw(_ waiter: Waiter) -> Result<Void, StorageError>? {
        state.withLock { state in
            state.waiters.removeAll { $0 === waiter }
            return waiter.outcome.withLock { $0 }
        }
    }
}

extension Duration {
    /// Saturates at about 292 years.
    var dispatchInterval: DispatchTimeInterval {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .never : .nanoseconds(Int(clamping: product + attoseconds / 1_000_000_000))
    }
}

/// How long calls wait for other processes: a limit for each wait, and a moment at which all waits end.
package final class Patience: Sendable {
    /// The limit of each wait unless another is given.
    package static let standardLimit = Duration.seconds(5)

    /// The longest that one call waits.
    package let limit: Duration
    private let cutoff: Mutex<ContinuousClock.Instant?>

    package init(limit: Duration = standardLimit, until cutoff: ContinuousClock.Instant? = nil) {
        self.limit = limit
        self.cutoff = Mutex(cutoff)
    }

    /// Ends every wait within `span`, those under way and those to come.
    package func end(within span: Duration) {
        let end = ContinuousClock.now + span
        cutoff.withLock { $0 = min($0 ?? end, end) }
    }

    /// When a wait that began at `start` ends.
    func deadline(from start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let end = start + limit
        return cutoff.withLock { $0.map { min($0, end) } } ?? end
    }
}
