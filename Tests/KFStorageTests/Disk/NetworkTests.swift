import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Caches shared by several sessions", .bounded)
struct NetworkTests {
    private static let journal = Query("SELECT journal_mode FROM pragma_journal_mode")

    private let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }

    private func open() throws -> DiskStorage { try fixture.open { $0.isOnNetwork = true } }

    private func mode(_ storage: DiskStorage) throws -> String {
        try storage.session.reader.withLock { connection throws(StorageError) in
            let statement = try connection.statement(Self.journal)
            defer { statement.reset() }
            return try statement.step() ? statement.text(0) : ""
        }
    }

    @Test("An index on a network has no write-ahead log")
    func journal() async throws {
        let storage = try open()
        try await storage.put("x", "k")
        #expect(try mode(storage) == "delete")
        #expect(try storage.text("k") == "x")
        storage.close()
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(fixture.root)/v1")
        #expect(!names.contains("index.sqlite-wal") && !names.contains("index.sqlite-shm"))
        #expect(try mode(DiskStorageFixture().open()) == "wal")
    }

    @Test("Concurrent sessions lose no entry", arguments: [true, false])
    func together(isOnNetwork: Bool) async throws {
        let storages = try (0..<4).map { _ in try fixture.open { $0.isOnNetwork = isOnNetwork } }
        try await concurrently(100) { index in
            let (number, key) = (index % 4, "k\(index)")
            try await storages[number].put("text \(index)", key)
            try await storages[number].put("same", "shared")
            _ = try storages[3 - number].text(key)
        }
        for storage in storages { storage.close() }
        #expect(try fixture.leftovers() == [] && fixture.objects().count == 101)
        let reader = try fixture.open { $0.isOnNetwork = isOnNetwork }
        for index in 0..<100 { #expect(try reader.text("k\(index)") == "text \(index)") }
        #expect(try reader.verify(repairs: false) { Issue.record("\($0)") }.isClean)
        #expect(try reader.evict(to: 0).entries == 101)
        #expect(try fixture.objects() == [])
    }
}
