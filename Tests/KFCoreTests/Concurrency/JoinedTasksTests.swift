import Synchronization
import Testing

@testable import KFCore

@Suite("Work that several want at once")
struct JoinedTasksTests {
    private typealias Tasks = JoinedTasks<String, Int>

    /// A gate that work waits behind until the test opens it.
    private final class Gate: Sendable {
        private let stream = AsyncStream<Void>.makeStream()
        let count = Mutex(0)

        func wait() async throws(KingfisherError) -> Int {
            count.withLock { $0 += 1 }
            for await _ in stream.stream {}
            if Task.isCancelled { throw .requestError(reason: .taskCancelled) }
            return 7
        }

        func open() { stream.continuation.finish() }

        func started(_ number: Int) async {
            while count.withLock({ $0 }) < number { await Task.yield() }
        }
    }

    @Test("Six at once: one piece of work, six results")
    func joined() async throws {
        let tasks = Tasks()
        let gate = Gate()
        let waiters = (0..<6).map { _ in
            Task { try await tasks.value(for: "k") { _ async throws(KingfisherError) in try await gate.wait() } }
        }
        await gate.started(1)
        for _ in 0..<1000 { await Task.yield() }
        gate.open()
        for waiter in waiters { #expect(try await waiter.value == 7) }
        #expect(gate.count.withLock { $0 } == 1)
    }

    @Test("One of two leaves: it is cancelled, the other gets its result")
    func oneLeaves() async throws {
        let tasks = Tasks()
        let gate = Gate()
        let work = { @Sendable (_: Tasks.Flight) async throws(KingfisherError) -> Int in try await gate.wait() }
        let first = Task { try await tasks.value(for: "k", work: work) }
        await gate.started(1)
        let second = Task { try await tasks.value(for: "k", work: work) }
        for _ in 0..<1000 { await Task.yield() }
        first.cancel()
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await first.value }
        gate.open()
        #expect(try await second.value == 7)
        #expect(gate.count.withLock { $0 } == 1)
    }

    @Test("When the last leaves the work is cancelled, and the same key starts anew")
    func allLeave() async throws {
        let tasks = Tasks()
        let gate = Gate()
        let work = { @Sendable (_: Tasks.Flight) async throws(KingfisherError) -> Int in try await gate.wait() }
        let first = Task { try await tasks.value(for: "k", work: work) }
        await gate.started(1)
        first.cancel()
        await #expect(throws: KingfisherError.self) { try await first.value }
        #expect(try await tasks.value(for: "k") { _ async throws(KingfisherError) in 9 } == 9)
    }

    @Test("An error reaches everyone and is not remembered")
    func failing() async throws {
        let tasks = Tasks()
        let error = KingfisherError.responseError(reason: .noURLResponse)
        await #expect(throws: error) {
            try await tasks.value(for: "k") { _ async throws(KingfisherError) in throw error }
        }
        #expect(try await tasks.value(for: "k") { _ async throws(KingfisherError) in 1 } == 1)
    }
}
