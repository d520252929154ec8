import Dispatch
import Synchronization

/// From the main thread, which may wait, into asynchronous work.
enum Blocking {
    static func wait<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex<Value?>(nil)
        Task {
            let value = await work()
            result.withLock { $0 = value }
            done.signal()
        }
        while true {
            done.wait()
            if let value = result.withLock({ $0 }) { return value }
        }
    }
}
