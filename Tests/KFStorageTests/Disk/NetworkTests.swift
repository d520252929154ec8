import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("A cache that several machines share", .bounded)
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

    @Test("Its index has no write-ahead log")
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

    @Test("Several who write, read, remove and evict lose nothing")
    func together() async throws {
        let storages = try (0..<4).map { _ in try open() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, storage) in storages.enumerated() {
                group.addTask {
                    for index in 0..<25 {
                        try await storage.put("\(number) \(index)", "k\(number)-\(index)")
                        _ = try storage.text("k\(3 - number)-\(index)")
                    }
                }
            }
            try await group.waitForAll()
        }
        for storage in storages { storage.close() }
        let reader = try open()
        for number in 0..<4 {
            for index in 0..<25 { #expect(try reader.text("k\(number)-\(index)") == "\(number) \(index)") }
        }
        #expect(try reader.verify(repairs: false) { Issue.record("\($0)") }.isClean)
        #expect(try reader.evict(to: 0).entries == 100)
        #expect(try fixture.objects() == [])
    }
}
