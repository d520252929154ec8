import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Rebuilding a damaged index", .bounded)
final class RebuildTests: DiskSuite {
    private static let page = 4096

    /// An index of some dozen pages that is one file.
    private func fill(_ count: Int = 300) async throws {
        let storage = try fixture.open()
        for number in 0..<count { try await storage.put("content \(number)", "key \(number)") }
        storage.close()
        storage.writer.flush(truncating: true)
    }

    private func edit(_ change: (inout Data) throws -> Void) throws {
        for suffix in ["-wal", "-shm"] { unlink(fixture.index + suffix) }
        var data = try Data(contentsOf: URL(fileURLWithPath: fixture.index))
        try change(&data)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: fixture.index))
        try file.write(contentsOf: data)
        try file.truncate(atOffset: UInt64(data.count))
        try file.close()
    }

    /// The first bytes of the pages that hold rows of tables.
    private static func leaves(_ data: Data) -> [Int] {
        stride(from: page, to: data.count, by: page).filter { data[$0] == 0x0d }
    }

    private func expectSound() throws {
        let storage = try fixture.open()
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
        #expect(try storage.session.makeReader().complaints() == [])
    }

    /// What each command does: every one of them ends, and leaves a cache that works.
    private enum Use: CaseIterable { case removeAll, evict, expire, store, look, verify }

    private func use(_ use: Use, _ storage: DiskStorage) throws {
        try storage.healing { () throws(StorageError) in
            switch use {
            case .removeAll: _ = try storage.removeAll()
            case .evict: _ = try storage.evict(to: 1)
            case .expire: _ = try storage.removeExpired()
            case .store: _ = try storage.storedSize()
            case .look:
                for number in 0..<300 { _ = try storage.entry(for: EntryKey(key: "key \(number)")) }
            case .verify: _ = try storage.verify(repairs: true) { _ in }
            }
        }
    }

    @Test("Rows out of order are damage")
    func ascending() throws {
        var rows = AscendingRows("index", from: 5)
        #expect(throws: StorageError.corruptIndex(path: "index", detail: "its rows are out of order")) {
            _ = try rows.take(4)
        }
        #expect(try rows.take(5) == 5 && rows.take(.max) == .max)
        #expect(throws: StorageError.self) { _ = try rows.take(.max) }
        #expect(rows.last == .max && rows.next(limit: 2) == nil)
    }

    @Test("Swapped pages end no command in a loop", .timeLimit(.minutes(5)), arguments: 0..<12)
    func swapped(_ seed: Int) async throws {
        try await fill()
        var numbers = SplitMix(seed: UInt64(seed))
        try edit { data in
            let leaves = Self.leaves(data)
            let (a, b) = (leaves[numbers.below(leaves.count)], leaves[numbers.below(leaves.count)])
            let (first, second) = (Data(data[a..<a + Self.page]), Data(data[b..<b + Self.page]))
            data.replaceSubrange(a..<a + Self.page, with: second)
            data.replaceSubrange(b..<b + Self.page, with: first)
        }
        let storage = try fixture.open()
        for use in [Use.allCases[seed % Use.allCases.count], .look] { try self.use(use, storage) }
        for number in 0..<300 {
            do {
                try await storage.put("content \(number)", "key \(number)")
            } catch StorageError.corruptIndex {
                #expect(try storage.heal(index: storage.indexNumber))
                try await storage.put("content \(number)", "key \(number)")
            }
            // Among rows that are out of order, a lookup may miss.
            let found = try storage.text("key \(number)")
            #expect(found == nil || found == "content \(number)")
        }
        // As the command does it.
        do {
            _ = try fixture.open().verify(repairs: true) { _ in }
        } catch StorageError.corruptIndex {
            #expect(try storage.heal(index: storage.indexNumber))
            _ = try fixture.open().verify(repairs: true) { _ in }
        }
        try expectSound()
    }

    @Test("Only entries on the damaged page are lost")
    func kept() async throws {
        try await fill()
        let before = try fixture.objects()
        try edit { data in
            // Of the entries, which are the longest rows.
            let leaf = try #require(
                Self.leaves(data).last { data[$0..<$0 + Self.page].range(of: Data("key 1".utf8)) != nil })
            data.replaceSubrange(leaf..<leaf + Self.page, with: Data(count: Self.page))
        }
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        let path = storage.path
        try use(.look, storage)
        #expect(notices.all.count == 1)
        #expect(notices.all.first?.hasPrefix("the index of \(path) was damaged; it was moved to ") == true)
        let kept = try storage.totals().entries
        #expect(kept > 200 && kept < 300)
        #expect(notices.all.first?.hasSuffix(" and \(kept) of its entries could be read and are kept") == true)
        #expect(try fixture.objects() == before)
        for number in 0..<300 {
            guard let found = try storage.text("key \(number)") else { continue }
            #expect(found == "content \(number)")
        }
        // What no entry knows goes with a repair.
        #expect(try storage.verify(repairs: true) { _ in }.counts[.orphan]?.repaired == 300 - kept)
        try expectSound()
    }

    @Test("A rebuilt index has the same entries")
    func same() async throws {
        do {
            let storage = try fixture.open()
            let original = try #require(try await storage.put("x", "k") { $0.etag = "\"e\"" })
            try await storage.put("made", "k", identifier: "blur:2") {
                $0.original = original.object.digest
                $0.expiration = .never
                $0.extending = .expirationTime(.days(3))
                $0.freshness = "Cache-Control: max-age=3"
                $0.url = "http://example.com/x"
            }
            try await storage.put("x", "another of the same bytes")
        }
        func facts() throws -> [String] {
            let storage = try fixture.open()
            var found: [String] = []
            try storage.session.reader.withLock { connection throws(StorageError) in
                try connection.eachEntry(EntryQuery()) {
                    found.append("\($0)")
                    return true
                }
            }
            return found + [try "\(storage.totals()) \(storage.shares())"]
        }
        let before = try facts()
        #expect(before.count == 4)
        try DiskStorage.rebuild(DiskStorage.Configuration(path: fixture.root))
        #expect(try facts() == before)
        try expectSound()
    }

    @Test("Only one damaged index is kept aside")
    func aside() async throws {
        try await fill(3)
        for _ in 0..<3 { try DiskStorage.rebuild(DiskStorage.Configuration(path: fixture.root)) }
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(fixture.root)/v1")
        #expect(names.filter { $0.hasPrefix("index.sqlite.broken-") }.count == 1, "\(names)")
        #expect(try fixture.open().totals().entries == 3)
    }

    @Test("A damaged header is repaired")
    func header() async throws {
        try await fill(3)
        // The number of the file format.
        try edit { $0[47] ^= 0x40 }
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        #expect(notices.all.count == 1)
        try await storage.put("content", "k")
        #expect(try storage.text("k") == "content")
        try expectSound()
    }

    @Test(
        "A row that violates a constraint is replaced",
        arguments: [
            "DELETE FROM entries WHERE key = 'key 1'", "DELETE FROM totals",
        ])
    func violated(_ sql: String) async throws {
        try await fill(3)
        try fixture.change(sql)
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        try await storage.put("other", "key 1") { $0.host = "new.example" }
        #expect(notices.all.count == 1)
        #expect(try storage.text("key 1") == "other")
        _ = try storage.verify(repairs: true) { _ in }
        try expectSound()
    }

    @Test("The log of a deleted index is not replayed")
    func staleLog() async throws {
        do {
            let storage = try fixture.open()
            for number in 0..<50 { try await storage.put("content \(number)", "key \(number)") }
            // The last one to close keeps the log, as a crash does.
            #expect(storage.session.directory.logSize > 0)
        }
        #expect(unlink(fixture.index) == 0)
        let storage = try fixture.open()
        #expect(try storage.totals().entries == 0)
        try await storage.put("content", "k")
        #expect(try storage.text("k") == "content")
        #expect(try storage.session.makeReader().complaints() == [])
    }

    @Test("A pattern that is too long is not damage")
    func pattern() async throws {
        try await fill(3)
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        var filter = EntryFilter()
        filter.glob = String(repeating: "*a", count: 40_000)
        let error = #expect(throws: StorageError.self) {
            try storage.healing { () throws(StorageError) in try storage.remove(matching: filter) }
        }
        guard case .database = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(notices.all == [])
    }

    @Test("An index in use by other processes is not rebuilt")
    func inUse() async throws {
        try await fill(3)
        let other = try fixture.open()
        let storage = try fixture.open { $0.patience = Patience(limit: .milliseconds(50)) }
        let number = storage.indexNumber
        let error = #expect(throws: StorageError.self) { try storage.heal(index: number) }
        #expect(error?.message.contains("other processes still have it open") == true)
        #expect(error?.message.contains("kf cache verify --repair") == true)
        #expect(storage.indexNumber == number)
        #expect(try other.totals().entries == 3 && storage.totals().entries == 3)
        // This one counts as one that has it open again.
        #expect(throws: StorageError.self) {
            var configuration = DiskStorage.Configuration(path: fixture.root)
            configuration.patience = Patience(limit: .milliseconds(50))
            try DiskStorage.rebuild(configuration)
        }
    }
}

/// Numbers that are the same in every run.
private struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
