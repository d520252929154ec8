import Support
import Testing

@testable import KFStorage

@Suite("Variants of replaced originals", .bounded)
final class OutdatedVariantTests: DiskSuite {
    private func digest(_ text: String) -> Digest { Array(text.utf8).withUnsafeBytes { SHA256.hash($0) } }

    private func damage(_ storage: DiskStorage) throws -> [CacheFinding.Kind: Int] {
        try storage.verify(repairs: false) { _ in }.counts.mapValues(\.found)
    }

    @Test("A variant made of a replaced original is refused")
    func refused() async throws {
        let storage = try fixture.open()
        let old = digest("old")
        try await storage.put("old", "key")
        try await storage.put("new", "key")
        let late = try await storage.put("made of old", "key", identifier: "blur:2") { $0.original = old }
        #expect(late == nil)
        #expect(try storage.text("key", identifier: "blur:2") == nil)
        #expect(try fixture.objects().count == 1)
        // The writer is done with what it was given.
        storage.close()
        #expect(try fixture.leftovers().isEmpty)
        let right = try await storage.put("made of new", "key", identifier: "blur:2") { $0.original = digest("new") }
        #expect(right != nil)
        #expect(try damage(storage).isEmpty)
    }

    @Test("A new original removes variants of another one")
    func swept() async throws {
        let storage = try fixture.open()
        for (identifier, text) in [("blur:2", "old"), ("blur:3", "new")] {
            try await storage.put("\(identifier) of \(text)", "key", identifier: identifier) {
                $0.original = digest(text)
            }
        }
        try await storage.put("given", "key", identifier: "by a caller")
        try await storage.put("new", "key")
        #expect(try storage.text("key", identifier: "blur:2") == nil)
        #expect(try storage.text("key", identifier: "blur:3") == "blur:3 of new")
        #expect(try storage.text("key", identifier: "by a caller") == "given")
        #expect(try fixture.objects().count == 3)
        #expect(try damage(storage).isEmpty)
    }

    @Test("A variant stored by another process goes with its original")
    func ofOthers() async throws {
        let (storage, other) = (try fixture.open(), try fixture.open())
        try await storage.put("old", "key")
        try await other.put("made", "key", identifier: "blur:2") { $0.original = digest("old") }
        try await storage.put("new", "key")
        #expect(try storage.text("key", identifier: "blur:2") == nil)
        try await other.put("made", "key", identifier: "blur:2") { $0.original = digest("new") }
        // Those of one batch count as well.
        let groups: [[Store]] = try [("blur:3", "made of new"), ("", "newest")].map { identifier, text in
            var facts = EntryFacts()
            (facts.host, facts.format) = ("example.com", "png")
            if !identifier.isEmpty { facts.original = digest("new") }
            return [try storage.prepare(Array(text.utf8), nil, EntryKey(key: "key", identifier: identifier), facts)]
        }
        _ = await withCheckedContinuation { continuation in
            storage.store([groups.flatMap { $0 }], urgent: true) { continuation.resume(returning: $0) }
        }
        for identifier in ["blur:2", "blur:3"] { #expect(try storage.text("key", identifier: identifier) == nil) }
        #expect(try damage(storage).isEmpty)
    }

    @Test("Verification finds a variant of a replaced original")
    func found() async throws {
        let storage = try fixture.open()
        try await storage.put("new", "key")
        try await storage.put("made", "key", identifier: "blur:2") { $0.original = digest("new") }
        fixture.time.advance(seconds: 10)
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("UPDATE entries SET original = zeroblob(32) WHERE identifier <> ''")
        }
        #expect(try damage(storage) == [.staleVariant: 1])
        _ = try storage.verify(repairs: true) { _ in }
        #expect(try damage(storage).isEmpty)
        #expect(try storage.text("key") == "new")
    }
}
