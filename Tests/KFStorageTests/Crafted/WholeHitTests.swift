import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Checks of cached files", .bounded)
final class WholeHitTests: DiskSuite {
    enum Damage: CaseIterable { case missing, empty, torn, grown, changed, link, directory, fifo, folder }

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
        case .changed: try bytes.map { ~$0 }.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
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
        // Size alone must not be what tells them apart, and bytes of the same size are read when the time is another.
        var times = [status.st_atim, status.st_mtim]
        if damage == .changed { times[1].tv_sec -= 100 }
        if damage != .fifo { _ = utimensat(AT_FDCWD, path, &times, 0) }
    }

    /// The keys whose images are found: by a look-up of all of them, or one by one.
    private func found(_ keys: [String], in storage: DiskStorage, inBulk: Bool) throws -> [String?] {
        if inBulk { return try storage.freshEntries(for: keys.map { EntryKey(key: $0) }).map { $0?.key.key } }
        return try keys.map { try storage.text($0) == nil ? nil : $0 }
    }

    @Test("A damaged file is a miss and is replaced", arguments: Damage.allCases, [true, false])
    func damaged(_ damage: Damage, inBulk: Bool) async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        try await storage.put("other", "l")
        try harm(storage.path(of: entry), damage)
        let reader = try fixture.open { $0.readOnly = true }
        #expect(try found(["k", "l"], in: reader, inBulk: inBulk) == [nil, "l"])
        let other = try fixture.open()
        #expect(try found(["k", "l"], in: other, inBulk: inBulk) == [nil, "l"])
        #expect(!other.isWhole(entry))
        other.writer.flush(truncating: false)
        #expect(try other.totals().entries == 1)
        if ![.link, .directory, .fifo, .folder].contains(damage) { #expect(try fixture.objects().count == 1) }
        try await other.put("content", "k")
        #expect(try found(["k", "l"], in: other, inBulk: inBulk) == ["k", "l"])
        #expect(try fixture.open().text("k") == "content")
        if [.link, .folder].contains(damage) {
            #expect(FileManager.default.fileExists(atPath: fixture.directory.path("target").path))
        }
    }

    @Test("A file with a new time counts if its bytes are equal", arguments: [true, false])
    func restored(inBulk: Bool) async throws {
        let storage = try fixture.open()
        var entries: [Entry] = []
        for text in ["same", "good"] { entries.append(try #require(try await storage.put(text, text))) }
        for (entry, text) in zip(entries, ["same", "evil"]) {
            try FileManager.default.removeItem(atPath: storage.path(of: entry))
            try text.write(toFile: storage.path(of: entry), atomically: false, encoding: .utf8)
            try setAge(100, of: storage.path(of: entry))
        }
        #expect(try found(["same", "good"], in: storage, inBulk: inBulk) == ["same", nil])
        storage.writer.flush(truncating: false)
        let followed = try #require(try storage.entry(for: entries[0].key))
        #expect(followed.object.modified != entries[0].object.modified)
        #expect(try storage.entry(for: entries[1].key) == nil)
    }

    @Test("Hashing finds a changed byte behind the right size and time", arguments: [true, false])
    func verified(inBulk: Bool) async throws {
        let storage = try fixture.open()
        let path = storage.path(of: try #require(try await storage.put("content", "k")))
        var status = stat()
        #expect(stat(path, &status) == 0)
        try FileManager.default.removeItem(atPath: path)
        try "cOntent".write(toFile: path, atomically: false, encoding: .utf8)
        var times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
        #expect(try found(["k"], in: storage, inBulk: inBulk) == ["k"])
        #expect(try found(["k"], in: fixture.open { $0.verifies = true }, inBulk: inBulk) == [nil])
    }
}
