import Dispatch
import KFSystem
import Synchronization

/// An advisory lock among processes, with a fair and bounded wait.
///
/// An OFD lock has no timed wait, and polling starves: two prefetchers take the lock again as soon as they have
/// released it. So the lock's own thread blocks in the kernel's queue. Callers wait for that thread and can give up; a
/// lock that the thread gets too late is released at once.
///
/// A wait ends when the holder shows no sign of life for as long as the patience allows: no process has committed or
/// taken the lock meanwhile. While others work, it goes on, because on a loaded machine its turn comes late.
///
/// Threads of one process exclude each other too. No other code may lock the same byte through the lock file's
/// descriptor, because locks of one open file do not conflict.
final class BoundedLock: Sendable {
    private final class Waiter: Sendable {
        let signal = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, StorageError>?>(nil)
    }

    private struct Holding {
        /// Whether a thread of this process holds the lock or is trying to take it.
        var isHeld = false
        /// The time at which the lock's own thread blocked; nil while it is not blocked.
        var blockedSince: ContinuousClock.Instant?
        /// The signs of life that were seen last, and the time since which they have been the same; nil while no change
        /// was seen.
        var signs: [Int64] = []
        var changed: ContinuousClock.Instant?
        var waiters: [Waiter] = []
    }

    /// The shortest limit of a wait, whatever its deadline. Healthy processes release the lock within 20 ms.
    private static let grace = Duration.milliseconds(100)
    /// The interval at which a waiting thread looks for signs of life, and whether its patience was shortened.
    private static let slice = Duration.milliseconds(50)

    private let file: FileLock
    private let kind: FileLock.Kind
    private let byte: Int64
    private let patience: Patience
    private let holderIsNoted: Bool
    private let queue = DispatchQueue(label: "kf.lock")
    private let state = Mutex(Holding())

    /// Creates a lock on one byte of a file. `holderIsNoted`: holders write their process number and their commits into
    /// the file, as those of the write lock do.
    init(
        _ file: FileLock, _ kind: FileLock.Kind, byte: Int64, patience: Patience, holderIsNoted: Bool = false
    ) {
        self.holderIsNoted = holderIsNoted
        self.file = file
        self.kind = kind
        self.byte = byte
        self.patience = patience
    }

    /// The time since which other processes have kept this process from the lock; nil if they do not.
    var blockedSince: ContinuousClock.Instant? { state.withLock { $0.blockedSince } }

    /// Returns the time at which a wait ends that began at `start`, if no process shows a sign of life until then.
    func deadline(from start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        patience.deadline(from: start, lastSign: state.withLock { $0.changed })
    }

    /// Looks for signs of life.
    func look() {
        guard holderIsNoted, let signs = LockHolder.signs(in: file) else { return }
        state.withLock { state in
            if !state.signs.isEmpty, signs != state.signs { state.changed = .now }
            state.signs = signs
        }
    }

    /// Waits for the lock as long as the patience allows for a wait that began at `start`, then throws `locked`. Blocks
    /// the calling thread.
    func acquire(since start: ContinuousClock.Instant = .now) throws(StorageError) {
        let called = ContinuousClock.now
        if try tryAcquire() { return }
        let waiter = Waiter()
        state.withLock { state in
            state.waiters.append(waiter)
            blockIfNeeded(&state)
        }
        while true {
            look()
            let left = max(called + Self.grace, deadline(from: start)) - .now
            guard left > .zero else { break }
            let span = Int(min(left, Self.slice).saturatedNanoseconds)
            _ = waiter.signal.wait(timeout: .now() + .nanoseconds(span))
            if let outcome = waiter.outcome.withLock({ $0 }) { return try outcome.get() }
        }
        // The lock may have been granted after the last check.
        if let outcome = withdraw(waiter) { return try outcome.get() }
        let holder = LockHolder.describe(file, byte: byte, isNoted: holderIsNoted)
        throw .locked(path: file.path, holder: holder, waited: .now - min(start, called))
    }

    /// Takes the lock without waiting. Returns false if it is held.
    func tryAcquire() throws(StorageError) -> Bool {
        // `isHeld` excludes other threads of this process meanwhile.
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

    private func blockIfNeeded(_ state: inout Holding) {
        guard !state.waiters.isEmpty, !state.isHeld, state.blockedSince == nil else { return }
        state.blockedSince = .now
        queue.async { [self] in
            land(Result { () throws(StorageError) in try file.acquire(kind, byte: byte) })
        }
    }

    /// Passes the result of the lock's own thread to the waiters.
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

    /// Removes a waiter. Returns its outcome if it has got one meanwhile.
    private func withdraw(_ waiter: Waiter) -> Result<Void, StorageError>? {
        state.withLock { state in
            state.waiters.removeAll { $0 === waiter }
            return waiter.outcome.withLock { $0 }
        }
    }
}

/// The limits of waits for other processes: two for each wait, and a time at which all waits end.
package final class Patience: Sendable {
    /// The default limit of each wait for a silent process.
    package static let standardLimit = Duration.seconds(5)

    /// The longest wait for a process that shows no sign of life.
    package let limit: Duration
    /// The longest wait, whatever others do; nil means none.
    private let longest: Duration?
    private let cutoff: Mutex<ContinuousClock.Instant?>

    package init(
        limit: Duration = standardLimit, longest: Duration? = nil, until cutoff: ContinuousClock.Instant? = nil
    ) {
        self.limit = limit
        self.longest = longest
        self.cutoff = Mutex(cutoff)
    }

    /// Ends all present and later waits within `span`.
    package func end(within span: Duration) {
        let end = ContinuousClock.now + span
        cutoff.withLock { $0 = min($0 ?? end, end) }
    }

    /// Returns the time at which a wait ends that began at `start`. `lastSign`: when another process was seen to work.
    func deadline(
        from start: ContinuousClock.Instant, lastSign: ContinuousClock.Instant? = nil
    ) -> ContinuousClock.Instant {
        var end = max(start, lastSign ?? start) + limit
        if let longest { end = min(end, start + longest) }
        return cutoff.withLock { $0.map { min($0, end) } } ?? end
    }
}
