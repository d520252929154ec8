import Support
import Testing

@testable import KFStorage

@Suite("What reading has changed and is not written yet", .bounded)
struct PendingTouchTests {
    private let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }

    @Test("An entry of three seconds that is read every second stays fresh in one process")
    func extended() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k") { $0.expiration = .seconds(3) }
        for _ in 0..<10 {
            fixture.time.advance(seconds: 1)
            #expect(try storage.text("k") == "x")
            #expect(try storage.lookUp([EntryKey(key: "k")]).contains { if case .fresh = $0 { true } else { false } })
        }
        fixture.time.advance(seconds: 4)
        #expect(try storage.text("k") == nil)
    }

    @Test("What is stored anew has the time that it was stored with")
    func replaced() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k") { $0.expiration = .seconds(1000) }
        fixture.time.advance(seconds: 500)
        #expect(try storage.text("k") == "x")
        fixture.time.advance(seconds: 1)
        try await storage.put("y", "k") { $0.expiration = .seconds(10) }
        fixture.time.advance(seconds: 11)
        #expect(try storage.text("k") == nil)
        storage.close()
        #expect(try fixture.open().text("k") == nil)
    }

    @Test("An entry that is read after every store is never evicted")
    func evicted() async throws {
        let storage = try fixture.open { $0.sizeLimit = 40 }
        try await storage.put("hot", "hot")
        for index in 0..<40 {
            fixture.time.advance(seconds: 1)
            try await storage.put("text \(index)", "k\(index)")
            _ = try storage.evictIfNeeded()
            fixture.time.advance(seconds: 1)
            #expect(try storage.text("hot") == "hot", "after \(index)")
        }
        #expect(storage.evictionCount > 5)
    }

    @Test("Entries that were read a moment ago are not removed as expired or unused")
    func removed() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "read") { $0.expiration = .seconds(100) }
        try await storage.put("y", "unread") { $0.expiration = .seconds(100) }
        fixture.time.advance(seconds: 50)
        #expect(try storage.text("read") == "x")
        fixture.time.advance(seconds: 60)
        var filter = EntryFilter()
        filter.accessedBefore = fixture.time.now.advanced(by: -90_000)
        #expect(try storage.remove(matching: filter, dryRun: true).entries == 1)
        #expect(try storage.removeExpired().entries == 1)
        #expect(try storage.text("read") == "x")
    }

    @Test("Totals count the hits and misses of this process at once")
    func counts() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        _ = try storage.text("k")
        storage.noteMiss()
        #expect(try storage.totals().reads.hits == 1)
        #expect(try storage.totals().reads.misses == 1)
        storage.close()
        #expect(try storage.totals().reads.hits == 1)
        #expect(try fixture.open().totals().reads.misses == 1)
    }

    /// Polls for at most 30 s.
    private func eventually(_ condition: () throws -> Bool) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        while try !condition() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(1))
        }
        return true
    }

    @Test("It is written after a while, and can be lost no more")
    func written() async throws {
        let storage = try fixture.open { $0.touchDelay = .milliseconds(1) }
        try await storage.put("x", "k")
        fixture.time.advance(seconds: 4000)
        let other = try fixture.open()
        for round in 1...2 {
            _ = try storage.text("k")
            storage.noteMiss()
            storage.writeReadsSoon()
            #expect(try await eventually { try other.totals().reads.misses == Int64(round) })
            let now = fixture.time.now
            #expect(try await eventually { try other.entry(for: EntryKey(key: "k"))?.accessed == now })
            #expect(try await eventually { storage.reads.withLock { $0.isEmpty } })
            fixture.time.advance(seconds: 4000)
        }
        #expect(try storage.totals().reads.hits == 2)
    }

    @Test("Many touches are written in slices, and all of them")
    func slices() async throws {
        let storage = try fixture.open()
        let keys = (0..<2500).map { EntryKey(key: "k\($0)") }
        var facts = EntryFacts()
        facts.fileExtension = "png"
        let staged = try storage.stage(Array("x".utf8))
        _ = await storage.carryOutWithoutRepair([keys.map { .store(staged, $0, facts) }])
        fixture.time.advance(seconds: 4000)
        for key in keys { storage.noteHit(try #require(try storage.entry(for: key)), extending: nil) }
        try storage.settleReads()
        let now = fixture.time.now
        let other = try fixture.open()
        #expect(try keys.allSatisfy { try other.entry(for: $0)?.accessed == now })
    }
}
