import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Waits for stalled processes", .bounded)
final class BoundedWaitTests: DiskSuite {
    private func open(_ limit: Duration) throws -> DiskStorage {
        try fixture.open { $0.patience = Patience(limit: limit) }
    }

    /// What another process could do with the lock file.
    private func neighbour() throws -> FileLock {
        FileLock(try FileDescriptor.open("\(fixture.root)/v1/lock", O_RDWR))
    }

    private func isLocked(_ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return false
        } catch let error as StorageError {
            return error.isLocked
        } catch {
            return false
        }
    }

    @Test("A store that waits for a lock fails after the limit")
    func store() async throws {
        let storage = try open(.milliseconds(200))
        try await storage.put("a", "first")
        let neighbour = try neighbour()
        #expect(try neighbour.tryAcquire(.exclusive, byte: IndexSession.LockByte.write))
        #expect(await isLocked { try await storage.put("b", "second") })
        #expect(try storage.text("first") == "a")
        #expect(try fixture.objects().count == 1)
        neighbour.release(byte: IndexSession.LockByte.write)
        try await storage.put("b", "second")
        #expect(try storage.text("second") == "b")
        // The writer's thread lets go of a store's file after it has told of the failure, and before its next store.
        #expect(try fixture.leftovers() == [])
    }

    @Test("Several stores wait for a stalled process only once")
    func once() async throws {
        let storage = try open(.seconds(2))
        try await storage.put("a", "first")
        let neighbour = try neighbour()
        #expect(try neighbour.tryAcquire(.exclusive, byte: IndexSession.LockByte.write))
        #expect(await isLocked { try await storage.put("b", "0") })
        let start = ContinuousClock.now
        for index in 1...3 { #expect(await isLocked { try await storage.put("b", "\(index)") }) }
        #expect(await isLocked { _ = try storage.removeVariants(of: EntryKey(key: "first")) })
        #expect(start.duration(to: .now) < .seconds(6))
    }

    @Test("Every command fails after the limit")
    func commands() async throws {
        let storage = try open(.milliseconds(100))
        try await storage.put("a", "first")
        let neighbour = try neighbour()
        #expect(try neighbour.tryAcquire(.exclusive, byte: IndexSession.LockByte.write))
        #expect(await isLocked { _ = try storage.removeVariants(of: EntryKey(key: "first")) })
        #expect(await isLocked { _ = try storage.removeAll() })
        #expect(await isLocked { try storage.resetCounts() })
        unlink("\(fixture.root)/v1/objects/\(try #require(fixture.objects().first))")
        #expect(await isLocked { _ = try storage.verify(repairs: false) { _ in } })
        #expect(await isLocked { _ = try storage.verify(repairs: true) { _ in } })
    }

    @Test("Opening fails after the limit while the index is set aside")
    func opening() async throws {
        try await fixture.open().put("a", "first")
        let neighbour = try neighbour()
        // The writer's thread may hold the storage for a moment longer.
        try BoundedLock(
            neighbour, .exclusive, byte: IndexSession.LockByte.users, patience: Patience(limit: .seconds(60))
        ).acquire()
        #expect(await isLocked { _ = try self.open(.milliseconds(100)) })
        neighbour.release(byte: IndexSession.LockByte.users)
        #expect(try self.open(.milliseconds(100)).text("first") == "a")
    }

    @Test("SQLite's own waits end after the limit")
    func sqlite() async throws {
        let storage = try open(.milliseconds(200))
        try await storage.put("a", "first")
        let stranger = try Connection(path: "\(fixture.root)/v1/index.sqlite", mode: .readWrite)
        try stranger.execute("BEGIN IMMEDIATE")
        let start = ContinuousClock.now
        #expect(await isLocked { try await storage.put("b", "second") })
        #expect(start.duration(to: .now) >= .milliseconds(200))
        #expect(try storage.text("first") == "a")
        try stranger.execute("COMMIT")
        try await storage.put("b", "second")
        #expect(try fixture.leftovers() == [])
    }

    @Test("A closing reader does not wait")
    func readers() async throws {
        let storage = try open(.seconds(60))
        for index in 0..<300 { try await storage.put(String(repeating: "\(index)", count: 3000), "\(index)") }
        try #require(storage.session.directory.logSize > 1 << 20)
        let neighbour = try neighbour()
        #expect(try neighbour.tryAcquire(.exclusive, byte: IndexSession.LockByte.write))
        let reader = try open(.seconds(60))
        _ = try reader.text("1")
        // An entry without an object is removed on the way, some time.
        for name in try fixture.objects() { unlink("\(fixture.root)/v1/objects/\(name)") }
        #expect(try reader.text("2") == nil)
        let start = ContinuousClock.now
        reader.close()
        #expect(start.duration(to: .now) < .seconds(5))
        neighbour.release(byte: IndexSession.LockByte.write)
    }

    @Test("Only commits of other processes are counted")
    func commits() async throws {
        let (first, second) = (try fixture.open(), try fixture.open())
        try await first.put("a", "a")
        let before = (first.commitsOfOthers, second.commitsOfOthers)
        try await first.put("b", "b")
        #expect(first.commitsOfOthers == before.0)
        #expect(second.commitsOfOthers == before.1 + 1)
    }
}
