import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("Eviction", .bounded)
final class EvictionTests: DiskSuite {
    private func keys(_ storage: DiskStorage, _ range: Range<Int>) throws -> [Int] {
        try range.filter { try storage.entry(for: EntryKey(key: "k\($0)")) != nil }
    }

    @Test("What others stored was not evicted again")
    func ownEntries() async throws {
        let (mine, other) = (try fixture.open(), try fixture.open())
        for number in 0..<5 { try await other.put("\(number)", "\(number)") }
        _ = try mine.evict(to: 0)
        #expect(mine.evictedAgain == Removal())
        try await mine.put("own", "own")
        try await other.put("read", "read")
        mine.noteHits([try #require(try mine.entry(for: EntryKey(key: "read")))], extending: nil)
        _ = try mine.evict(to: 0)
        #expect(mine.evictedAgain.entries == 2 && mine.evictedAgain.bytes == 7)
        mine.close()
        #expect(mine.evictedAgain.entries == 2)
    }

    @Test("The lowest ranks equal those of a full sort")
    func lowest() {
        var generator = SystemRandomNumberGenerator()
        for limit in [1, 2, 7, 100, 5000] {
            var all: [EvictionRank] = []
            var lowest = LowestRanks(limit: limit)
            for row in 0..<3000 {
                let rank = EvictionRank(
                    isFresh: Bool.random(using: &generator), accessed: .random(in: 0..<500, using: &generator),
                    row: Int64(row))
                all.append(rank)
                lowest.add(rank)
            }
            #expect(lowest.sorted() == Array(all.sorted().prefix(limit)))
        }
    }

    @Test("A shared object stays until its last entry goes")
    func shared() async throws {
        let storage = try fixture.open()
        try await storage.put("same bytes", "k0")
        try await storage.put("other bytes", "k1")
        fixture.time.advance(seconds: 10)
        try await storage.put("same bytes", "k2")
        _ = try storage.evict(to: 10)
        #expect(try !keys(storage, 0..<3).contains(1))
        #expect(try storage.text("k2") == "same bytes")
        #expect(try storage.totals().stored == 10)
        _ = try storage.evict(to: 0)
        #expect(try keys(storage, 0..<3) == [])
        #expect(try fixture.objects() == [])
    }

    @Test("A bulk removal spares used, replaced and shared entries")
    func many() async throws {
        let storage = try fixture.open()
        for index in 0..<300 {
            try await storage.put("text \(index % 290)", "k\(index)")
            fixture.time.advance(seconds: 20)
        }
        let reader = try storage.session.makeReader()
        let ranks = try reader.evictionOrder(after: nil, count: 200, now: fixture.time.now)
        let victims = try reader.victims(ranks).compactMap { $0 }
        fixture.time.advance(seconds: 4000)
        do {
            let other = try fixture.open()
            #expect(try other.text("k7") == "text 7")
            other.close()
        }
        try await storage.put("new text", "k20")
        try await storage.put("text 21", "k21")
        var bulk = storage.bulkRemoval(.evicted)
        bulk.many = 1
        #expect(try bulk.remove(victims).entries == 197)
        #expect(try keys(storage, 0..<300) == [7, 20, 21] + Array(200..<300))
        #expect(try storage.text("k20") == "new text")
        #expect(try storage.text("k295") == "text 5")
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
        #expect(try storage.totals().entries == 103)
        // Two of them have the same bytes.
        #expect(try fixture.objects().count == 102)
    }

    @Test("A bulk removal ends when enough is removed", arguments: [0, 100, 1270, 1280, 2990])
    func limited(_ limit: Int64) async throws {
        let storage = try fixture.open()
        for index in 0..<300 { try await storage.put("text \(10000 + index)", "k\(index)") }
        let reader = try storage.session.makeReader()
        let ranks = try reader.evictionOrder(after: nil, count: 300, now: fixture.time.now)
        var bulk = storage.bulkRemoval(.evicted)
        bulk.many = 1
        let done = try bulk.remove(try reader.victims(ranks).compactMap { $0 }, downTo: limit)
        #expect(try storage.storedSize() == limit)
        #expect(done.bytes == 3000 - limit)
        #expect(done.entries == Int(done.bytes / 10))
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
        #expect(try fixture.objects().count == Int(limit / 10))
    }

    @Test("Few entries go in one commit with their objects")
    func few() async throws {
        let storage = try fixture.open()
        for index in 0..<3 { try await storage.put("text \(index)", "k\(index)") }
        let other = try fixture.open()
        let before = other.commitsOfOthers
        #expect(try storage.remove(matching: EntryFilter()).entries == 3)
        #expect(other.commitsOfOthers == before + 1)
        #expect(try fixture.objects() == [])
    }

    @Test("An entry without an object is evicted first")
    func dangling() async throws {
        let storage = try fixture.open()
        for index in 0..<4 {
            try await storage.put("text \(index)", "k\(index)")
            fixture.time.advance(seconds: 1)
        }
        // As after a kill between the two halves of a removal.
        try storage.writer.perform { connection throws(StorageError) in
            let entry = try connection.entry(EntryKey(key: "k0"))
            guard let entry, let known = try connection.object(entry.object.digest) else { return }
            try connection.remove(UnusedObject(row: known.row, object: entry.object), from: storage.session.directory)
        }
        #expect(try storage.text("k0") == nil)
        #expect(try storage.totals().entries == 4)
        #expect(try storage.evict(to: 12).entries == 2)
        #expect(try keys(storage, 0..<4) == [2, 3])
        #expect(try storage.totals().entries == 2)
        #expect(try storage.totals().stored == 12)
    }

    @Test("An entry without an object can be stored again")
    func danglingStored() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("text", "k0"))
        try storage.writer.perform { connection throws(StorageError) in
            guard let known = try connection.object(entry.object.digest) else { return }
            try connection.remove(UnusedObject(row: known.row, object: entry.object), from: storage.session.directory)
        }
        try await storage.put("text", "k0")
        #expect(try storage.text("k0") == "text")
        let totals = try storage.totals()
        #expect(totals.entries == 1 && totals.objects == 1 && totals.stored == 4)
    }

