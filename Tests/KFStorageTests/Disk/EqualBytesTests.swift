import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Equal bytes under several keys", .bounded)
final class EqualBytesTests: DiskSuite {
    private let text = "the bytes of an image"

    private func facts(rewrites: Bool = false) -> EntryFacts {
        var facts = EntryFacts.picture()
        facts.rewrites = rewrites
        return facts
    }

    private func order(_ key: String, _ storage: DiskStorage, rewrites: Bool = false) throws -> Store {
        try storage.prepare(Array(text.utf8), nil, EntryKey(key: key), facts(rewrites: rewrites))
    }

    private func isLink(_ order: Store) -> Bool { order.size != nil && order.staged == nil }

    private func path() throws -> String { "\(fixture.root)/v1/objects/\(try #require(fixture.objects().first))" }

    private func inode() throws -> UInt64 {
        var status = stat()
        try #require(stat(try path(), &status) == 0)
        return UInt64(status.st_ino)
    }

    /// Changes the bytes of the only object. Its size stays, and its time if it is to.
    private func damage(keepsTime: Bool = true) throws {
        let path = try path()
        var status = stat()
        try #require(stat(path, &status) == 0 && chmod(path, 0o644) == 0)
        let file = open(path, O_WRONLY)
        try #require(file >= 0)
        defer { close(file) }
        try #require(pwrite(file, "new", 3, 0) == 3)
        var times = [status.st_atim, status.st_mtim]
        if !keepsTime { times[1].tv_sec -= 100 }
        try #require(futimens(file, times) == 0)
    }

    private func expectHealed(_ storage: DiskStorage, _ keys: String...) throws {
        for key in keys { #expect(try storage.text(key) == text) }
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
    }

    @Test("Known bytes are not written again")
    func linked() async throws {
        let storage = try fixture.open()
        let first = try order("a", storage)
        #expect(!isLink(first))
        _ = try await storage.carryOut([first], urgent: true)
        let before = try inode()
        let second = try order("b", storage)
        #expect(isLink(second))
        #expect(try fixture.leftovers() == [])
        let entry = try #require(try await storage.carryOut([second], urgent: true)[0])
        #expect(try storage.entry(for: EntryKey(key: "a"))?.object == entry.object)
        #expect(try inode() == before)
        try expectHealed(storage, "a", "b")
    }

    @Test("A staged body is dropped when its bytes are known")
    func dropped() async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        let before = try inode()
        let staged = try storage.stage(Array(text.utf8))
        _ = try await storage.store(staged, for: EntryKey(key: "b"), facts(), urgent: true)
        #expect(try inode() == before)
        #expect(try fixture.leftovers() == [])
        // Its bytes can still be read, and stored again where the object is gone.
        #expect(try staged.loadWritten() == Array(text.utf8))
        _ = try storage.removeAll()
        for key in ["a", "b"] {
            _ = try await storage.store(staged, for: EntryKey(key: key), facts(), urgent: true)
        }
        try expectHealed(storage, "a", "b")
    }

    @Test("Equal bytes of one group are stored once")
    func together() async throws {
        let storage = try fixture.open()
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                """
                CREATE TEMP TRIGGER no BEFORE INSERT ON main.times WHEN NEW.id = \(EntryKey(key: "c").id)
                BEGIN SELECT RAISE(ABORT, 'not this one'); END
                """)
        }
        let groups = [try ["a", "b", "c"].map { try order($0, storage) }, [try order("d", storage)]]
        let outcomes = await storage.carryOutWithoutRepair(groups)
        #expect(outcomes.map { $0.map { (try? $0.get()) != nil } } == [[true, true, false], [true]])
        #expect(try fixture.objects().count == 1)
        try expectHealed(storage, "a", "b", "d")
    }

    enum Damage: CaseIterable { case missing, short, changed, folder }

    @Test("A damaged file is written again", arguments: Damage.allCases, [true, false])
    func damaged(_ damage: Damage, isLinked: Bool) async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        let links = try order("b", storage)
        let path = try path()
        switch damage {
        case .missing: try #require(unlink(path) == 0)
        case .short: try #require(chmod(path, 0o644) == 0 && truncate(path, 4) == 0)
        case .changed: try self.damage(keepsTime: false)
        case .folder: try #require(unlink(path) == 0 && mkdir(path, 0o755) == 0)
        }
        if isLinked {
            #expect(try await storage.carryOut([links], urgent: true)[0] != nil)
        } else {
            try await storage.put(text, "b")
        }
        try expectHealed(storage, "a", "b")
    }

    @Test("A link to an evicted object writes its bytes")
    func evicted() async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        let link = try order("b", storage)
        _ = try storage.removeAll()
        #expect(isLink(link))
        #expect(try await storage.carryOut([link], urgent: true)[0] != nil)
        try expectHealed(storage, "b")
    }

    @Test("A link survives the deletion of the whole directory")
    func deleted() async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        let link = try order("b", storage)
        try FileManager.default.removeItem(atPath: fixture.root)
        #expect(try await storage.carryOut([link], urgent: true)[0] != nil)
        try expectHealed(storage, "b")
    }

    @Test("A forced store replaces a damaged file")
    func forced() async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        try damage()
        #expect(try storage.text("a") != text)
        let forced = try order("b", storage, rewrites: true)
        #expect(!isLink(forced))
        _ = try await storage.carryOut([forced], urgent: true)
        try expectHealed(storage, "a", "b")
    }

    @Test("A store heals a distrusted object")
    func distrusted() async throws {
        let storage = try fixture.open()
        try await storage.put(text, "a")
        try await storage.put(text, "b")
        try damage()
        let digest = try #require(try storage.entry(for: EntryKey(key: "a"))).object.digest
        storage.distrust(digest)
        _ = try await storage.carryOut([try order("c", storage)], urgent: true)
        try expectHealed(storage, "a", "b", "c")
    }

    @Test("A sound object is trusted again")
    func trusted() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put(text, "a"))
        storage.distrust(entry.object.digest)
        storage.writer.flush(truncating: false)
        #expect(try storage.entry(for: EntryKey(key: "a"))?.object.modified == .min)
        #expect(try storage.text("a") == text)
        storage.writer.flush(truncating: false)
        #expect(try storage.entry(for: EntryKey(key: "a"))?.object == entry.object)
    }

    @Test("A durable store waits for bytes of another process")
    func durable() async throws {
        try await fixture.open().put(text, "a")
        let storage = try fixture.open { $0.synchronizes = true }
        let link = try order("b", storage)
        #expect(isLink(link))
        #expect(try await storage.carryOut([link], urgent: true)[0] != nil)
        try expectHealed(storage, "a", "b")
    }
}
