import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("The mark of images that a cache made itself", .bounded)
struct OwnMarkTests {
    private let fixture: DiskStorageFixture
    private let storage: DiskStorage
    private let key = EntryKey(key: "key", identifier: "flip:h")
    private let original = Array("original".utf8).withUnsafeBytes(SHA256.hash)

    init() throws {
        fixture = try DiskStorageFixture()
        storage = try fixture.open()
    }

    private func make(_ text: String = "made", in storage: DiskStorage? = nil) async throws -> Entry {
        let entry = try await (storage ?? self.storage).put(text, "key", identifier: "flip:h") {
            ($0.original, $0.isMadeHere, $0.freshness) = (original, true, "etag: 1")
        }
        return try #require(entry)
    }

    private func storedEntry(_ storage: DiskStorage) throws -> Entry { try #require(try storage.entry(for: key)) }

    @Test("Only images that were made here have the mark")
    func made() async throws {
        try await storage.put("other", "key", identifier: "flip:v") { $0.original = original }
        let other = try #require(try storage.entry(for: EntryKey(key: "key", identifier: "flip:v")))
        #expect(!storage.isMadeHere(other))
        let made = try await make()
        #expect(storage.isMadeHere(made) && !storage.isMadeHere(other))
        #expect(try fixture.open().isMadeHere(storedEntry(fixture.open())))
        #expect(made.sharedLines == "etag: 1" && made.freshness != made.sharedLines)
    }

    @Test("A stored image loses the mark that a stranger gave it")
    func stolen() async throws {
        let lines = try await make().freshness
        for text in ["made", "other"] {
            let entry = try await storage.put(text, "key", identifier: "flip:h") {
                ($0.original, $0.freshness) = (original, lines)
            }
            #expect(try entry?.freshness == "etag: 1" && !storage.isMadeHere(storedEntry(storage)))
        }
    }

    @Test("The mark of another directory does not count, and a copy is itself")
    func directories() async throws {
        let made = try await make()
        storage.writer.flush(truncating: true)
        let copy = fixture.directory.path("copy").path
        try FileManager.default.copyItem(atPath: fixture.root, toPath: copy)
        let restored = try DiskStorage(DiskStorage.Configuration(path: copy))
        #expect(try restored.isMadeHere(storedEntry(restored)))
        let another = try DiskStorage(.init(path: fixture.directory.path("another").path))
        #expect(!another.isMadeHere(made))
        _ = try await make(in: another)
        #expect(try !another.isMadeHere(made) && another.isMadeHere(storedEntry(another)))
    }

    @Test("A confirmation keeps the mark, and gives none")
    func renewed() async throws {
        let made = try await make()
        var renewal = EntryRenewal(expiration: .days(1), extending: .none)
        renewal.freshness = "etag: 2"
        _ = try await storage.renew([made], renewal, urgent: true)
        #expect(try storage.isMadeHere(storedEntry(storage)) && storedEntry(storage).sharedLines == "etag: 2")
        let lines = try storedEntry(storage).freshness
        try await storage.put("made", "key", identifier: "flip:h") { $0.original = original }
        renewal.freshness = lines
        _ = try await storage.renew([try storedEntry(storage)], renewal, urgent: true)
        #expect(try !storage.isMadeHere(storedEntry(storage)))
    }

    @Test("A rebuilt index keeps the marks")
    func rebuilt() async throws {
        _ = try await make()
        #expect(try storage.heal(index: storage.indexNumber))
        #expect(try storage.isMadeHere(storedEntry(storage)))
    }

    @Test("Without the number of the directory no image counts")
    func unnumbered() async throws {
        let made = try await make()
        try storage.session.lock?.write(words: [0], from: 5)
        #expect(try !fixture.open().isMadeHere(made))
        let reader = try fixture.open { $0.readOnly = true }
        #expect(!reader.isMadeHere(made))
    }
}
