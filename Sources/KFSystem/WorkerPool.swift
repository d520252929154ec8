import Dispatch
import Glibc
import Synchronization

/// A pool of threads for work that blocks or computes for long, which must not run on Swift's cooperative pool.
///
/// Threads start on demand, up to `width`. The queue is unbounded: the callers limit the work in flight.
package final class WorkerPool: Sendable {
    private struct Jobs {
        var jobs = WorkQueue<@Sendable () -> Void>()
        var running = 0
    }

    /// The threads for computation: one per processor for all callers, because they share the machine.
    package static let processing = WorkerPool(
        label: "kf.processing", width: sysconf(Int32(_SC_NPROCESSORS_ONLN)))

    private let width: Int
    private let queue: DispatchQueue
    private let state = Mutex(Jobs())

    package init(label: String, width: Int) {
        self.width = max(1, width)
        queue = DispatchQueue(label: label, attributes: .concurrent)
    }

    package func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withUnsafeContinuation { continuation in
            submit { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }

    /// Runs `body` like `run`, or returns nil without running it if the task is cancelled before a thread is free.
    package func runUnlessCancelled<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let cancellation = Cancellation()
        let result: Result<Value?, Failure> = await withTaskCancellationHandler {
            await run { cancellation.isGiven ? .success(nil) : Result { () throws(Failure) in try body() } }
        } onCancel: {
            cancellation.give()
        }
        return try result.get()
    }

    private final class Cancellation: Sendable {
        private let given = Atomic(false)

        var isGiven: Bool { given.load(ordering: .relaxed) }

        func give() { given.store(true, ordering: .relaxed) }
    }

    /// Queues `job` for one of the pool's threads and returns at once.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        let start = state.withLock { state in
            state.jobs.append(job)
            guard state.running < width else { return false }
            state.running += 1
            return true
        }
        if start { queue.async { [self] in drain() } }
    }

    private func drain() {
        while let job = next() { job() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let job = state.jobs.popFirst()
            if job == nil { state.running -= 1 }
            return job
        }
    }
}
