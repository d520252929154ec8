import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Damage to the cache", .bounded)
final class DamageTests: DiskSuite {
    private func replace(_ path: String, _ text: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("A broken index is set aside, reported and replaced")
    func broken() async throws {
        try await fixture.open().put("x", "k")
        try replaceIndex("this is no database, and it is long enough to be read as a header of one")
        let notices = NoticeBox()
        let other = try fixture.open { $0.notice = { notices.add($0) } }
        #expect(try other.text("k") == nil)
        #expect(notices.all.count == 1)
        try await other.put("y", "k")
        #expect(try other.text("k") == "y")
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(fixture.root)/v1")
        #expect(names.contains { $0.hasPrefix("index.sqlite.broken-") })
    }

    @Test("A truncated index is set aside", arguments: [0, 10_000, 40_960])
    func truncated(_ size: Int) async throws {
        do {
            let storage = try fixture.open()
            for index in 0..<300 { try await storage.put("\(index)", "key \(index)") }
            storage.writer.flush(truncating: true)
            try await storage.put("in the log", "k")
        }
        let index = "\(fixture.root)/v1/index.sqlite"
        #expect(try Data(contentsOf: URL(fileURLWithPath: index)).count > 40_960)
        #expect(truncate(index, off_t(size)) == 0)
        // What opening does not notice, the first question does.
        let notices = NoticeBox()
        var configuration = DiskStorage.Configuration(path: fixture.root)
        configuration.notice = { notices.add($0) }
        let found = Result { try fixture.open { $0.notice = configuration.notice }.text("key 7") }
        if case .failure(let error) = found {
            guard case .corruptIndex = error as? StorageError else {
                Issue.record("\(error)")
                return
            }
            try DiskStorage.repair(configuration)
        }
        #expect(notices.all.count == 1)
        let storage = try fixture.open()
        #expect(try storage.totals().entries < 300)
        #expect(try storage.verify(repairs: true) { _ in }.damage == 0)
        try await storage.put("again", "k")
        #expect(try storage.text("k") == "again")
    }

    @Test("A sound index is not set aside")
    func sound() async throws {
        do { try await fixture.open().put("x", "k") }
        try DiskStorage.repair(DiskStorage.Configuration(path: fixture.root))
        #expect(try fixture.open().text("k") == "x")
    }

    @Test("Removing everything removes unknown files too")
    func strays() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        let stray = "\(fixture.root)/v1/objects/\(try #require(try fixture.objects().first)).stray"
        try "stray".write(toFile: stray, atomically: false, encoding: .utf8)
        #expect(try storage.removeAll().entries == 1)
        #expect(try fixture.objects() == [])
    }

    @Test("A directory deleted under a writer is created again", arguments: [true, false])
    func deletedUnderWriter(whole: Bool) async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        let staged = try storage.stage(Array("before".utf8))
        func delete() throws {
            if whole {
                try FileManager.default.removeItem(atPath: fixture.root)
            } else {
                for name in try FileManager.default.contentsOfDirectory(atPath: "\(fixture.root)/v1") {
                    try FileManager.default.removeItem(atPath: "\(fixture.root)/v1/\(name)")
                }
            }
        }
        try delete()
        #expect(try storage.text("k") == nil)
        try await storage.put("y", "l")
        _ = try await storage.store(staged, for: EntryKey(key: "m"), .picture(), urgent: true)
        let other = try fixture.open()
        #expect(try other.text("k") == nil)
        #expect(try other.text("l") == "y")
        #expect(try other.text("m") == "before")
        for round in 0..<3 {
            try delete()
            try await storage.put("z", "n\(round)")
            #expect(try storage.text("n\(round)") == "z")
        }
        #expect(try fixture.open().text("n2") == "z")
    }

    @Test("A foreign or newer index is refused and left unchanged")
    func foreign() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("PRAGMA user_version = 99")
        }
        let index = storage.session.directory.index
        #expect(throws: StorageError.newerSchema(path: index, found: 99, supported: Schema.tagged)) {
            try fixture.open()
        }
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("PRAGMA application_id = 7")
        }
        #expect(throws: StorageError.foreignIndex(path: index)) { try fixture.open() }
        #expect(try fixture.objects().count == 1)
    }

    @Test("A root that is a file is refused")
    func wrongRoot() throws {
        try "x".write(toFile: fixture.root, atomically: false, encoding: .utf8)
        #expect(throws: StorageError.notADirectory(path: fixture.root)) { try fixture.open() }
        #expect(throws: StorageError.notACache(path: fixture.directory.url.resolvingSymlinksInPath().path)) {
            try fixture.open {
                $0.path = fixture.directory.url.resolvingSymlinksInPath().path
                $0.access = .existing
            }
        }
    }

    @Test("A directory that everybody can write to is refused")
    func insecure() throws {
        _ = try fixture.open()
        #expect(chmod(fixture.root, 0o777) == 0)
        let error = #expect(throws: StorageError.self) { try fixture.open() }
        #expect(error?.message.contains("chmod o-w") == true)
    }

    @Test("Temporary files of killed processes go once the cache is used by one", arguments: [true, false])
    func reaping(isShared: Bool) async throws {
        let neighbour = try fixture.open()
        for (name, age) in [("old", 3700), ("young", 3000)] {
            let path = "\(fixture.root)/v1/tmp/\(name)"
            try "x".write(toFile: path, atomically: false, encoding: .utf8)
            try setAge(age, of: path)
        }
        if !isShared { neighbour.session.retire() }
        try await fixture.open().put("x", "k")
        #expect(try fixture.leftovers() == (isShared ? ["young"] : []))
    }

    private func replaceIndex(_ text: String) throws {
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: "\(fixture.root)/v1/index.sqlite\(suffix)")
        }
        try replace("\(fixture.root)/v1/index.sqlite", text)
    }
}
