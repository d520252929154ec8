import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("Migration of older indexes", .bounded)
final class MigrationTests: DiskSuite {
    private static let version = Query("PRAGMA user_version")
    private static let triggers = Query("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")

    /// Makes the index what format 1 was: its sums were kept by triggers.
    private func ageToFormat1() throws {
        let counting = [
            ("entry_added", "AFTER INSERT ON entries", "UPDATE totals SET entries = entries + 1"),
            ("entry_removed", "AFTER DELETE ON entries", "UPDATE totals SET entries = entries - 1"),
            ("time_added", "AFTER INSERT ON times", "INSERT INTO expiries VALUES (new.expires / 3600000, 1)"),
            ("time_removed", "AFTER DELETE ON times", "UPDATE expiries SET entries = entries - 1"),
            ("expiry_moved", "AFTER UPDATE OF expires ON times", "UPDATE expiries SET entries = entries + 0"),
            ("object_added", "AFTER INSERT ON objects", "UPDATE totals SET stored = stored + new.size"),
            ("object_removed", "AFTER DELETE ON objects", "UPDATE totals SET stored = stored - old.size"),
        ]
        for (name, event, body) in counting { try fixture.change("CREATE TRIGGER \(name) \(event) BEGIN \(body); END") }
        try fixture.change("PRAGMA user_version = 1")
    }

    @Test("An index of format 1 is migrated with its entries")
    func older() async throws {
        try await fixture.open().put("content", "k")
        try ageToFormat1()
        let storage = try fixture.open()
        #expect(try storage.text("k") == "content")
        try await storage.put("second", "l")
        let totals = try storage.totals()
        #expect(totals.entries == 2)
        #expect(totals.stored == 13)
        let check = try Connection(path: "\(fixture.root)/v1/index.sqlite", mode: .readOnly)
        #expect(try check.integer(Self.version) == Int64(Schema.version))
        #expect(try check.integer(Self.triggers) == 0)
    }

    @Test("Every older format has a migration")
    func steps() { #expect(Schema.migrations.keys.sorted() == Array(1..<Schema.version)) }

    @Test("A read-only session reads an older format unchanged")
    func readOnly() async throws {
        try await fixture.open().put("content", "k")
        try ageToFormat1()
        let storage = try fixture.open { $0.readOnly = true }
        #expect(try storage.text("k") == "content")
        let check = try Connection(path: "\(fixture.root)/v1/index.sqlite", mode: .readOnly)
        #expect(try check.integer(Self.version) == 1)
    }

    @Test("Concurrent sessions migrate an index once")
    func together() async throws {
        try await fixture.open().put("content", "k")
        try ageToFormat1()
        try await concurrently(8) { [fixture] index in try await fixture.open().put("text \(index)", "k\(index)") }
        #expect(try fixture.open().totals().entries == 9)
    }

    @Test("An unknown format is set aside and reported")
    func unknown() async throws {
        try await fixture.open().put("content", "k")
        try fixture.change("PRAGMA user_version = 0")
        let notices = NoticeBox()
        #expect(throws: StorageError.self) { try fixture.open { $0.readOnly = true } }
        let storage = try fixture.open { $0.notice = notices.add }
        #expect(notices.all.count == 1)
        #expect(try storage.totals().entries == 0)
    }
}
