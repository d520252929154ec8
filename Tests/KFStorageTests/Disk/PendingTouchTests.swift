import Support
import Testing

@testable import KFStorage

@Suite("Unwritten access times", .bounded)
final class PendingTouchTests: DiskSuite {
    @Test("An entry that is read every second stays fresh")
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

    @Test("A replaced entry has its own time to live")
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

    @Test("An entry in constant use is never evicted")
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

    @Test("A recently read entry is not removed as expired")
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

    @Test("Hits and misses of all processes are counted")
    func counts() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        _ = try storage.text("k")
        storage.noteMiss()
        #expect(try storage.totals().reads.hits == 1)
        #expect(try storage.totals().reads.misses == 1)
        storage.close()
        #expect(try storage.totals().reads.hits == 1)
        let other = try fixture.open()
        _ = try other.text("k")
        other.close()
        #expect(try other.totals().reads.hits == 2 && other.totals().reads.misses == 1)
    }

    @Test("Access times are written after a delay")
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
            #expect(await eventually { storage.reads.withLock { $0.isEmpty } })
            fixture.time.advance(seconds: 4000)
        }
        #expect(try storage.totals().reads.hits == 2)
    }

    @Test("Many access times are written in slices")
    func slices() async throws {
        let storage = try fixture.open()
        let keys = (0..<2500).map { EntryKey(key: "k\($0)") }
        let staged = try storage.stage(Array("x".utf8))
        _ = await storage.carryOutWithoutRepair([keys.map { .store(staged, $0, .picture()) }])
        fixture.time.advance(seconds: 4000)
        for key in keys { storage.noteHits([try #require(try storage.entry(for: key))], extending: nil) }
        try storage.settleReads()
        let now = fixture.time.now
        let other = try fixture.open()
        #expect(try keys.allSatisfy { try other.entry(for: $0)?.accessed == now })
    }
}
