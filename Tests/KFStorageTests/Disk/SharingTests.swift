import Foundation
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("One cache, many users", .bounded)
struct SharingTests {
    private let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }

    @Test("Writers in several sessions lose nothing")
    func writers() async throws {
        let storages = try (0..<4).map { _ in try fixture.open() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, storage) in storages.enumerated() {
                for index in 0..<50 {
                    group.addTask { try await storage.put("\(number) \(index)", "k\(number)-\(index)") }
                }
                group.addTask { for _ in 0..<20 { try await storage.put("same", "shared") } }
            }
            try await group.waitForAll()
        }
        let reader = try fixture.open()
        for number in 0..<4 {
            for index in 0..<50 { #expect(try reader.text("k\(number)-\(index)") == "\(number) \(index)") }
        }
        #expect(try reader.totals().entries == 201)
        #expect(try fixture.objects().count == 201)
        #expect(try fixture.leftovers() == [])
    }

    @Test("Sessions that open a missing cache at once agree on one index")
    func opening() async throws {
        let fixture = fixture
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    let storage = try fixture.open()
                    try await storage.put("\(index)", "k\(index)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try fixture.open().totals().entries == 8)
    }

    @Test("A reader's open file survives the removal of its entry")
    func openFile() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("content", "k"))
        guard let file = try storage.open(entry) else {
            Issue.record("the stored object does not open")
            return
        }
        _ = try fixture.open().removeAll()
        let text = String(decoding: try file.readAll(), as: UTF8.self)
        #expect(text == "content")
        #expect(try storage.text("k") == nil)
    }

    @Test("One session at a time flies for a key; landing or ending frees it")
    func flights() throws {
        let first = try fixture.open()
        var second: DiskStorage? = try fixture.open()
        let key = EntryKey(key: "k")
        #expect(try first.tryEnterFlight(key))
        #expect(try second?.tryEnterFlight(key) == false)
        #expect(try second?.tryEnterFlight(EntryKey(key: "other")) == true)
        first.leaveFlight(key)
        #expect(try second?.tryEnterFlight(key) == true)
        #expect(try !first.tryEnterFlight(key))
        second = nil
        #expect(try first.tryEnterFlight(key))
    }

    @Test("One failing change does not undo the others of its batch", arguments: [true, false])
    func batches(hasWritten: Bool) async throws {
        let storage = try fixture.open()
        async let first = storage.put("x", "first")
        let failure: Result<Void, StorageError> = await withCheckedContinuation { continuation in
            storage.writer.submit(urgent: false) { connection throws(StorageError) in
                if hasWritten { try connection.execute("INSERT INTO hosts (name) VALUES ('half')") }
                throw .readOnly(path: "test")
            } completion: { result in
                continuation.resume(returning: result)
            }
        }
        async let third = storage.put("y", "third")
        _ = try await (first, third)
        #expect(throws: StorageError.readOnly(path: "test")) { try failure.get() }
        #expect(try storage.text("first") == "x")
        #expect(try storage.text("third") == "y")
        #expect(try storage.shares().hosts.map(\.name) == ["example.com"])
        let half = Query("SELECT count(*) FROM hosts WHERE name = 'half'")
        #expect(try storage.session.reader.withLock { try $0.integer(half) } == 0)
        let totals = try storage.totals()
        #expect(totals.entries == 2 && totals.objects == 2 && totals.stored == 2)
    }
}
