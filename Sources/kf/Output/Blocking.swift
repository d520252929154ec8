import Dispatch
import Synchronization

/// From the main thread, which may wait, into asynchronous work.
enum Blocking {
    static func wait<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
        wait(work, started: { _ in })
    }

    /// `started` gets what cancels the work.
    static func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async -> Value, started: (_ cancel: @escaping @Sendable () -> Void) -> Void
    ) -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Value?>(nil)
        let task = Task {
            let value = await work()
            result.withLock { $0 = value }
            done.signal()
        }
        started { task.cancel() }
        while true {
            done.wait()
            if let value = result.withLock({ $0 }) { return value }
        }
    }
}
