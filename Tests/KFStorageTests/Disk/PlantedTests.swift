import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Planted links and files", .bounded)
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

    /// A link to the outside in the place of what is there.
    private func plant(_ name: String, at target: String? = nil) throws {
        let path = "\(fixture.root)/\(name)"
        // Some of them are not there yet.
        if unlink(path) != 0, errno != ENOENT { try FileManager.default.removeItem(atPath: path) }
        #expect(symlink(target ?? outside, path) == 0)
    }

    @Test(
        "A link in the place of a folder is refused",
        arguments: ["v1", "v1/tmp", "v1/objects", "v1/partial"])
    func folder(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        try plant(name)
        for access in [CacheDirectory.Access.create, .existing] {
            #expect(throws: StorageError.planted(path: "\(fixture.root)/\(name)", kind: "a link")) {
                try fixture.open { $0.access = access }
            }
        }
        try expectUntouched()
    }

    @Test(
        "A folder that becomes a link is not followed",
        arguments: ["v1/tmp", "v1/objects"])
    func openFolder(_ name: String) async throws {
        let storage = try fixture.open()
        try await storage.put("x", "k")
        try plant(name)
        await #expect(throws: StorageError.self) { try await storage.put("new", "l") }
        _ = try storage.freshEntries(for: [EntryKey(key: "k")])
        _ = try storage.removeAll()
        storage.discardTemporaries()
        try expectUntouched()
    }

    @Test(
        "A planted object folder is replaced",
        arguments: ["link", "file", "fifo"])
    func objectFolders(_ kind: String) async throws {
        let storage = try fixture.open()
        for number in UInt8.min...UInt8.max {
            let path = "\(fixture.root)/v1/objects/\(number < 16 ? "0" : "")\(String(number, radix: 16))"
            switch kind {
            case "link": #expect(symlink(outside, path) == 0)
            case "file": try "x".write(toFile: path, atomically: false, encoding: .utf8)
            default: #expect(mkfifo(path, 0o600) == 0)
            }
        }
        for index in 0..<20 { try await storage.put("text \(index)", "k\(index)") }
        for index in 0..<20 { #expect(try storage.text("k\(index)") == "text \(index)") }
        _ = try storage.removeAll()
        try expectUntouched()
        #expect(try fixture.objects() == [])
    }

    @Test("A planted file in an object's place is replaced", arguments: ["link", "fifo", "directory"])
    func objectPlace(_ kind: String) async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("x", "k"))
        _ = try storage.removeAll()
        let path = storage.path(of: entry)
        switch kind {
        case "link": #expect(symlink("\(outside)/file", path) == 0)
        case "fifo": #expect(mkfifo(path, 0o600) == 0)
        default:
            try FileManager.default.createDirectory(atPath: "\(path)/more", withIntermediateDirectories: true)
            try "x".write(toFile: "\(path)/more/file", atomically: false, encoding: .utf8)
            #expect(symlink(outside, "\(path)/more/link") == 0)
        }
        try await storage.put("x", "k")
        #expect(try storage.text("k") == "x")
        try expectUntouched()
    }

    @Test("A directory in an object's place can be removed")
    func objectDirectory() async throws {
        let storage = try fixture.open()
        let path = storage.path(of: try #require(try await storage.put("x", "k")))
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: "\(path)/more", withIntermediateDirectories: true)
        #expect(symlink(outside, "\(path)/more/link") == 0)
        #expect(try storage.removeVariants(of: EntryKey(key: "k")).entries == 1)
        #expect(try storage.totals().entries == 0)
        try expectUntouched()
    }

    @Test("A hard-linked lock file is not written", arguments: ["v1/lock", "v1/flights"])
    func hardLink(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        try FileManager.default.removeItem(atPath: "\(fixture.root)/\(name)")
        #expect(Glibc.link("\(outside)/file", "\(fixture.root)/\(name)") == 0)
        #expect(throws: StorageError.self) {
            let storage = try fixture.open()
            _ = try storage.tryEnterFlight(EntryKey(key: "m"))
        }
        try expectUntouched()
    }

    @Test("Sweeping never follows a link")
    func sweeping() async throws {
        do { try await fixture.open().put("x", "k") }
        try setAge(1_000_000_000, of: "\(outside)/file")
        let storage = try fixture.open()
        for name in ["v1/partial", "v1/tmp/00", "v1/objects/zz", "v1/tmp/objects.broken-1"] {
            try plant(name)
        }
        try await storage.put("y", "l")
        storage.session.reapTemporaries()
        storage.session.directory.reapPartials(now: .now(), keeping: 0)
        _ = try storage.verify(repairs: true) { _ in }
        _ = try storage.removeAll()
        try expectUntouched()
    }

    @Test(
        "A link in the place of a file is not followed",
        arguments: [
            "v1/index.sqlite", "v1/index.sqlite-wal", "v1/index.sqlite-shm", "v1/index.sqlite-journal", "v1/lock",
            "v1/flights", "v1/reserve", "CACHEDIR.TAG",
        ])
    func file(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        try plant(name, at: "\(outside)/file")
        // An error or a cache that works; never a write to the other end.
        do {
            let storage = try fixture.open()
            try await storage.put("new", "l")
            _ = try storage.tryEnterFlight(EntryKey(key: "m"))
            storage.close()
        } catch is StorageError {}
        try expectUntouched()
    }

    @Test(
        "A FIFO in the place of a file blocks no reader",
        arguments: [
            "v1/lock", "v1/index.sqlite", "v1/index.sqlite-wal", "v1/index.sqlite-shm", "v1/index.sqlite-journal",
        ])
    func fifo(_ name: String) async throws {
        do { try await fixture.open().put("x", "k") }
        let path = "\(fixture.root)/\(name)"
        if unlink(path) != 0 { #expect(errno == ENOENT) }
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: StorageError.self) {
            let storage = try fixture.open { $0.readOnly = true }
            _ = try storage.totals()
        }
    }
}
