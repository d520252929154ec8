import Glibc

/// Takes the place of `Synchronization.Mutex` in a build under ThreadSanitizer, which knows pthread's mutexes and not the
/// futexes of that one: it would report every value behind a lock.
struct Mutex<Value: ~Copyable>: ~Copyable {
    private nonisolated(unsafe) let value: UnsafeMutablePointer<Value>
    private nonisolated(unsafe) let lock: UnsafeMutablePointer<pthread_mutex_t>

    init(_ initialValue: consuming sending Value) {
        value = .allocate(capacity: 1)
        value.initialize(to: initialValue)
        lock = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }

    borrowing func withLockIfAvailable<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}

// The value is only reached with the lock held, as in the type that this one stands for.
extension Mutex: @unchecked Sendable where Value: ~Copyable {}

// A continuation's release and acquire are in the runtime's library, which is not instrumented, and its value lies in the
// frame of the task that waits. With these in place of the library's, what happened before `resume` is seen to happen before
// the rest of the task.

struct WatchedContinuation<Value, Failure: Error>: Sendable {
    fileprivate let continuation: UnsafeContinuation<Void, Never>
    fileprivate let handover: Handover<Value>

    func resume(returning value: sending Value) {
        handover.put(value)
        continuation.resume()
    }
}

extension WatchedContinuation where Value == Void {
    func resume() { resume(returning: ()) }
}

enum Watched {
    static func continuation<Value>(
        isolation: isolated (any Actor)? = #isolation, _ body: (WatchedContinuation<Value, Never>) -> Void
    ) async -> sending Value {
        let handover = Handover<Value>()
        await withUnsafeContinuation { body(WatchedContinuation(continuation: $0, handover: handover)) }
        return handover.take()
    }
}

// The value is put once and taken once, with the lock held.
private final class Handover<Value>: @unchecked Sendable {
    private let lock = Mutex(())
    private var value: Value?

    func put(_ value: sending Value) {
        lock.withLock { _ in self.value = value }
    }

    func take() -> sending Value {
        nonisolated(unsafe) let value = lock.withLock { _ in self.value.take()! }
        return value
    }
}
