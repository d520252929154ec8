import CSystem
import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("An index written by another program", .bounded)
struct CraftedIndexTests {
    private let fixture: DiskStorageFixture
    private let victim: String

    init() throws {
        fixture = try DiskStorageFixture()
        victim = try fixture.directory.write("victim/thesis.txt", "precious").path
    }

    private func expectUntouched() throws {
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
    }

    private static let extensions = [
        "x/../../../../../victim/thesis.txt", "/../../../../../victim/thesis.txt", "..", ".", "", "a/b", "PNG", "png ",
        "png'||char(0)||'x", "p\u{e4}g", String(repeating: "x", count: 300),
    ]

    enum Use: CaseIterable { case open, bulk, remove, clean, evict, repair, replace, share, isolate }

    @Test(
        "A crafted file extension leads to no file outside",
        arguments: Use.allCases, extensions)
    func fileExtension(_ use: Use, _ text: String) async throws {
        let entry = try #require(try await fixture.open().put("content", "k"))
        // What the unchecked path would need on its way.
        let folder = "\(fixture.root)/v1/objects/\(entry.object.name.dropLast(".png".count)).x"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try fixture.change("UPDATE objects SET ext = '\(text)'")
        let storage = try fixture.open()
        switch use {
        case .open: #expect(try storage.text("k") == nil)
        case .bulk: #expect(try storage.freshEntries(for: [EntryKey(key: "k")]).allSatisfy { $0 == nil })
        case .remove: _ = try storage.removeVariants(of: EntryKey(key: "k"))
        case .clean:
            _ = try storage.removeAll()
            #expect(try storage.totals().entries == 0 && storage.totals().objects == 0)
        case .evict:
            _ = try storage.evict(to: 0)
            #expect(try storage.totals().entries == 0 && storage.totals().objects == 0)
        case .repair:
            #expect(try storage.verify(repairs: true) { _ in }.counts[.brokenRow]?.repaired == 1)
            #expect(try storage.totals().entries == 0 && storage.totals().objects == 0)
        case .replace: try await storage.put("other", "k")
        case .share: try await storage.put("content", "l")
        case .isolate:
            let layer = try fixture.open { $0.readOnly = true }
            #expect(try layer.text("k") == nil)
        }
        try expectUntouched()
        try await storage.put("content", "k")
        #expect(try storage.text("k") == "content")
        #expect(try storage.verify(repairs: true) { _ in }.damage == 0)
        #expect(try fixture.open().verify(repairs: false) { _ in }.isClean)
        #expect(try storage.text("k") == "content")
        try expectUntouched()
    }

    @Test(
        "A hash of another length is a miss and is removed",
        arguments: ["zeroblob(31)", "zeroblob(33)", "x''", "'text'"])
    func hash(_ value: String) async throws {
        try await fixture.open().put("content", "k")
        try fixture.change("UPDATE objects SET hash = \(value)")
        let storage = try fixture.open()
        #expect(try storage.text("k") == nil)
        #expect(try storage.verify(repairs: false) { _ in }.counts[.brokenRow]?.found == 1)
        try await storage.put("content", "k")
        #expect(try storage.text("k") == "content")
        #expect(try storage.verify(repairs: true) { _ in }.damage == 0)
        #expect(try storage.verify(repairs: false) { _ in }.isClean)
    }

    private static let columns = [
        "entries.parent", "entries.object", "entries.original", "entries.host", "entries.format", "entries.size",
        "entries.created", "entries.ttl", "entries.extending", "entries.etag", "entries.freshness", "times.accessed",
        "times.expires", "times.hits", "objects.ext", "objects.size", "objects.mtime", "objects.refs", "objects.width",
        "objects.frames", "hosts.name", "hosts.entries", "hosts.bytes", "formats.entries", "ages.hour", "ages.entries",
        "ages.bytes", "expiries.hour", "expiries.entries", "totals.entries", "totals.variants", "totals.bytes",
        "totals.objects", "totals.stored",
    ]

    private static let values = [
        "-1", "0", "9223372036854775807", "-9223372036854775808", "1e300", "-1e300", "'text'", "x'00ff'", "''",
    ]

