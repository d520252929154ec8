import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("A bulk hit includes a look at the file", .bounded)
struct WholeHitTests {
    private let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }

    enum Damage: CaseIterable { case missing, empty, torn, grown, link, directory, fifo, folder }

    private func harm(_ path: String, _ damage: Damage) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var status = stat()
        #expect(stat(path, &status) == 0)
        try FileManager.default.removeItem(atPath: path)
        let target = fixture.directory.path("target").path
        switch damage {
        case .missing: return
        case .empty: try Data().write(to: URL(fileURLWithPath: path))
        case .torn: try bytes.dropLast().write(to: URL(fileURLWithPath: path))
        case .grown: try (bytes + [0]).write(to: URL(fileURLWithPath: path))
        case .directory: #expect(mkdir(path, 0o700) == 0)
        case .fifo: #expect(mkfifo(path, 0o600) == 0)
        case .link:
            try bytes.write(to: URL(fileURLWithPath: target))
            #expect(symlink(target, path) == 0)
        case .folder:
            // The right bytes, through a link in the place of the folder.
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            #expect(rename(folder, target) == 0)
            #expect(symlink(target, folder) == 0)
            try bytes.write(to: URL(fileURLWithPath: path))
        }
        // Size alone must not be what tells them apart.
        var times = [status.st_atim, status.st_mtim]
        if damage != .fifo { _ = utimensat(AT_FDCWD, path, &times, 0) }
    }

    @Test("What is not as it was stored is a miss, and the next store heals it", arguments: Damage.allCases)
    func damaged(_ damage: Damage) async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        try await storage.put("other", "l")
        try harm(storage.path(of: entry), damage)
        let keys = [EntryKey(key: "k"), EntryKey(key: "l")]
        let reader = try fixture.open { $0.readOnly = true }
        #expect(try reader.freshEntries(for: keys).map { $0?.key.key } == [nil, "l"])
        let other = try fixture.open()
        #expect(try other.freshEntries(for: keys).map { $0?.key.key } == [nil, "l"])
        #expect(!other.isWhole(entry))
        other.writer.flush(truncating: false)
        #expect(try other.entry(for: keys[0]) == nil)
        try await other.put("content", "k")
        #expect(try other.freshEntries(for: keys).map { $0?.key.key } == ["k", "l"])
        #expect(try fixture.open().text("k") == "content")
    }

    @Test("Another time and the same bytes is a hit, and the index follows; other bytes are a miss")
    func restored() async throws {
        let storage = try fixture.open()
        var entries: [Entry] = []
        for text in ["same", "good"] { entries.append(try #require(try await storage.put(text, text))) }
        try FileManager.default.removeItem(atPath: storage.path(of: entries[1]))
        for (entry, text) in zip(entries, ["same", "evil"]) {
            try? FileManager.default.removeItem(atPath: storage.path(of: entry))
            try text.write(toFile: storage.path(of: entry), atomically: false, encoding: .utf8)
        }
        #expect(try storage.freshEntries(for: entries.map(\.key)).map { $0?.key.key } == ["same", nil])
        storage.writer.flush(truncating: false)
        let followed = try #require(try storage.entry(for: entries[0].key))
        #expect(followed.object.modified != entries[0].object.modified)
        #expect(try storage.entry(for: entries[1].key) == nil)
    }

    @Test("Where objects are to be hashed, the right size and time are not enough")
    func verified() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        let path = storage.path(of: entry)
        var status = stat()
        #expect(stat(path, &status) == 0)
        try FileManager.default.removeItem(atPath: path)
        try "cOntent".write(toFile: path, atomically: false, encoding: .utf8)
        var times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        #expect(try storage.freshEntries(for: [entry.key])[0] != nil)
        #expect(try fixture.open { $0.verifies = true }.freshEntries(for: [entry.key])[0] == nil)
    }
}