    @Test("An entry used since it was chosen is spared")
    func used() async throws {
        let storage = try fixture.open()
        for index in 0..<3 {
            try await storage.put("text \(index)", "k\(index)")
            fixture.time.advance(seconds: 4000)
        }
        let reader = try storage.session.makeReader()
        let ranks = try reader.evictionOrder(after: nil, count: 1, now: fixture.time.now)
        let victims = try reader.victims(ranks).compactMap { $0 }
        #expect(victims.count == 1)
        do {
            let other = try fixture.open()
            #expect(try other.text("k0") == "text 0")
            other.close()
        }
        #expect(try storage.bulkRemoval(.evicted).remove(victims) == Removal())
        #expect(try storage.evict(to: 12).entries == 1)
        #expect(try keys(storage, 0..<3) == [0, 2])
    }

    @Test("A dry run of an eviction removes nothing")
    func dry() async throws {
        let storage = try fixture.open()
        for index in 0..<10 { try await storage.put("text \(index)", "k\(index)") }
        #expect(try storage.evict(to: 20, dryRun: true) == Removal(entries: 7, bytes: 42))
        #expect(try keys(storage, 0..<10).count == 10)
        #expect(try storage.evict(to: 20) == Removal(entries: 7, bytes: 42))
    }

    @Test("Several evictors remove no more than one would")
    func two() async throws {
        let storage = try fixture.open()
        for index in 0..<200 { try await storage.put("some text \(index % 150)", "k\(index)") }
        let half = try storage.storedSize() / 2
        try await concurrently(4) { [fixture] _ in _ = try fixture.open().evict(to: half) }
        let left = try storage.storedSize()
        #expect(left <= half && left > half - 20)
        #expect(try fixture.objects().count == storage.totals().objects)
    }

    @Test("An eviction includes entries stored meanwhile")
    func overtaken() async throws {
        let other = try fixture.open { $0.sizeLimit = 200 }
        let later = NoticeBox()
        let storage = try fixture.open {
            $0.evicting = { body throws(StorageError) in
                try body { _ in
                    guard later.all.count < 25 else { return }
                    let text = "text \(later.all.count)"
                    later.add(text)
                    #expect(throws: Never.self) { try other.putNow("new \(text)", text) }
                    // The lock is taken, so the other process evicts nothing itself.
                    #expect((try? other.evictIfNeeded()) == Removal())
                }
            }
        }
        for index in 0..<30 { try await storage.put("old text \(index)", "k\(index)") }
        fixture.time.advance(seconds: 10)
        storage.sizeLimit = 200
        try storage.evictIfNeeded()
        #expect(later.all.count > 10)
        #expect(try storage.storedSize() <= 200)
        #expect(try fixture.objects().count == storage.totals().objects)
    }

    @Test("A reader's open file survives its removal", arguments: [true, false])
    func reader(evicts: Bool) async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("text", "k0"))
        guard let file = try storage.open(entry) else {
            Issue.record("the file cannot be opened")
            return
        }
        let other = try fixture.open()
        _ = try evicts ? other.evict(to: 0) : other.removeAll()
        #expect(try fixture.objects() == [] && storage.text("k0") == nil)
        #expect(String(decoding: try file.readAll(), as: UTF8.self) == "text")
    }
}

extension Removal {
    fileprivate init(entries: Int, bytes: Int64) {
        self.init()
        add(entries: entries, bytes: bytes)
    }
}
