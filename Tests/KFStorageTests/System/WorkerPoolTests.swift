import Dispatch
import KFSystem
import Support
import Testing

@testable import KFStorage

@Suite("Pools of threads", .bounded)
struct WorkerPoolTests {
    private final class Payload: Sendable {}

    /// Occupies the only thread of a pool until it is opened.
    private func occupy(_ pool: WorkerPool) -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        pool.submit { gate.wait() }
        return gate
    }

    @Test("A finished job is released while others wait")
    func released() async {
        let pool = WorkerPool(label: "test", width: 1)
        weak var payload: Payload?
        let gate: DispatchSemaphore = {
            let held = Payload()
            payload = held
            let gate = occupy(pool)
            pool.submit { _ = Unmanaged.passUnretained(held) }
            return gate
        }()
        #expect(payload != nil)
        await withUnsafeContinuation { continuation in
            // The queue is not empty when this one runs.
            pool.submit { continuation.resume() }
            pool.submit { gate.wait() }
            pool.submit {}
            gate.signal()
        }
        #expect(payload == nil)
        gate.signal()
    }

    @Test("A cancelled job does not run")
    func cancelled() async {
        let pool = WorkerPool(label: "test", width: 1)
        let gate = occupy(pool)
        await withTaskGroup(of: Int?.self) { group in
            group.addTask { await pool.runUnlessCancelled { 1 } }
            group.cancelAll()
            gate.signal()
            for await result in group { #expect(result == nil) }
        }
        #expect(await pool.runUnlessCancelled { 2 } == 2)
    }
}
