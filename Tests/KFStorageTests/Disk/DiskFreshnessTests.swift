import Support
import Testing

@testable import KFStorage

@Suite("Freshness of entries on the disk", .bounded)
final class DiskFreshnessTests: DiskSuite {
    @Test("An expired entry stays for revalidation")
    func expiry() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k") { $0.expiration = .seconds(1) }
        #expect(try storage.text("k") == "x")
        fixture.time.advance(seconds: 5)
        #expect(try storage.text("k") == nil)
        #expect(try storage.entry(for: EntryKey(key: "k")) != nil)
    }

    @Test("Reading an entry extends its time")
    func extending() async throws {
        for (extending, lives) in [(ExpirationExtending.cacheTime, true), (.none, false)] {
            let fixture = try DiskStorageFixture()
            let storage = try fixture.open()
            try await storage.put("x", "k") {
                $0.expiration = .seconds(2)
                $0.extending = extending
            }
            fixture.time.advance(seconds: 1)
            #expect(try storage.text("k") == "x")
            storage.close()
            fixture.time.advance(seconds: 1.5)
            let later = try fixture.open()
            #expect((try later.text("k") != nil) == lives)
            fixture.time.advance(seconds: 10)
            #expect(try later.text("k") == nil)
        }
    }

    @Test("Access times are written at most once an hour")
    func touching() async throws {
        let storage = try fixture.open()
        let stored = fixture.time.now
        try await storage.put("x", "long") { $0.expiration = .days(7) }
        try await storage.put("y", "short") { $0.expiration = .seconds(200) }
        fixture.time.advance(seconds: 11)
        _ = try storage.text("long")
        _ = try storage.text("short")
        storage.close()
        #expect(try storage.entry(for: EntryKey(key: "long"))?.accessed == stored)
        #expect(try storage.entry(for: EntryKey(key: "short"))?.accessed == fixture.time.now)
        fixture.time.advance(seconds: 3600)
        _ = try storage.text("long")
        storage.close()
        #expect(try storage.entry(for: EntryKey(key: "long"))?.accessed == fixture.time.now)
    }

    @Test("Removing expired entries leaves the others")
    func removeExpired() async throws {
        let storage = try fixture.open()
        for seconds in [1.0, 2, 3, 4] {
            try await storage.put("\(seconds)", "k\(seconds)") { $0.expiration = .seconds(seconds) }
        }
        try await storage.put("ever", "ever") { $0.expiration = .never }
        fixture.time.advance(seconds: 2)
        #expect(try storage.totals().expired == 2)
        #expect(try storage.removeExpired(dryRun: true).entries == 2)
        #expect(try storage.removeExpired().entries == 2)
        #expect(try storage.totals().expired == 0)
        #expect(try storage.text("ever") == "ever")
        #expect(try storage.totals().entries == 3)
    }

    @Test("Expired entries of earlier hours are counted")
    func expiredHours() async throws {
        let storage = try fixture.open()
        try await storage.put("1", "1") { $0.expiration = .seconds(60) }
        try await storage.put("2", "2") { $0.expiration = .seconds(7200) }
        fixture.time.advance(seconds: 3 * 3600)
        #expect(try storage.totals().expired == 2)
    }

    @Test("A quick count of a long index skips the current hour")
    func quickly() async throws {
        let storage = try fixture.open()
        try await storage.put("text", "k") { $0.expiration = .seconds(1) }
        fixture.time.advance(seconds: 2)
        for (entries, isSkipped) in [(65_536, false), (65_537, true)] {
            try fixture.change("UPDATE totals SET entries = \(entries)")
            let totals = try storage.totals(exactly: false)
            #expect(totals.expired == (isSkipped ? 0 : 1) && totals.isExpiredExact == !isSkipped)
        }
        let totals = try storage.totals()
        #expect(totals.expired == 1 && totals.isExpiredExact)
    }

    @Test("Eviction takes expired and then least recently used entries")
    func eviction() async throws {
        let storage = try fixture.open()
        for index in 0..<10 {
            try await storage.put("\(index)", "k\(index)") { $0.expiration = index == 9 ? .seconds(5) : .days(1) }
            fixture.time.advance(seconds: 1)
        }
        fixture.time.advance(seconds: 10)
        let planned = try storage.evict(to: 6, dryRun: true)
        #expect(planned.bytes == 4)
        #expect(try storage.evict(to: 6) == planned)
        let left = try (0..<10).filter { try storage.text("k\($0)") != nil }
        #expect(left == [3, 4, 5, 6, 7, 8])
    }

    @Test("A clock that is set back does not age entries")
    func clockBack() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k") { $0.expiration = .seconds(100) }
        let expires = try #require(try storage.entry(for: EntryKey(key: "k"))).expires
        fixture.time.advance(seconds: -3600)
        #expect(try storage.text("k") == "x")
        storage.close()
        #expect(try #require(try storage.entry(for: EntryKey(key: "k"))).expires == expires)
    }

    @Test("An entry from a future clock is stale and evicted first")
    func clockAhead() async throws {
        let storage = try fixture.open()
        try await storage.put("before", "before") { $0.expiration = .days(7) }
        try await storage.put("for ever", "for ever") { $0.expiration = .never }
        fixture.time.advance(seconds: 10 * 365 * 86_400)
        try await storage.put("ahead", "ahead") { $0.expiration = .days(7) }
        #expect(try storage.text("ahead") == "ahead")
        fixture.time.advance(seconds: -10 * 365 * 86_400)
        #expect(try storage.text("ahead") == nil)
        #expect(try storage.text("before") == "before")
        #expect(try storage.text("for ever") == "for ever")
        _ = try storage.evict(to: 14)
        #expect(try storage.entry(for: EntryKey(key: "ahead")) == nil)
        #expect(try storage.text("before") == "before")
        // Stored again, it has a time of its own.
        try await storage.put("again", "ahead") { $0.expiration = .days(7) }
        #expect(try storage.text("ahead") == "again")
    }
}
