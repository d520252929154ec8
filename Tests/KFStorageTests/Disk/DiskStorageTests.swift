import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("The disk storage", .bounded)
final class DiskStorageTests: DiskSuite {
    @Test("A stored text is read back by another session")
    func roundTrip() async throws {
        let storage = try fixture.open()
        try await storage.put("bytes", "https://example.com/a.png")
        #expect(try storage.text("https://example.com/a.png") == "bytes")
        let other = try fixture.open()
        #expect(try other.text("https://example.com/a.png") == "bytes")
        #expect(try other.text("https://example.com/b.png") == nil)
        #expect(try fixture.leftovers() == [])
    }

    @Test("Closing empties a log that would slow the next process")
    func log() async throws {
        let storage = try fixture.open()
        for number in 0..<40 { try await storage.put("\(number)", "key \(number)") }
        try #require(storage.session.directory.logSize > 1 << 17)
        storage.close()
        #expect(storage.session.directory.logSize == 0)
    }

    @Test("An object is a read-only file named by its hash")
    func objectFile() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("abc", "k"))
        // sha256("abc"), FIPS 180-2
        #expect(entry.object.digest.hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            try fixture.objects() == ["ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad.png"])
        let attributes = try FileManager.default.attributesOfItem(atPath: storage.path(of: entry))
        #expect((attributes[.posixPermissions] as? Int) == 0o444)
        let root = try FileManager.default.attributesOfItem(atPath: fixture.root)
        #expect((root[.posixPermissions] as? Int) == 0o700)
        #expect(
            try String(contentsOfFile: "\(fixture.root)/CACHEDIR.TAG", encoding: .utf8)
                .hasPrefix("Signature: 8a477f597d28d172789f06886806bc55"))
    }

    @Test("Every fact of an entry is stored")
    func facts() async throws {
        let storage = try fixture.open()
        let original = try #require(try await storage.put("o", "k")).object.digest
        let entry = try #require(
            try await storage.put("v", "k", identifier: "blur:2") {
                $0.url = "https://example.com/x"
                $0.etag = "\"e\""
                $0.lastModified = "yesterday"
                $0.freshness = "cache-control: no-cache"
                $0.pixels = PixelFacts(width: 3, height: 4, frames: 5)
                $0.original = original
                $0.expiration = .seconds(10)
                $0.extending = .expirationTime(.seconds(20))
            })
        #expect(entry.url == "https://example.com/x")
        #expect(entry.etag == "\"e\"")
        #expect(entry.lastModified == "yesterday")
        #expect(entry.freshness == "cache-control: no-cache")
        #expect(entry.object.pixels == PixelFacts(width: 3, height: 4, frames: 5))
        #expect(entry.original == original)
        #expect(entry.timeToLive == 10_000)
        #expect(entry.extending == .expirationTime(.seconds(20)))
        #expect(entry.created == fixture.time.now)
        #expect(entry.expires == fixture.time.now.advanced(by: 10_000))
    }

    @Test("Equal bytes share one file until the last entry goes")
    func sharing() async throws {
        let storage = try fixture.open()
        try await storage.put("same", "a")
        try await storage.put("same", "b")
        #expect(try fixture.objects().count == 1)
        #expect(try storage.totals().bytes == 8)
        #expect(try storage.totals().stored == 4)
        _ = try storage.removeVariants(of: EntryKey(key: "a"))
        #expect(try storage.text("b") == "same")
        _ = try storage.removeVariants(of: EntryKey(key: "b"))
        #expect(try fixture.objects() == [])
        var totals = try storage.totals()
        totals.reads = ReadCounts()
        #expect(totals == CacheTotals())
    }

    @Test("A new original removes the variants of the old one")
    func replacing() async throws {
        let storage = try fixture.open()
        try await storage.put("one", "k")
        try await storage.put("small one", "k", identifier: "resize:1x1")
        try await storage.put("one", "k")
        #expect(try storage.text("k", identifier: "resize:1x1") == "small one")
        try await storage.put("two", "k")
        #expect(try storage.text("k") == "two")
        #expect(try storage.text("k", identifier: "resize:1x1") == nil)
        #expect(try fixture.objects().count == 1)
        #expect(try storage.totals().entries == 1)
    }

    @Test("Removing a source removes its variants only")
    func removing() async throws {
        let storage = try fixture.open()
        try await storage.put("1", "k")
        try await storage.put("2", "k", identifier: "blur:2")
        try await storage.put("3", "k", identifier: "blur:3")
        try await storage.put("4", "other")
        let counted = try storage.removeVariants(of: EntryKey(key: "k"), dryRun: true)
        #expect(counted.entries == 3)
        #expect(try storage.totals().entries == 4)
        #expect(try storage.removeVariants(of: EntryKey(key: "k")) == counted)
        #expect(try storage.text("other") == "4")
        #expect(try storage.totals().entries == 1)
    }

    @Test("Variants without a stored original are removed with their source")
    func orphanedVariants() async throws {
        let storage = try fixture.open()
        try await storage.put("2", "k", identifier: "blur:2")
        #expect(try storage.removeVariants(of: EntryKey(key: "k")).entries == 1)
    }

    @Test("Totals by host and format follow stores and removals")
    func shares() async throws {
        let storage = try fixture.open()
        try await storage.put("12345", "1") { $0.host = "a" }
        try await storage.put("123", "2") { $0.host = "b" }
        try await storage.put("1234", "3") {
            $0.host = "b"
            $0.format = "jpeg"
        }
        #expect(try storage.shares().hosts.map(\.name) == ["b", "a"])
        #expect(try storage.shares().hosts.map(\.bytes) == [7, 5])
        #expect(try storage.shares().formats.map(\.entries) == [2, 1])
        _ = try storage.removeVariants(of: EntryKey(key: "1"))
        #expect(try storage.shares().hosts.map(\.name) == ["b"])
    }

    @Test("Keys with equal hash prefixes do not collide")
    func collisions() async throws {
        let storage = try fixture.open()
        // Rows of other keys are put into the places that "k" would take.
        let place = EntryKey(key: "k").id
        try await storage.put("stranger", "s")
        let row = try #require(try storage.entry(for: EntryKey(key: "s"))).row
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("UPDATE entries SET id = \(place) WHERE id = \(row)")
            try connection.execute("UPDATE times SET id = \(place) WHERE id = \(row)")
        }
        #expect(try storage.text("k") == nil)
        try await storage.put("mine", "k")
        #expect(try storage.text("k") == "mine")
        #expect(try storage.totals().entries == 2)
        #expect(try #require(try storage.entry(for: EntryKey(key: "k"))).row == place + 1)
        try await storage.put("mine again", "k")
        #expect(try storage.freshEntries(for: [EntryKey(key: "k")])[0]?.row == place + 1)
        // One statement looks up 16 keys.
        let many = (0..<40).map { EntryKey(key: $0 % 3 == 0 ? "\($0)" : "k") }
        let rows = try storage.freshEntries(for: many).map { $0?.row }
        #expect(rows == many.map { $0.key == "k" ? place + 1 : nil })
        #expect(try storage.text("k") == "mine again")
        #expect(try storage.totals().entries == 2)
    }

    @Test("Objects with equal hash prefixes do not collide")
    func objectCollisions() async throws {
        let storage = try fixture.open()
        let mine = Array("mine".utf8).withUnsafeBytes(SHA256.hash)
        try await storage.put("stranger", "s")
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute("UPDATE objects SET id = \(EntryKey.place(mine))")
            try connection.execute("UPDATE entries SET object = \(EntryKey.place(mine))")
        }
        try await storage.put("mine", "k")
        try await storage.put("mine", "l")
        #expect(try storage.text("s") == "stranger")
        #expect(try [storage.text("k"), storage.text("l")] == ["mine", "mine"])
        #expect(try storage.totals().objects == 2)
    }

    @Test("A body that lost its file is stored anew")
    func lostBody() async throws {
        let storage = try fixture.open()
        let key = EntryKey(key: "k")
        let staged = try storage.stage(Array("text".utf8))
        for file in try fixture.leftovers() { try #require(unlink("\(fixture.root)/v1/tmp/\(file)") == 0) }
        fixture.time.advance(seconds: 5)
        #expect(try await storage.store(staged, for: key, .picture(), urgent: true) != nil)
        #expect(try storage.freshEntries(for: [key])[0] != nil)
        #expect(try storage.verify(repairs: false) { _ in }.damage == 0)
    }

    @Test("A look-up without texts lacks nothing else")
    func withoutTexts() async throws {
        let storage = try fixture.open()
        let key = EntryKey(key: "k", identifier: "blur:2")
        let stored = try #require(
            await storage.put("text", "k", identifier: "blur:2") {
                $0.pixels = PixelFacts(width: 3, height: 2, frames: 1)
                (($0.url, $0.etag), ($0.lastModified, $0.freshness)) = (("u", "e"), ("m", "a: b"))
                $0.original = Array("original".utf8).withUnsafeBytes(SHA256.hash)
                $0.extending = .none
            })
        guard case .fresh(let whole)? = try storage.lookUp([key]).first,
            case .fresh(let plain)? = try storage.lookUp(Array(repeating: key, count: 16), withTexts: false).last
        else {
            Issue.record("the entry is not found")
            return
        }
        #expect((whole.url, whole.etag) == ("u", "e") && (whole.lastModified, whole.freshness) == ("m", "a: b"))
        #expect((plain.url, plain.etag) == (nil, nil) && (plain.lastModified, plain.freshness) == (nil, nil))
        #expect(plain.key == key && plain.row == stored.row && plain.object == stored.object)
        #expect(plain.original == stored.original && plain.timeToLive == stored.timeToLive && plain.extending == .none)
        #expect((plain.created, plain.accessed, plain.expires) == (stored.created, stored.accessed, stored.expires))
    }
}
