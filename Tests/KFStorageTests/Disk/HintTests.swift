import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("Hints of the cache", .bounded)
struct HintTests {
    private let fixture: DiskStorageFixture
    private let storage: DiskStorage

    init() throws {
        fixture = try DiskStorageFixture()
        storage = try fixture.open()
    }

    @Test("A removal is remembered with its reason and time, by all processes")
    func removal() async throws {
        try await storage.put("text", "key")
        #expect(storage.removal(of: EntryKey(key: "key")) == nil)
        let entry = try #require(try storage.entry(for: EntryKey(key: "key")))
        fixture.time.advance(seconds: 10)
        _ = try storage.remove(entries: [entry], because: .damaged)
        fixture.time.advance(seconds: 10)
        let other = try fixture.open()
        let removal = try #require(other.removal(of: EntryKey(key: "key")))
        #expect(removal.reason == .damaged && storage.now().since(removal.time) == 10_000)
        #expect(other.removal(of: EntryKey(key: "another")) == nil)
    }

    @Test("A removal in the future or before 1970 does not count", arguments: [Int64.max, -1, 1, 1 << 62])
    func foreign(number: Int64) throws {
        let key = EntryKey(key: "key")
        let table = try #require(HintTable.removals(storage.session.lock))
        table.note(number, of: key.id)
        #expect(table[key.id] == number && storage.removal(of: key) == nil)
    }

    @Test("A removal replaces another one of its place, and no result")
    func bounded() throws {
        let (removals, results) = try (
            #require(HintTable.removals(storage.session.lock)), #require(HintTable.results(storage.session.lock))
        )
        for name in [Int64.min, -1, 0, 1, 65_535, .max] {
            removals.note(7, of: name)
            results.add(8, of: name) { _ in true }
            #expect(removals[name] == 7 && results[name] == 8)
        }
        removals.note(9, of: 65_537)
        #expect(removals[1] == nil && removals[65_537] == 9 && results[1] == 8)
        let lock = try Data(contentsOf: fixture.directory.path("cache/v1/lock"))
        #expect(lock.count <= 4096 + 2 << 20)
        #expect(try storage.verify(repairs: false) { _ in }.damage == 0)
    }

    @Test("The table of results grows with the images that the cache has")
    func growing() throws {
        let results = try #require(HintTable.results(storage.session.lock))
        var dice = Dice(27)
        let names = (1...100_000).map { _ in Int64(bitPattern: dice.next()) }
        for (number, name) in names.enumerated() { results.add(Int64(number + 1), of: name) { _ in true } }
        #expect(names.enumerated().allSatisfy { results[$1] == Int64($0 + 1) })
        let lock = fixture.directory.path("cache/v1/lock").path
        let size = try FileManager.default.attributesOfItem(atPath: lock)[.size] as? Int ?? 0
        #expect(size > 4096 + 2 << 20 && size <= 4096 + 8 << 20)
        // Places of images that left the cache are taken first.
        let isNew = { (number: Int64) in number > names.count }
        for (number, name) in names.enumerated() {
            results.add(Int64(names.count + number + 1), of: name &+ 1, unless: isNew)
        }
        #expect(names.enumerated().allSatisfy { results[$1 &+ 1] == Int64(names.count + $0 + 1) })
        let later = try FileManager.default.attributesOfItem(atPath: lock)[.size] as? Int ?? 0
        #expect(later <= 4096 + 8 << 20)
    }

    @Test("No image of many is forgotten")
    func many() async throws {
        let digests = (0..<3000).map { number in Array("original \(number)".utf8).withUnsafeBytes(SHA256.hash) }
        let stores = try digests.enumerated().map { number, digest in
            var facts = EntryFacts()
            (facts.host, facts.original) = (EntryFacts.localHost, digest)
            return [
                try storage.prepare(
                    Array("\(number)".utf8), nil, EntryKey(key: "\(number)", identifier: "flip:h"), facts)
            ]
        }
        await withCheckedContinuation { done in storage.store(stores, urgent: true) { _ in done.resume() } }
        #expect(try digests.allSatisfy { try storage.result(of: "flip:h", madeFrom: $0) != nil })
    }

    @Test("A hint to an image of other bytes or processors does not count")
    func wrongResult() async throws {
        let (digest, other) = (
            Array("original".utf8).withUnsafeBytes(SHA256.hash), Array("other".utf8).withUnsafeBytes(SHA256.hash)
        )
        try await storage.put("made", "key", identifier: "flip:h") { $0.original = digest }
        let entry = try #require(try storage.entry(for: EntryKey(key: "key", identifier: "flip:h")))
        storage.noteResult(entry)
        #expect(try storage.result(of: "flip:h", madeFrom: digest)?.row == entry.row)
        #expect(try storage.result(of: "flip:v", madeFrom: digest) == nil)
        #expect(try storage.result(of: "flip:h", madeFrom: other) == nil)
        let table = try #require(HintTable.results(storage.session.lock))
        for (identifier, original) in [("flip:v", digest), ("flip:h", other)] {
            table.note(entry.row, of: EntryKey(key: "sha256:\(original.hex)", identifier: identifier).id)
            #expect(try storage.result(of: identifier, madeFrom: original) == nil)
        }
        _ = try storage.remove(entries: [entry])
        #expect(try storage.result(of: "flip:h", madeFrom: digest) == nil)
    }
}