    @Test("No value in a row ends the program", arguments: columns)
    func anything(_ column: String) async throws {
        let parts = column.split(separator: ".")
        // A primary key is an integer whatever happens.
        for value in Self.values where parts[1] != "hour" || Int64(value) != nil {
            let fixture = try DiskStorageFixture()
            do {
                let storage = try fixture.open { $0.sizeLimit = 1 << 20 }
                try await storage.put("content", "k")
                try await storage.put("variant", "k", identifier: "blur:2")
                storage.close()
            }
            do {
                let index = try Connection(path: "\(fixture.root)/v1/index.sqlite", mode: .readWrite)
                try index.execute("UPDATE OR IGNORE \(parts[0]) SET \(parts[1]) = \(value)")
            }
            let storage = try fixture.open { $0.sizeLimit = 1 << 20 }
            try Self.useEverything(storage)
            try await storage.put("new", "l")
            _ = try storage.evictIfNeeded()
            storage.close()
            let last = try fixture.open()
            _ = try last.verify(repairs: true) { _ in }
            let left = try last.verify(repairs: false) { _ in }
            #expect(left.damage == 0, "\(column) = \(value): \(left)")
            try await last.put("content", "k")
            #expect(try last.text("k") == "content", "\(column) = \(value)")
            _ = try last.removeAll()
            let totals = try last.totals()
            #expect(totals.entries == 0 && totals.objects == 0, "\(column) = \(value): \(totals)")
            #expect(totals.bytes == 0 && totals.stored == 0, "\(column) = \(value): \(totals)")
        }
    }

    private static func useEverything(_ storage: DiskStorage) throws {
        _ = try storage.totals()
        _ = try storage.shares()
        _ = try storage.ages(exactly: true)
        _ = try storage.allocatedSize()
        for order in EntryOrder.allCases {
            var query = EntryQuery()
            query.order = order
            try storage.eachEntry(query) { entry in
                storage.noteHits([entry], extending: nil)
                return true
            }
        }
        _ = try storage.text("k")
        _ = try storage.text("k", identifier: "blur:2")
        _ = try storage.freshEntries(for: [EntryKey(key: "k"), EntryKey(key: "k", identifier: "blur:2")])
        _ = try storage.evict(to: 1, dryRun: true)
        _ = try storage.removeExpired(dryRun: true)
        _ = try storage.verify(repairs: false) { _ in }
    }

    @Test("A validator with a line break is ignored", arguments: ["etag", "last_modified"])
    func validator(_ column: String) async throws {
        try await fixture.open().put("content", "k") {
            $0.etag = "\"e\""
            $0.lastModified = "yesterday"
        }
        try fixture.change("UPDATE entries SET \(column) = \(column) || char(13, 10) || 'X-Evil: 1'")
        let entry = try #require(try fixture.open().entry(for: EntryKey(key: "k")))
        #expect((column == "etag" ? entry.etag : entry.lastModified) == nil)
        #expect((column == "etag" ? entry.lastModified : entry.etag) != nil)
    }

    @Test("A partial download with a broken validator is ignored")
    func partialValidator() throws {
        let digest = try #require(Digest(hex: String(repeating: "a", count: 64)))
        for (validator, isGood) in [("\"e\"", true), ("\"e\"\u{d}X-Evil: 1", false), ("\"\u{0}\"", false)] {
            let facts = PartialFacts(
                url: "u", location: "l", request: digest, validator: validator, contentType: nil, total: nil)
            let text = try #require(PartialRecord.text(of: facts, key: digest))
            #expect((PartialRecord(text, key: digest) != nil) == isGood, "\(validator)")
        }
    }

    @Test(
        "A partial download with an impossible size is ignored",
        arguments: [
            ("-", true), ("0", true), ("12", true), ("-1", false), ("", false), ("many", false),
            ("9223372036854775808", false),
        ])
    func partialTotal(_ total: String, _ isGood: Bool) throws {
        let digest = try #require(Digest(hex: String(repeating: "a", count: 64)))
        let facts = PartialFacts(
            url: "u", location: "l", request: digest, validator: "\"e\"", contentType: nil, total: 7)
        let text = try #require(PartialRecord.text(of: facts, key: digest))
        let record = PartialRecord(text.replacing("\n7\n", with: "\n\(total)\n"), key: digest)
        #expect((record != nil) == isGood && record?.facts.total == (isGood ? Int64(total) : nil))
    }

