import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Links and other things planted in the cache's directory")
struct PlantedTests {
    private let fixture: DiskStorageFixture
    private let outside: String

    init() throws {
        fixture = try DiskStorageFixture()
        outside = fixture.directory.url.appendingPathComponent("outside").path
        try FileManager.default.createDirectory(atPath: outside, withIntermediateDirectories: false)
        try "precious".write(toFile: "\(outside)/file", atomically: false, encoding: .utf8)
    }

    private func expectUntouched() throws {
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside) == ["file"])
        #expect(try String(contentsOfFile: "\(outside)/file", encoding: .utf8) == "precious")
    }

    @Test("A link in the place of a folder is not followed", arguments: ["v1", "v1/tmp"])
    func folder(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        let path = "\(fixture.root)/\(name)"
        try FileManager.default.removeItem(atPath: path)
        #expect(symlink(outside, path) == 0)
        await #expect(throws: StorageError.self) { try await fixture.open().put("new", "l") }
        try expectUntouched()
    }

    @Test("Sweeping and emptying stay inside, however old the files at the other end are")
    func sweeping() async throws {
        do { try await fixture.open().put("x", "k") }
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, "\(outside)/file", &times, 0) == 0)
        for name in ["v1/partial", "v1/tmp/00", "v1/objects/zz"] {
            let path = "\(fixture.root)/\(name)"
            // Some of them are not there yet.
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
            #expect(symlink(outside, path) == 0)
        }
        let storage = try fixture.open()
        try await storage.put("y", "l")
        storage.session.directory.reapTemporaries(now: .now())
        storage.session.directory.reapPartials(now: .now(), keeping: 0)
        _ = try storage.verify(repairs: true) { _ in }
        _ = try storage.removeAll()
        try expectUntouched()
    }

    @Test("An object is not read through a link in the place of its folder")
    func objectFolder() async throws {
        let entry = try #require(try await fixture.open().put("x", "k"))
        let folder = "\(fixture.root)/v1/objects/\(entry.object.name.prefix(2))"
        #expect(rename(folder, "\(outside)/moved") == 0)
        #expect(symlink("\(outside)/moved", folder) == 0)
        #expect(try fixture.open().text("k") == nil)
        #expect(FileManager.default.fileExists(atPath: "\(outside)/moved/\(entry.object.name.dropFirst(3))"))
    }

    @Test(
        "A link in the place of a file is not followed",
        arguments: ["v1/index.sqlite", "v1/index.sqlite-wal", "v1/lock", "v1/flights", "v1/reserve"])
    func file(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        let path = "\(fixture.root)/\(name)"
        try FileManager.default.removeItem(atPath: path)
        #expect(symlink("\(outside)/file", path) == 0)
        // An error or a cache that works; never a write to the other end.
        do {
            let storage = try fixture.open()
            try await storage.put("new", "l")
            _ = try storage.tryEnterFlight(EntryKey(key: "m"))
            storage.close()
        } catch is StorageError {}
        try expectUntouched()
    }

    @Test("A FIFO in the place of a file keeps nobody waiting", arguments: ["v1/lock", "v1/index.sqlite"])
    func fifo(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        let path = "\(fixture.root)/\(name)"
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: StorageError.self) {
            let storage = try fixture.open { $0.readOnly = true }
            _ = try storage.totals()
        }
    }
}
