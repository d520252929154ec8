import Support
import Testing

@testable import KFStorage

@Suite("The memory storage", .bounded)
struct MemoryStorageTests {
    private let time = TestClock()

    private func storage(cost: Int = 100, count: Int = .max, seconds: Double = 300) -> MemoryStorage<Int> {
        MemoryStorage(
            configuration: .init(totalCostLimit: cost, countLimit: count, expiration: .seconds(seconds)),
            clock: time.clock)
    }

    private func key(_ name: String) -> EntryKey { EntryKey(key: name) }

    @Test("A value is found only under its own key")
    func find() {
        let storage = storage()
        storage.store(1, for: key("a"), cost: 1)
        storage.store(2, for: EntryKey(key: "a", identifier: "blur:2"), cost: 1)
        #expect(storage.value(for: key("a")) == 1)
        #expect(storage.value(for: EntryKey(key: "a", identifier: "blur:2")) == 2)
        #expect(storage.value(for: key("b")) == nil)
    }

    @Test("The least recently used value is evicted over the cost limit")
    func costLimit() {
        let storage = storage(cost: 10)
        for (index, name) in ["a", "b", "c"].enumerated() { storage.store(index, for: key(name), cost: 3) }
        _ = storage.value(for: key("a"))
        storage.store(9, for: key("d"), cost: 3)
        #expect(storage.isCached(key("a")))
        #expect(!storage.isCached(key("b")))
        #expect(storage.isCached(key("c")))
        #expect(storage.isCached(key("d")))
        #expect(storage.totals == (3, 9))
    }

    @Test("A growing value evicts others")
    func growing() {
        let storage = storage(cost: 10)
        storage.store(1, for: key("a"), cost: 5)
        storage.store(2, for: key("b"), cost: 5)
        #expect(!storage.setCost(11, of: key("b")) { $0 == 2 })
        #expect(!storage.setCost(6, of: key("b")) { $0 == 3 }, "another value")
        #expect(!storage.setCost(6, of: key("c")) { _ in true })
        #expect(storage.totals == (2, 10))
        #expect(storage.setCost(6, of: key("b")) { $0 == 2 })
        #expect(storage.totals == (1, 6))
        #expect(storage.isCached(key("b")) && !storage.isCached(key("a")))
    }

    @Test("A value over the cost limit is not kept")
    func tooCostly() {
        let storage = storage(cost: 10)
        storage.store(1, for: key("a"), cost: 5)
        storage.store(2, for: key("b"), cost: 11)
        #expect(storage.isCached(key("a")))
        #expect(!storage.isCached(key("b")))
    }

    @Test("The number of values is limited")
    func countLimit() {
        let storage = storage(count: 2)
        for name in ["a", "b", "c"] { storage.store(0, for: key(name), cost: 1) }
        #expect(storage.totals == (2, 2))
        #expect(!storage.isCached(key("a")))
    }

    @Test("Reading extends the time of a value")
    func extending() {
        let storage = storage(seconds: 2)
        storage.store(1, for: key("read"), cost: 1)
        storage.store(2, for: key("looked at"), cost: 1)
        storage.store(3, for: key("not extended"), cost: 1)
        time.advance(seconds: 1)
        #expect(storage.value(for: key("read")) == 1)
        #expect(storage.isCached(key("looked at")))
        #expect(storage.value(for: key("not extended"), extending: .none) == 3)
        time.advance(seconds: 1.5)
        #expect(storage.value(for: key("read")) == 1)
        #expect(storage.value(for: key("looked at")) == nil)
        #expect(storage.value(for: key("not extended")) == nil)
        time.advance(seconds: 10)
        #expect(storage.value(for: key("read")) == nil)
    }

    @Test("Expired values are swept without further stores")
    func sweep() async throws {
        let storage = storage(seconds: 10)
        storage.configuration.cleanInterval = .milliseconds(1)
        for seconds in [-86_400.0, 0] {
            storage.store(1, for: key("a"), cost: 40)
            time.advance(seconds: 5)
            storage.store(2, for: key("b"), cost: 1)
            time.advance(seconds: 6)
            #expect(await eventually { storage.totals == (1, 1) })
            time.advance(seconds: 6)
            #expect(await eventually { storage.totals == (0, 0) })
            // A clock that was set back does not end the sweeping.
            time.advance(seconds: seconds)
        }
    }

