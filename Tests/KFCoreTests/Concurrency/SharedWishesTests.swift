import Synchronization
import Testing

@testable import KFCore

@Suite("Wishes of a part and of its whole")
struct SharedWishesTests {
    @Test("they hold each other no longer than the work takes")
    func released() async throws {
        weak var whole: SharedWishes?
        weak var part: SharedWishes?
        let (outer, inner) = (JoinedTasks<Int, Int>(), JoinedTasks<Int, Int>())
        let held = Mutex<(SharedWishes?, SharedWishes?)>((nil, nil))
        let value = try await outer.value(for: 1) { wishes async throws(KingfisherError) in
            try await inner.value(for: 2, wish: Wish(wishes)) { part async throws(KingfisherError) in
                held.withLock { $0 = (wishes, part) }
                return 3
            }
        }
        #expect(value == 3)
        held.withLock { held in
            (whole, part) = held
            #expect(whole != nil && part != nil)
            held = (nil, nil)
        }
        // The tasks that did the work give theirs back as they end.
        for _ in 0..<100_000 where whole != nil || part != nil { await Task.yield() }
        #expect(whole == nil && part == nil)
    }
}