    private static let schemas = [
        "CREATE TRIGGER t AFTER DELETE ON entries BEGIN UPDATE objects SET ext = 'x'; END",
        "CREATE VIEW v AS SELECT * FROM entries",
        "CREATE TABLE extra (x)",
        "CREATE INDEX i ON entries(abs(size))",
        "ALTER TABLE entries ADD COLUMN evil GENERATED ALWAYS AS (abs(size))",
        "ALTER TABLE times ADD COLUMN evil DEFAULT 1",
        "DROP INDEX entries_large",
        "DROP TABLE expiries",
        "DROP TABLE times; CREATE VIEW times AS SELECT id, 0 AS accessed, 0 AS expires, 0 AS hits FROM entries",
        // For Swift a carriage return and a line feed are one character, for SQLite the comment ends there.
        """
        DROP TABLE times; CREATE TABLE times (
            id INTEGER PRIMARY KEY,      -- entries.id\u{d}
        accessed INTEGER NOT NULL,
            expires INTEGER NOT NULL, -- x\u{d}
        evil CHECK (abs(evil)),
            hits INTEGER NOT NULL DEFAULT 0
        )
        """,
    ]

    @Test("A foreign schema is set aside before it runs", arguments: schemas)
    func schema(_ sql: String) async throws {
        try await fixture.open().put("content", "k")
        try fixture.change(sql)
        #expect(throws: StorageError.self) { try fixture.open { $0.readOnly = true } }
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        #expect(notices.all.count == 1)
        #expect(try storage.totals().entries == 0)
        try await storage.put("content", "k")
        #expect(try storage.text("k") == "content")
    }

    @Test("The tables of ANALYZE and another layout are accepted")
    func harmless() async throws {
        try await fixture.open().put("content", "k")
        try fixture.change("ANALYZE")
        try fixture.change(
            """
            CREATE TABLE copy AS SELECT * FROM times; DROP TABLE times;
            CREATE TABLE times (
              id INTEGER PRIMARY KEY, -- elsewhere said in other words
              accessed INTEGER NOT NULL, expires INTEGER NOT NULL, hits INTEGER NOT NULL DEFAULT 0 );
            INSERT INTO times SELECT * FROM copy; DROP TABLE copy
            """)
        #expect(try fixture.open().text("k") == "content")
    }

    @Test("A trigger created later does not run")
    func trigger() async throws {
        let storage = try fixture.open()
        try await storage.put("content", "k")
        try fixture.change("CREATE TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM objects; END")
        try await storage.put("more", "l")
        #expect(try storage.text("k") == "content" && storage.text("l") == "more")
    }

    @Test("A crafted rollback journal deletes no file outside")
    func superJournal() async throws {
        do {
            let storage = try fixture.open()
            try await storage.put("content", "k")
            storage.writer.flush(truncating: true)
        }
        let index = "\(fixture.root)/v1/index.sqlite"
        let pages = UInt32(try Data(contentsOf: URL(fileURLWithPath: index)).count / 4096)
        func bytes(_ numbers: UInt32...) -> [UInt8] {
            numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }
        }
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        var journal = magic + bytes(0, 0, pages, 512, 4096)
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        let name = Array(victim.utf8)
        journal += bytes(0x4000_0000 / 4096 + 1) + name
        journal += bytes(UInt32(name.count), name.reduce(0) { $0 + UInt32($1) }) + magic
        try Data(journal).write(to: URL(fileURLWithPath: index + "-journal"))
        #expect(throws: StorageError.self) { try fixture.open { $0.readOnly = true } }
        try expectUntouched()
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        #expect(notices.all.count == 1)
        try expectUntouched()
        try await storage.put("content", "k")
        #expect(try fixture.open().text("k") == "content")
        try expectUntouched()
    }
}
