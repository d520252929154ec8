import Testing

@testable import KFNetwork

@Suite("Resting transfers")
struct RestQueueTests {
    /// Everything that has rested enough at that time, in order.
    private func pop(_ queue: inout RestQueue, _ nanoseconds: Int64) -> [UInt64] {
        var ids: [UInt64] = []
        while let id = queue.popFirst(now: time(nanoseconds)) { ids.append(id) }
        return ids
    }

    private func time(_ nanoseconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

    @Test("Rests end in the order of their times") func order() {
        var queue = RestQueue()
        for (id, end) in [(1, 30), (2, 10), (3, 20)] as [(UInt64, Int64)] { queue.insert(id, until: time(end)) }
        #expect(queue.nextEnd == time(10))
        let (early, late) = (pop(&queue, 9), pop(&queue, 25))
        #expect(early == [])
        #expect(late == [2, 3])
        #expect(queue.contains(1))
    }

    @Test("A removed rest does not wake") func removed() {
        var queue = RestQueue()
        queue.insert(1, until: time(10))
        queue.insert(2, until: time(20))
        let removed = [queue.remove(1), queue.remove(1)]
        #expect(removed == [true, false])
        #expect(queue.nextEnd == time(20))
        let popped = pop(&queue, 100)
        #expect(popped == [2])
        #expect(queue.nextEnd == nil)
        #expect(queue.ends.count == 0)
    }

    @Test("A transfer can rest again") func again() {
        var queue = RestQueue()
        queue.insert(1, until: time(10))
        _ = queue.remove(1)
        queue.insert(1, until: time(30))
        let (early, late) = (pop(&queue, 20), pop(&queue, 30))
        #expect(early == [])
        #expect(late == [1])
    }

    @Test("Removed rests leave no memory behind") func bounded() {
        var queue = RestQueue()
        queue.insert(0, until: time(1))
        for id in 1...10_000 as ClosedRange<UInt64> {
            queue.insert(id, until: time(Int64(1_000_000 + id)))
            _ = queue.remove(id)
        }
        #expect(queue.ends.count == 1)
        #expect(queue.entries.count <= 65)
    }
}
