import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Damage to the cache", .bounded)
struct DamageTests {
    private let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }

    private func replace(_ path: String, _ text: String) throws {
        try FileManager.default.removeItem(atPath: path)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    @Test("A missing file is a miss, and the next store works")
    func missing() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("x", "k"))
        try FileManager.default.removeItem(atPath: storage.path(of: entry))
        #expect(try storage.text("k") == nil)
        storage.writer.flush(truncating: false)
        #expect(try storage.entry(for: EntryKey(key: "k")) == nil)
        try await storage.put("x", "k")
        #expect(try storage.text("k") == "x")
    }

    @Test("A truncated or changed file is a miss and is removed")
    func changed() async throws {
        let storage = try fixture.open()
        for text in ["long", "tent!", "CONTENT"] {
            let entry = try #require(try await storage.put("content", "k"))
            try replace(storage.path(of: entry), text)
            #expect(try storage.text("k") == nil)
            storage.writer.flush(truncating: false)
            #expect(try fixture.objects() == [])
        }
    }

    @Test("A file with another time and the same bytes is still good")
    func touched() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        try replace(storage.path(of: entry), "content")
        #expect(try storage.text("k") == "content")
        storage.writer.flush(truncating: false)
        let followed = try #require(try storage.entry(for: EntryKey(key: "k")))
        #expect(followed.object.modified != entry.object.modified)
        #expect(try storage.text("k") == "content")
    }

    @Test("Verifying finds a flipped byte behind the right size and time")
    func flipped() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        let path = storage.path(of: entry)
        var status = stat()
        #expect(stat(path, &status) == 0)
        try replace(path, "cOntent")
        var times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        #expect(try storage.text("k") == "cOntent")
        let strict = try fixture.open { $0.verifies = true }
        #expect(try strict.text("k") == nil)
    }

    @Test("A link, a FIFO or a directory in an object's place is a miss, and the next store puts it right")
    func planted() async throws {
        let storage = try fixture.open()
        let secret = fixture.directory.url.appendingPathComponent("secret").path
        try "content".write(toFile: secret, atomically: false, encoding: .utf8)
        for plant in ["link", "fifo", "directory"] {
            let entry = try #require(try await storage.put("content", "k"))
            let path = storage.path(of: entry)
            try FileManager.default.removeItem(atPath: path)
            switch plant {
            case "link": #expect(symlink(secret, path) == 0)
            case "fifo": #expect(mkfifo(path, 0o600) == 0)
            default: #expect(mkdir(path, 0o700) == 0)
            }
            #expect(try storage.text("k") == nil, "\(plant)")
            storage.writer.flush(truncating: false)
            #expect(try storage.totals().entries == 0)
        }
        #expect(FileManager.default.fileExists(atPath: secret))
    }

    @Test("An index that is no database is set aside, said, and replaced")
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

    @Test("An index cut off beside a log, or empty, is set aside too", arguments: [0, 10_000, 40_960])
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

    @Test("When a change fails, the file that it published goes again")
    func undone() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "kept")
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("CREATE UNIQUE INDEX no ON entries(host)")
        }
        await #expect(throws: StorageError.self) { try await storage.putWithoutRepair("new", "k") }
        // Bytes that another entry uses stay, whoever failed to store them again.
        await #expect(throws: StorageError.self) { try await storage.putWithoutRepair("x", "k") }
        #expect(try fixture.objects().count == 1)
        #expect(try storage.text("kept") == "x")
        #expect(try fixture.leftovers() == [])
    }

    @Test("Removing everything takes files along that no entry knows")
    func strays() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        let stray = "\(fixture.root)/v1/objects/\(try #require(try fixture.objects().first)).stray"
        try "stray".write(toFile: stray, atomically: false, encoding: .utf8)
        #expect(try storage.removeAll().entries == 1)
        #expect(try fixture.objects() == [])
    }

    @Test(
        "A directory deleted under a writer is made anew, however often that happens", arguments: [true, false])
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
        var facts = EntryFacts()
        facts.fileExtension = "png"
        _ = try await storage.store(staged, for: EntryKey(key: "m"), facts, urgent: true)
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

    @Test("A body that was stored and evicted can be stored under another key")
    func storedTwice() async throws {
        let storage = try fixture.open()
        let staged = try storage.stage(Array("body".utf8))
        var facts = EntryFacts()
        facts.fileExtension = "png"
        _ = try await storage.store(staged, for: EntryKey(key: "a"), facts, urgent: true)
        _ = try storage.removeVariants(of: EntryKey(key: "a"))
        _ = try await storage.store(staged, for: EntryKey(key: "b"), facts, urgent: true)
        #expect(try storage.text("b") == "body")
    }

    @Test("Another program's database and a newer kf's index are refused and left alone")
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

    @Test("A root that is a file is no directory; a directory without the cache in it is no cache")
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

    @Test("A directory that everybody can write to is refused, with what to do")
    func insecure() throws {
        _ = try fixture.open()
        #expect(chmod(fixture.root, 0o777) == 0)
        let error = #expect(throws: StorageError.self) { try fixture.open() }
        #expect(error?.message.contains("chmod o-w") == true)
    }

    @Test("The folder deleted from outside: a miss, and the next store makes it again")
    func deleted() async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        try FileManager.default.removeItem(atPath: fixture.root)
        let other = try fixture.open()
        #expect(try other.text("k") == nil)
        #expect(try other.totals().stored == 0)
        try await other.put("y", "k")
        #expect(try other.text("k") == "y")
    }

    @Test("What a killed process left in tmp goes after an hour, not before")
    func reaping() async throws {
        _ = try fixture.open()
        for (name, age) in [("old", 3700), ("young", 3000)] {
            let path = "\(fixture.root)/v1/tmp/\(name)"
            try "x".write(toFile: path, atomically: false, encoding: .utf8)
            var times = [timespec(tv_sec: time(nil) - age, tv_nsec: 0), timespec(tv_sec: time(nil) - age, tv_nsec: 0)]
            #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        }
        try await fixture.open().put("x", "k")
        #expect(try fixture.leftovers() == ["young"])
    }

    private func replaceIndex(_ text: String) throws {
        for suffix in ["-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: "\(fixture.root)/v1/index.sqlite\(suffix)")
        }
        try replace("\(fixture.root)/v1/index.sqlite", text)
    }
}
