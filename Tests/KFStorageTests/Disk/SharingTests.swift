import Foundation
import Testing

@testable import KFStorage

@Suite("One cache, many users")
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

    @Test("One failing change does not undo the others of its batch")
    func batches() async throws {
        let storage = try fixture.open()
        let bytes = Array("x".utf8)
        let broken = try bytes.withUnsafeBytes { try storage.stage($0) }
        // Published, and its file is gone: publishing it again cannot work.
        let first = try await storage.store(broken, for: EntryKey(key: "first"), EntryFacts(), urgent: true)
        try FileManager.default.removeItem(atPath: storage.path(of: #require(first)))
        let failing = Task {
            try await storage.store(broken, for: EntryKey(key: "second"), EntryFacts(), urgent: false)
        }
        try await storage.put("y", "third")
        await #expect(throws: StorageError.self) { try await failing.value }
        #expect(try storage.text("third") == "y")
        #expect(try storage.entry(for: EntryKey(key: "second")) == nil)
    }
}
