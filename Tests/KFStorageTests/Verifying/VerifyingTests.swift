import CSQLite
import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Verification of the cache", .bounded)
final class VerifyingTests: DiskSuite {
    private typealias Kind = CacheFinding.Kind

    /// Verifies without writing, repairs, and verifies again: the same findings twice, then none.
    private func expect(_ expected: [Kind: Int], _ comment: Comment? = nil) throws {
        #expect(try found() == expected, comment)
        #expect(try found() == expected, "looking changes nothing")
        let repair = try fixture.open().verify(repairs: true) { #expect($0.isRepaired, "\($0)") }
        #expect(repair.counts.mapValues(\.found) == expected, comment)
        #expect(repair.damage == 0, comment)
        #expect(try found() == [:], comment)
    }

    private func found() throws -> [Kind: Int] {
        let storage = try fixture.open { $0.readOnly = true }
        var seen: [Kind: Int] = [:]
        let result = try storage.verify(repairs: false) { seen[$0.kind, default: 0] += 1 }
        #expect(result.counts.mapValues(\.found) == seen)
        #expect(result.repaired == 0)
        return seen
    }

    private func fill() async throws -> (storage: DiskStorage, paths: [String]) {
        let storage = try fixture.open()
        var paths: [String] = []
        for index in 0..<20 {
            let entry = try #require(try await storage.put("content \(index)", "key \(index)"))
            paths.append(storage.path(of: entry))
        }
        try await storage.put("content 0", "key 0", identifier: "same bytes")
        try await storage.put("made", "key 1", identifier: "blur:2")
        return (storage, paths)
    }

    private func write(_ sql: String) throws {
        try fixture.open().writer.perform { connection throws(StorageError) in try connection.execute(sql) }
    }

    @Test("A sound cache is clean")
    func sound() async throws {
        _ = try await fill()
        let result = try fixture.open { $0.readOnly = true }.verify(repairs: false) { _ in }
        #expect(result.isClean)
        #expect(result.entries == 22)
        #expect(result.files == 21)
        #expect(result.bytes == (0..<20).reduce(0) { $0 + Int64("content \($1)".utf8.count) } + 4)
    }

    @Test("Damaged files are found and repaired")
    func files() async throws {
        let (storage, paths) = try await fill()
        for path in paths[0..<6] { #expect(unlink(path) == 0) }
        try "content".write(toFile: paths[1], atomically: false, encoding: .utf8)
        try "CONTENT 2".write(toFile: paths[2], atomically: false, encoding: .utf8)
        #expect(symlink("/etc/passwd", paths[3]) == 0)
        #expect(mkfifo(paths[4], 0o600) == 0)
        #expect(mkdir(paths[5], 0o700) == 0)
        try expect([.missingFile: 1, .wrongSize: 1, .wrongContent: 1, .notAFile: 3])
        // Both entries of the missing object are gone, and the rest is not.
        #expect(try storage.totals().entries == 22 - 7)
        #expect(try storage.text("key 0") == nil)
        #expect(try storage.text("key 6") == "content 6")
        #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
    }

    @Test("A finding names the file and its entries")
    func naming() async throws {
        let (_, paths) = try await fill()
        #expect(unlink(paths[0]) == 0)
        var findings: [CacheFinding] = []
        _ = try fixture.open { $0.readOnly = true }.verify(repairs: false) { findings.append($0) }
        let finding = try #require(findings.first)
        #expect(findings.count == 1)
        #expect(finding.path == paths[0])
        #expect(finding.entries.map(\.description).sorted() == ["key 0", "key 0@same bytes"])
    }

    @Test("A file with only another time is sound")
    func touched() async throws {
        let (_, paths) = try await fill()
        try setAge(1000, of: paths[7])
        #expect(try found() == [:])
    }

    @Test("Unknown files and links are found")
    func strangers() async throws {
        let (_, paths) = try await fill()
        let folder = (paths[0] as NSString).deletingLastPathComponent
        let objects = "\(fixture.root)/v1/objects"
        try "stray".write(toFile: "\(folder)/stray.png", atomically: false, encoding: .utf8)
        try "stray".write(toFile: "\(objects)/stray", atomically: false, encoding: .utf8)
        let digest = "content 3".utf8CString.dropLast().withUnsafeBytes { SHA256.hash($0) }.hex
        let twin = "\(objects)/\(digest.prefix(2))/\(digest.dropFirst(2)).gif"
        try "content 3".write(toFile: twin, atomically: false, encoding: .utf8)
        #expect(symlink("/etc", "\(objects)/link") == 0)
        try expect([.orphan: 3, .notAFile: 1])
        #expect(FileManager.default.fileExists(atPath: "/etc/passwd"))
        try FileManager.default.createDirectory(atPath: "\(objects)/full/of", withIntermediateDirectories: true)
        let result = try fixture.open().verify(repairs: true) { _ in }
        #expect(result.damage == 1)
        #expect(FileManager.default.fileExists(atPath: "\(objects)/full/of"))
    }

    @Test("A folder that is a link is not followed")
    func plantedFolder() async throws {
        let (storage, paths) = try await fill()
        let folder = (paths[0] as NSString).deletingLastPathComponent
        let aside = fixture.directory.url.appendingPathComponent("aside").path
        let missing = try FileManager.default.contentsOfDirectory(atPath: folder).count
        #expect(rename(folder, aside) == 0)
        #expect(symlink(aside, folder) == 0)
        try expect([.missingFile: missing, .notAFile: 1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: aside).count == missing)
        #expect(try storage.text("key 0") == nil)
    }

    @Test("Temporary files that no process writes are found")
    func leftovers() async throws {
        _ = try await fill()
        for (name, age) in [("old", 3700), ("young", 3000)] {
            let path = "\(fixture.root)/v1/tmp/\(name)"
            try "x".write(toFile: path, atomically: false, encoding: .utf8)
            try setAge(age, of: path)
        }
        let neighbour = try fixture.open()
        try expect([.leftover: 1])
        #expect(try fixture.leftovers() == ["young"])
        neighbour.session.retire()
        let repair = try fixture.open().verify(repairs: true) { _ in }
        #expect(repair.counts.mapValues(\.found) == [.leftover: 1])
        #expect(try fixture.leftovers() == [])
    }

    @Test(
        "Contradicting rows are found and repaired",
        arguments: [
            ("DELETE FROM times WHERE id = (SELECT id FROM entries WHERE key = 'key 2')", [Kind.brokenRow: 1]),
            ("INSERT INTO times VALUES (17, 0, 0, 0)", [.brokenRow: 1]),
            ("UPDATE entries SET size = size + 1 WHERE key = 'key 2'", [.brokenRow: 1, .wrongCount: 4]),
            ("UPDATE entries SET key = 'key two' WHERE key = 'key 2'", [.brokenRow: 1]),
            ("UPDATE entries SET parent = 5 WHERE key = 'key 1' AND identifier <> ''", [.brokenRow: 1]),
            ("UPDATE entries SET host = 99 WHERE key = 'key 2'", [.brokenRow: 1, .wrongCount: 1]),
            ("UPDATE objects SET refs = 2 WHERE refs = 1 AND size = 4", [.wrongCount: 1]),
            ("UPDATE totals SET entries = 7, stored = 7", [.wrongCount: 1]),
            ("UPDATE hosts SET bytes = bytes - 1", [.wrongCount: 1]),
            ("UPDATE formats SET entries = entries + 2", [.wrongCount: 1]),
            ("UPDATE ages SET entries = 0; INSERT INTO ages VALUES (5, 1, 1)", [.wrongCount: 2]),
            ("DELETE FROM expiries", [.wrongCount: 1]),
            ("DELETE FROM totals", [.wrongCount: 1]),
            ("UPDATE totals SET stored = -9223372036854775808", [.wrongCount: 1]),
            ("UPDATE formats SET bytes = -9223372036854775808", [.wrongCount: 1]),
            ("INSERT INTO hosts VALUES (99, 'unused', x'00', 0)", [.wrongCount: 1]),
            ("UPDATE hosts SET entries = 1.5", [.wrongCount: 1]),
            ("INSERT INTO ages VALUES (5, 0, 'many')", [.wrongCount: 1]),
            ("UPDATE expiries SET entries = 9223372036854775807", [.wrongCount: 1]),
        ])
    func rows(_ sql: String, _ expected: [CacheFinding.Kind: Int]) async throws {
        _ = try await fill()
        try write(sql)
        // Rows are removed before counts are taken, so a repair may find fewer of those.
        let before = try found()
        #expect(before[.brokenRow] == expected[.brokenRow], "\(before)")
        if expected[.brokenRow] == nil { #expect(before == expected) }
        #expect(try fixture.open().verify(repairs: true) { _ in }.damage == 0)
        #expect(try found() == [:])
        #expect(try fixture.open().text("key 9") == "content 9")
    }

    @Test("A file that is being stored is not an orphan")
    func storing() async throws {
        let (storage, paths) = try await fill()
        let folder = try #require(UInt8((paths[0] as NSString).deletingLastPathComponent.suffix(2), radix: 16))
        // The index as it was before the commit: it knows nothing.
        let suspects = try FolderContents(storage.directory.objects, folder).compare(with: []).suspects
        #expect(suspects.contains { paths[0].hasSuffix($0.name) && $0.kind == .orphan })
        let verdicts = try storage.writer.perform { connection throws(StorageError) in
            try suspects.map { suspect throws(StorageError) in
                try suspect.isStillWrong(connection, storage.directory.objects)
            }
        }
        #expect(verdicts == suspects.map { _ in false })
    }

    @Test("A read-only cache is verified but not repaired")
    func readOnly() async throws {
        let (_, paths) = try await fill()
        #expect(unlink(paths[0]) == 0)
        let storage = try fixture.open { $0.readOnly = true }
        #expect(throws: StorageError.readOnly(path: storage.path)) { try storage.verify(repairs: true) { _ in } }
        #expect(try found() == [.missingFile: 1])
    }

    @Test("A file that is too short counts as checked")
    func counted() async throws {
        let (_, paths) = try await fill()
        #expect(chmod(paths[0], 0o644) == 0 && truncate(paths[0], 3) == 0)
        let result = try fixture.open { $0.readOnly = true }.verify(repairs: false) { _ in }
        #expect(result.files == 21 && result.counts[.wrongSize]?.found == 1)
        var filter = EntryFilter()
        filter.keys = KeyChoice(keys: ["key 0", "key 1"])
        let part = try fixture.open { $0.readOnly = true }.verify(filter, repairs: false) { _ in }
        #expect(part.files == 3 && part.counts[.wrongSize]?.found == 1)
    }

    /// The index by parent has another parent of a variant, or an original that has none.
    @Test(
        "An index that disagrees with its table is rebuilt from it",
        arguments: [
            ["UPDATE entries SET parent = 5 WHERE identifier = 'blur:2'"],
            ["UPDATE entries SET parent = 5 WHERE key = 'key 2'"],
            [
                "UPDATE entries SET parent = 5 WHERE identifier = 'blur:2'",
                "UPDATE entries SET parent = 6 WHERE key = 'key 2'",
            ],
        ])
    func reindexed(_ mistakes: [String]) async throws {
        _ = try await fill()
        for sql in mistakes { try fixture.change(sql) }
        // The rows are corrected while SQLite takes the index for one of other rows.
        try limitParents("IS NOT NULL", to: "IS 0")
        try fixture.change(
            """
            UPDATE entries SET parent = CASE identifier WHEN '' THEN NULL
            ELSE (SELECT id FROM entries o WHERE o.key = entries.key AND o.identifier = '') END
            """)
        try limitParents("IS 0", to: "IS NOT NULL")
        try expect([.damagedIndex: mistakes.count])
        #expect(try fixture.open().text("key 1", identifier: "blur:2") == "made")
    }

    /// Changes which rows the index by parent is for, without changing its content. The connections of the cache forbid
    /// that.
    private func limitParents(_ old: String, to new: String) throws {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        try #require(sqlite3_open(fixture.index, &handle) == SQLITE_OK)
        let sql = """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)') WHERE name = 'entries_parent'
            """
        try #require(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
    }

    @Test("A filter limits the verification to its entries")
    func filtered() async throws {
        let (_, paths) = try await fill()
        for path in [paths[2], paths[3]] { #expect(unlink(path) == 0) }
        try write("UPDATE entries SET parent = 5 WHERE identifier = 'blur:2'; UPDATE totals SET entries = 99")
        func verify(_ keys: Set<String>, repairs: Bool = false) throws -> Verification {
            var filter = EntryFilter()
            filter.keys = KeyChoice(keys: keys)
            return try fixture.open().verify(filter, repairs: repairs) { _ in }
        }
        let sound = try verify(["key 0", "key 4"])
        #expect(sound.isClean && sound.entries == 3 && sound.files == 2)
        let broken = try verify(["key 1", "key 2"])
        #expect(broken.counts.mapValues(\.found) == [.brokenRow: 1, .missingFile: 1] && broken.entries == 3)
        #expect(try verify(["key 1", "key 2"], repairs: true).damage == 0)
        #expect(try verify(["key 1", "key 2"]).isClean)
        #expect(try found()[.missingFile] == 1, "the file of another entry is still missing")
    }
}
