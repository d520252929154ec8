import Synchronization
import Testing

@testable import KFCore

@Suite("The wishes of those who wait")
struct SharedWishesTests {
    @Test("are held no longer than the work takes")
    func released() async throws {
        weak var wishes: SharedWishes?
        let tasks = JoinedTasks<Int, Int>()
        let held = Mutex<SharedWishes?>(nil)
        let value = try await tasks.value(for: 1) { flight async throws(KingfisherError) in
            flight.wishes.onPriorityChange { _ in _ = flight.wishes.priority }
            held.withLock { $0 = flight.wishes }
            return 3
        }
        #expect(value == 3)
        held.withLock { held in
            wishes = held
            #expect(wishes != nil)
            held = nil
        }
        // The task that did the work gives its own back as it ends.
        for _ in 0..<100_000 where wishes != nil { await Task.yield() }
        #expect(wishes == nil)
    }
}