    @Test("A new sweep interval replaces the running one")
    func newInterval() async throws {
        let storage = storage(seconds: 10)
        storage.configuration.cleanInterval = .seconds(Int64.max)
        storage.store(1, for: key("a"), cost: 40)
        time.advance(seconds: 11)
        storage.configuration.cleanInterval = .zero
        #expect(await eventually { storage.totals == (0, 0) })
    }

    @Test("Limits can be changed in use")
    func configure() {
        let storage = storage(cost: 100)
        for index in 0..<10 { storage.store(index, for: key("\(index)"), cost: 10) }
        storage.configuration.totalCostLimit = 50
        #expect(storage.totals == (5, 50))
        #expect(storage.isCached(key("9")) && !storage.isCached(key("4")))
        storage.configuration.countLimit = 2
        #expect(storage.totals == (2, 20))
        storage.configuration.totalCostLimit = 1000
        storage.configuration.countLimit = .max
        storage.configuration.expiration = .seconds(10)
        storage.store(1, for: key("short"), cost: 500)
        time.advance(seconds: 11)
        #expect(!storage.isCached(key("short")) && storage.isCached(key("9")))
    }

    @Test("A value found before a removal is not kept")
    func removals() {
        let storage = storage()
        let before = storage.removals
        storage.store(1, for: key("a"), cost: 1, unlessRemovedSince: before)
        #expect(storage.isCached(key("a")))
        storage.remove { $0.key == "a" }
        storage.store(1, for: key("a"), cost: 1, unlessRemovedSince: before)
        #expect(!storage.isCached(key("a")))
        storage.store(1, for: key("a"), cost: 1, unlessRemovedSince: storage.removals)
        #expect(storage.isCached(key("a")))
    }

    @Test("A value's own expiration overrides the default")
    func ownTime() {
        let storage = storage(seconds: 10)
        storage.store(1, for: key("longer"), cost: 1, expiration: .seconds(20))
        storage.store(2, for: key("for ever"), cost: 1, expiration: .never)
        storage.store(3, for: key("far"), cost: 1, expiration: .days(.max))
        storage.store(4, for: key("until"), cost: 1, expiration: .date(time.now.advanced(by: 15_000)))
        time.advance(seconds: 16)
        storage.removeExpired()
        #expect(storage.totals == (3, 3))
        #expect(storage.value(for: key("longer")) == 1)
        time.advance(seconds: 1e9)
        storage.removeExpired()
        #expect(storage.totals == (2, 2))
        #expect(storage.value(for: key("far")) == 3)
    }

    @Test("A read can extend a value by another span")
    func extendingBy() {
        let storage = storage(seconds: 10)
        storage.store(1, for: key("a"), cost: 1)
        time.advance(seconds: 9)
        #expect(storage.value(for: key("a"), extending: .expirationTime(.seconds(100))) == 1)
        time.advance(seconds: 99)
        #expect(storage.value(for: key("a")) == 1)
        time.advance(seconds: 9)
        #expect(storage.isCached(key("a")))
        time.advance(seconds: 1)
        #expect(!storage.isCached(key("a")))
    }

    @Test("An expired expiration removes the value")
    func expired() {
        let storage = storage()
        storage.store(1, for: key("a"), cost: 1)
        storage.store(2, for: key("a"), cost: 1, expiration: .expired)
        #expect(storage.totals == (0, 0))
    }

    @Test("Replacing and removing keep the sums correct")
    func sums() {
        let storage = storage()
        storage.store(1, for: key("a"), cost: 10)
        storage.store(2, for: key("a"), cost: 20)
        storage.store(3, for: key("b"), cost: 5)
        #expect(storage.totals == (2, 25))
        storage.remove(key("a"))
        #expect(storage.totals == (1, 5))
        storage.removeAll()
        #expect(storage.totals == (0, 0))
        storage.store(4, for: key("c"), cost: 1)
        #expect(storage.value(for: key("c")) == 4)
    }

    @Test("Concurrent stores keep within the limits")
    func concurrent() async {
        let storage = storage(cost: 50)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for index in 0..<500 {
                        storage.store(index, for: EntryKey(key: "\((index * 7 + task) % 90)"), cost: index % 5)
                        _ = storage.value(for: EntryKey(key: "\(index % 90)"))
                    }
                }
            }
        }
        #expect(storage.totals.cost <= 50)
    }
}
