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

    @Test("Old entries without their object free no object of the run", arguments: ["ab", "ba"])
    func withoutObject(order: String) async throws {
        // As a killed eviction leaves them.
        for key in ["a", "b"] { try await storage.put("old", key) }
        try fixture.change(
            """
            UPDATE totals SET objects = 0, stored = 0; DELETE FROM objects
            """)
        let images = order.map { (key: String($0), text: $0 == "a" ? "new" : "old") }
        for outcome in try await run(images) { #expect(try outcome.get() != nil) }
        try expect(images, objects: 2)
    }

    @Test("A failed store of a run leaves the others", arguments: ["entries", "objects", "times"], [20, 256])
    func failing(table: String, count: Int) async throws {
        let images = (0..<count).map { (key: "\($0)", text: "text \($0)") }
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
        try expect(images.filter { $0.key != "7" }, objects: count - 1)
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

    @Test("A failed commit leaves no file of a run")
    func failedCommit() async throws {
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                "CREATE TEMP TRIGGER no BEFORE UPDATE ON main.totals BEGIN SELECT RAISE(ABORT, 'no sums'); END")
        }
        let outcomes = try await run((0..<20).map { (key: "\($0)", text: "text \($0)") })
        #expect(outcomes.allSatisfy { (try? $0.get()) == nil })
        #expect(try fixture.objects().isEmpty)
    }

    @Test("A folder that cannot be used fails its stores alone")
    func noFolder() async throws {
        let images = (0..<20).map { (key: "\($0)", text: "text \($0)") }
        let stores = try images.map { try store($0.text, $0.key) }
        let folders = stores.map { ObjectStore.folderName(UInt8($0.digest!.prefix >> 56)) }
        let path = "\(fixture.root)/v1/objects/\(folders[7])"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.root)
        let outcomes = await storage.carryOutWithoutRepair(stores.map { [$0] })
        for (place, outcome) in outcomes.enumerated() {
            #expect((try? outcome[0].get()) != nil || folders[place] == folders[7])
        }
        // The link is never followed, whether it was replaced or not.
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root).allSatisfy { $0.utf8.count < 64 })
        let result = try storage.verify(repairs: true) { _ in }
        #expect(result.damage == 0, "\(result)")
    }

    @Test("Runs are carried out where each store waits for the disk")
    func synchronized() async throws {
        let storage = try fixture.open { $0.synchronizes = true }
        let stores = try (0..<20).map { try store("text \($0 % 15)", "\($0)") }
        for outcome in await storage.carryOutWithoutRepair(stores.map { [$0] }) { #expect(try outcome[0].get() != nil) }
        try expect((0..<20).map { (key: "\($0)", text: "text \($0 % 15)") }, objects: 15)
    }

    @Test("Groups that end with a new original keep their outcomes")
    func groups() async throws {
        let groups = try (0..<40).map { number in
            let facts = EntryFacts.picture(original: digest("text \(number)"))
            let made = Store.store(
                try storage.stage(Array("made \(number)".utf8)), EntryKey(key: "\(number)", identifier: "blur:2"), facts
            )
            return [made, try store("text \(number)", "\(number)")]
        }
        for (number, outcomes) in await storage.carryOutWithoutRepair(groups).enumerated() {
            #expect(try outcomes.map { try $0.get()?.key.key } == ["\(number)", "\(number)"])
        }
        #expect(try storage.text("39") == "text 39" && storage.text("39", identifier: "blur:2") == "made 39")
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
    }

    private func digest(_ text: String) -> Digest { Array(text.utf8).withUnsafeBytes(SHA256.hash) }
}
