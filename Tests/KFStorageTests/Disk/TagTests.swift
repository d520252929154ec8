import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("Tags of entries", .bounded)
final class TagTests: DiskSuite {
    private static let version = Query("PRAGMA user_version")
    private static let rows = Query("SELECT count(*) FROM tags")

    private func integer(_ query: Query) throws -> Int64 {
        try Connection(path: fixture.index, mode: .readOnly).integer(query)
    }

    private func keys(tagged tags: String..., in storage: DiskStorage? = nil) throws -> [String] {
        var query = EntryQuery()
        query.filter.tags = tags
        let entries = try (storage ?? fixture.open()).list(query)
        #expect(entries.allSatisfy { Set(tags).isSubset(of: $0.tags) })
        return entries.map(\.key.description)
    }

    private func fill(_ keys: String...) async throws -> DiskStorage {
        let storage = try fixture.open()
        for key in keys { try await storage.put("content of \(key)", key) }
        return storage
    }

    @Test("The first tag creates the tables of tags")
    func first() async throws {
        let storage = try await fill("a", "b")
        #expect(try keys(tagged: "site") == [])
        try storage.tag([EntryKey(key: "unknown")], ["site"])
        #expect(try integer(Self.version) == Int64(Schema.version))
        try storage.tag([EntryKey(key: "a"), EntryKey(key: "unknown")], ["site", "x"])
        #expect(try integer(Self.version) == Int64(Schema.tagged))
        #expect(try keys(tagged: "site") == ["a"])
        #expect(try keys(tagged: "site", in: storage) == ["a"])
        try storage.tag([EntryKey(key: "a"), EntryKey(key: "b")], ["site"])
        #expect(try keys(tagged: "site") == ["a", "b"] && keys(tagged: "site", "x") == ["a"])
        #expect(try fixture.open { $0.readOnly = true }.text("a") == "content of a")
        try await storage.put("more", "c")
        #expect(try storage.verify(repairs: false) { _ in }.isClean)
    }

    @Test("Equal bytes count once for a tag")
    func equalBytes() async throws {
        let storage = try await fill("a")
        for key in ["b", "c"] { try await storage.put("content of a", key) }
        try await storage.put("other", "d")
        try storage.tag(["a", "b", "d"].map { EntryKey(key: $0) }, ["site"])
        try storage.tag([EntryKey(key: "c")], ["x"])
        let shares = try storage.tags()
        #expect(shares.map(\.name) == ["site", "x"] && shares.map(\.entries) == [3, 1])
        #expect(shares.map(\.bytes) == [Int64("content of a".utf8.count + "other".utf8.count), 12])
    }

    @Test("Repeated tagging writes nothing")
    func again() async throws {
        let storage = try await fill("a")
        try storage.tag([EntryKey(key: "a")], ["site"])
        let commits = try fixture.open().session.commits.others
        try storage.tag([EntryKey(key: "a")], ["site"])
        #expect(try fixture.open().session.commits.others == commits)
    }

    @Test("Removing an entry removes its tags")
    func removal() async throws {
        for remove: (DiskStorage) throws -> Void in [
            { _ = try $0.removeVariants(of: EntryKey(key: "a")) }, { _ = try $0.removeAll() },
            { _ = try $0.evict(to: 0) },
            { storage in
                var filter = EntryFilter()
                filter.tags = ["site"]
                let removal = try storage.remove(matching: filter)
                #expect(removal.entries == 1)
            },
            { storage in
                // Many victims are removed in two passes.
                var bulk = storage.bulkRemoval(.removed)
                bulk.many = 1
                let victims = try storage.session.makeReader().victims(EntryFilter(), after: .min, count: 10)
                let removal = try bulk.remove(victims)
                #expect(removal.entries == victims.count)
            },
        ] {
            let storage = try await fill("a", "b")
            try storage.tag([EntryKey(key: "a")], ["site"])
            try await storage.put("other content", "a")
            #expect(try keys(tagged: "site") == ["a"])
            try remove(storage)
            #expect(try integer(Self.rows) == 0)
            try await storage.put("content of a", "a")
            #expect(try keys(tagged: "site") == [])
        }
    }

    @Test("A rebuilt index has the tags")
    func rebuilt() async throws {
        let storage = try await fill("a", "b")
        try storage.tag([EntryKey(key: "b")], ["site"])
        storage.close()
        #expect(try storage.heal(index: storage.indexNumber))
        #expect(try keys(tagged: "site") == ["b"])
        #expect(try fixture.open().totals().entries == 2)
        #expect(try integer(Self.version) == Int64(Schema.tagged))
    }

    @Test("Tags without an entry are found and removed")
    func stray() async throws {
        let storage = try await fill("a")
        try storage.tag([EntryKey(key: "a")], ["site"])
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("INSERT INTO tags VALUES (5, 'x'), (6, 'x')")
        }
        let found = try storage.verify(repairs: false) { _ in }
        #expect(found.counts[.brokenRow]?.found == 1)
        #expect(try storage.verify(repairs: true) { _ in }.damage == 0)
        #expect(try storage.verify(repairs: false) { _ in }.isClean && keys(tagged: "site") == ["a"])
    }

    @Test("Tables of tags in an untagged format are refused")
    func foreign() async throws {
        let storage = try await fill("a")
        try storage.tag([EntryKey(key: "a")], ["site"])
        try fixture.change("PRAGMA user_version = \(Schema.version)")
        #expect(throws: StorageError.self) { try fixture.open { $0.readOnly = true } }
    }

    @Test("Concurrent tagging creates the tables once")
    func together() async throws {
        _ = try await fill("a", "b")
        try await concurrently(6) { [fixture] number in
            try fixture.open().tag([EntryKey(key: "a"), EntryKey(key: "b")], ["tag \(number)", "all"])
        }
        #expect(try keys(tagged: "all", "tag 0", "tag 5") == ["a", "b"])
        #expect(try integer(Self.rows) == 14)
    }
}
