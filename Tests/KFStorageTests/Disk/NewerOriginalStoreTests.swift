import Support
import Testing

@testable import KFStorage

@Suite("Stores of what a newer original was made into", .bounded)
final class NewerOriginalStoreTests: DiskSuite {
    private let chain = "blur:2"

    /// Stores an image of an original that arrived so many seconds after the old one was stored.
    private func store(
        _ storage: DiskStorage, after old: Entry, seconds: Int64, isStored: Bool
    ) async throws -> Entry? {
        try await storage.put("made of new", "k", identifier: chain) { facts in
            facts.original = Array("new".utf8).withUnsafeBytes { SHA256.hash($0) }
            facts.arrival = OriginalArrival(at: old.created.advanced(by: seconds * 1000), isStored: isStored)
        }
    }

    @Test("An older original goes, unless its store replaces it", arguments: [true, false])
    func newer(isStored: Bool) async throws {
        let storage = try fixture.open()
        let old = try #require(try await storage.put("old", "k"))
        for identifier in ["blur:1", chain] {
            try await storage.put("made of old", "k", identifier: identifier) { $0.original = old.object.digest }
        }
        #expect(try await store(storage, after: old, seconds: -1, isStored: isStored) == nil)
        #expect(try storage.text("k", identifier: chain) == "made of old")
        #expect(try await store(storage, after: old, seconds: 0, isStored: isStored) != nil)
        #expect(try storage.text("k", identifier: chain) == "made of new")
        #expect(try storage.text("k") == (isStored ? "old" : nil))
        #expect(try storage.text("k", identifier: "blur:1") == (isStored ? "made of old" : nil))
        try await storage.put("new", "k")
        #expect(try storage.text("k", identifier: chain) == "made of new")
        #expect(try storage.text("k", identifier: "blur:1") == nil)
        #expect(try storage.verify(repairs: false) { _ in }.damage == 0)
    }

    @Test("An original of a clock that was ahead is not newer")
    func ahead() async throws {
        let storage = try fixture.open()
        let old = try #require(try await storage.put("old", "k"))
        fixture.time.advance(seconds: -60)
        #expect(try await store(storage, after: old, seconds: -60, isStored: false) != nil)
        #expect(try storage.text("k") == nil)
    }
}
