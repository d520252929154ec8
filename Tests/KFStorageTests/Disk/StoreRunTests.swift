import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Runs of new images", .bounded)
struct StoreRunTests {
    private let fixture: DiskStorageFixture
    private let storage: DiskStorage

    init() throws {
        fixture = try DiskStorageFixture()
        storage = try fixture.open()
    }

    private func store(_ text: String, _ key: String) throws -> Store {
        .store(try storage.stage(Array(text.utf8)), EntryKey(key: key), .picture())
    }

    /// Stores images, each by itself, in one batch.
    private func run(_ images: [(key: String, text: String)]) async throws -> [Store.Outcome] {
        let stores = try images.map { try store($0.text, $0.key) }
        return await storage.carryOutWithoutRepair(stores.map { [$0] }).map { $0[0] }
    }

    private func expect(_ images: [(key: String, text: String)], objects: Int) throws {
        for (key, text) in images { #expect(try storage.text(key) == text) }
        #expect(try fixture.objects().count == objects)
        let totals = try storage.totals()
        #expect(totals.entries == images.count && totals.objects == objects)
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
    }

    @Test("Equal bytes in one run are stored once")
    func equalBytes() async throws {
        let images = ["a", "b", "c", "d", "e"].map { (key: $0, text: "cd".contains($0) ? $0 : "the same") }
        for outcome in try await run(images) { #expect(try outcome.get() != nil) }
        try expect(images, objects: 3)
    }

    @Test("Stores of one key in one run keep their order")
    func oneKey() async throws {
        let outcomes = try await run((0..<40).map { (key: "\($0 % 5)", text: "text \($0)") })
        for (number, outcome) in outcomes.enumerated() { #expect(try outcome.get()?.key.key == "\(number % 5)") }
        try expect((35..<40).map { (key: "\($0 % 5)", text: "text \($0)") }, objects: 5)
    }

    @Test("A run replaces images that the cache has", arguments: [1, 3, 100])
    func replacing(count: Int) async throws {
        for number in 0..<count where number % 3 != 1 { try await storage.put("old \(number)", "\(number)") }
        let made = try #require(
            try await storage.put("made", "0", identifier: "blur:2") { $0.original = digest("old 0") })
        #expect(try storage.open(made) != nil)
        let images = (0..<count).map { (key: "\($0)", text: "new \($0)") }
        for outcome in try await run(images) { #expect(try outcome.get() != nil) }
        #expect(try storage.entry(for: made.key) == nil)
        try expect(images, objects: count)
    }

    @Test("A failed store of a run leaves the others", arguments: ["entries", "objects", "times"])
    func failing(table: String) async throws {
        let images = (0..<20).map { (key: "\($0)", text: "text \($0)") }
        let stores = try images.map { try store($0.text, $0.key) }
        let digest = try #require(stores[7].digest)
        let row = table == "objects" ? EntryKey.place(digest) : EntryKey(key: "7").id
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                """
                CREATE TEMP TRIGGER no BEFORE INSERT ON main.\(table) WHEN NEW.id = \(row)
                BEGIN SELECT RAISE(ABORT, 'not this one'); END
                """)
        }
        let outcomes = await storage.carryOutWithoutRepair(stores.map { [$0] })
        #expect(outcomes.indices.filter { (try? outcomes[$0][0].get()) == nil } == [7])
        try expect(images.filter { $0.key != "7" }, objects: 19)
    }

    @Test("A staged file that was deleted is written again")
    func deletedFile() async throws {
        let images = ["a", "b", "c"].map { (key: $0, text: "text of \($0)") }
        let stores = try images.map { try store($0.text, $0.key) }
        try FileManager.default.removeItem(atPath: storage.directory.path(try #require(stores[1].staged).name))
        for outcomes in await storage.carryOutWithoutRepair(stores.map { [$0] }) {
            #expect(try outcomes[0].get() != nil)
        }
        try expect(images, objects: 3)
    }

    private func digest(_ text: String) -> Digest { Array(text.utf8).withUnsafeBytes(SHA256.hash) }
}
