import Foundation
import Support
import Testing

@testable import KFStorage

@Suite("Filters over entries", .bounded)
final class FilterTests: DiskSuite {
    /// The names that a listing, a rehearsed removal, sums and a verification select: all of them the same number.
    private func selected(_ change: (inout EntryFilter) -> Void) throws -> [String] {
        var filter = EntryFilter()
        change(&filter)
        let storage = try fixture.open()
        var query = EntryQuery()
        query.filter = filter
        let listed = try storage.list(query).map(\.key.description)
        var removed: [String] = []
        let removal = try storage.remove(matching: filter, dryRun: true) { removed.append($0.description) }
        #expect(removed.sorted() == listed.sorted() && removal.entries == listed.count)
        #expect(try storage.summary(of: filter).totals.entries == listed.count)
        #expect(try storage.verify(filter, repairs: false) { _ in }.entries == listed.count)
        query.limit = 100
        #expect(try storage.list(query).count == listed.count)
        return listed
    }

    private func fill() async throws {
        let storage = try fixture.open()
        try await storage.put("one", "http://a/1.png")
        try await storage.put("made of one", "http://a/1.png", identifier: "resize:4x4,none|>encode:webp,quality=80") {
            $0.format = "webp"
        }
        try await storage.put("whose", "http://a/1.png#user=0123456789abcdef0123456789abcdef") { $0.host = "a" }
        try await storage.put(
            "trusted", "http://a/1.png#user=0123456789abcdef0123456789abcdef#trust=0123456789abcdef0123456789abcdef")
        try await storage.put(String(repeating: "x", count: 300_000), "http://a/2.jpg") { $0.format = "jpeg" }
        try await storage.put("chosen", "http://a/2.jpg", identifier: "vary=0123456789abcdef|>blur:2") {
            $0.format = "jpeg"
        }
        try await storage.put("short", "http://b/3.png") { $0.expiration = .seconds(5) }
        fixture.time.advance(seconds: 10)
    }

    @Test("A key selects the entries of all its users")
    func keys() async throws {
        try await fill()
        let one = ["http://a/1.png", "http://a/1.png@resize:4x4,none|>encode:webp,quality=80"]
        let all =
            one.prefix(1) + [
                "http://a/1.png#user=0123456789abcdef0123456789abcdef",
                "http://a/1.png#user=0123456789abcdef0123456789abcdef#trust=0123456789abcdef0123456789abcdef",
            ] + one.suffix(1)
        #expect(try selected { $0.keys = KeyChoice(keys: ["http://a/1.png"]) }.sorted() == all.sorted())
        #expect(
            try selected { $0.keys = KeyChoice(keys: ["http://a/1.png#user=0123456789abcdef0123456789abcdef"]) } == [
                "http://a/1.png#user=0123456789abcdef0123456789abcdef"
            ])
        #expect(try selected { $0.keys = KeyChoice(keys: ["http://a/1.pn"]) } == [])
        #expect(try selected { $0.keys = KeyChoice(keys: ["http://b/3.png"], globs: ["*.jpg"]) }.count == 3)
        let except = try selected { $0.keys = KeyChoice(except: ["http://a/1.png"]) }
        #expect(except.count == 3 && !except.contains { $0.contains("1.png") })
        #expect(try selected { $0.keys = KeyChoice(globs: ["*/2.jpg"], except: ["http://a/2.jpg"]) } == [])
        #expect(try selected { $0.keys = KeyChoice(globs: ["http://?/[13].png"]) }.count == 3)
    }

    @Test("A choice of keys is the same in memory and in SQL")
    func memory() {
        var filter = EntryFilter()
        filter.keys = KeyChoice(keys: ["k"], globs: ["a*"])
        #expect(
            filter.selects(EntryKey(key: "k"))
                && filter.selects(EntryKey(key: "k#user=0123456789abcdef0123456789abcdef", identifier: "blur:2")))
        #expect(filter.selects(EntryKey(key: "about")) && !filter.selects(EntryKey(key: "b")))
        filter.format = "png"
        #expect(!filter.selects(EntryKey(key: "k")))
        #expect(
            KeyChoice.base(of: "a#b#user=0123456789abcdef0123456789abcdef#trust=0123456789abcdef0123456789abcdef")
                == "a#b" && KeyChoice.base(of: "a#use") == "a#use")
        #expect(KeyChoice.base(of: "item#user=bob") == "item#user=bob", "a mark of the key's own")
    }

    @Test("Every property of an entry can be filtered")
    func properties() async throws {
        try await fill()
        #expect(try selected { $0.format = "webp" }.count == 1)
        #expect(try selected { $0.format = "gif" } == [])
        #expect(try selected { $0.largerThan = 299_999 } == ["http://a/2.jpg"])
        #expect(try selected { $0.largerThan = 300_000 } == [])
        #expect(try selected { $0.largerThan = 5 }.count == 4)
        #expect(try selected { $0.expiredAt = fixture.time.clock.now() } == ["http://b/3.png"])
        for identifier in ["resize:4x4,none|>encode:webp,quality=80", "blur:2", "vary=0123456789abcdef|>blur:2"] {
            #expect(try selected { $0.identifier = identifier }.count == 1, "\(identifier)")
        }
        #expect(try selected { $0.identifier = "resize:4x4,none" } == [])
        #expect(
            try selected {
                $0.format = "jpeg"; $0.largerThan = 10
            } == ["http://a/2.jpg"])
        #expect(try selected { $0.glob = "*.png" }.count == 3)
        #expect(try selected { $0.createdBefore = fixture.time.now }.count == 7)
        #expect(try selected { $0.createdBefore = fixture.time.now.advanced(by: -10_001) } == [])
        var filter = EntryFilter()
        filter.host = HostPattern("a")
        #expect(try selected { $0.host = filter.host } == ["http://a/1.png#user=0123456789abcdef0123456789abcdef"])
        let storage = try fixture.open()
        #expect(try storage.remove(matching: filter).entries == 1 && storage.totals().entries == 6)
    }

    @Test("The sums of all entries equal the totals")
    func sums() async throws {
        try await fill()
        let storage = try fixture.open()
        try await storage.put("one", "http://c/same-bytes.png") { $0.host = "c" }
        var filter = EntryFilter()
        filter.largerThan = -1
        let found = try storage.summary(of: filter)
        var whole = try storage.totals()
        whole.reads = found.totals.reads
        #expect(found.totals == whole)
        let shares = try storage.shares()
        #expect(found.hosts == shares.hosts && Set(found.formats.map(\.name)) == Set(shares.formats.map(\.name)))
        #expect(found.ages == (try storage.ages(exactly: true)))
    }

    @Test("A filter for the end of identifiers leaves ages and expiries as they are")
    func identifierEnd() async throws {
        let storage = try fixture.open()
        try await storage.put("made", "http://a/1.png", identifier: "blur:2") { $0.expiration = .seconds(5) }
        fixture.time.advance(seconds: 7200)
        var filter = EntryFilter()
        filter.identifierEnd = "blur:2"
        let found = try storage.summary(of: filter)
        #expect(found.totals.entries == 1 && found.totals.expired == 1)
        #expect(found.ages.map(\.entries) == [0, 1, 0, 0, 0])
    }

    @Test("Ages count back from now")
    func ages() async throws {
        let storage = try fixture.open()
        // Just before the hour strikes.
        fixture.time.advance(seconds: Double(3590 - fixture.time.clock.now().milliseconds / 1000 % 3600))
        try await storage.put("a", "a")
        func counts(after seconds: Double) throws -> [Int] {
            fixture.time.advance(seconds: seconds)
            var filter = EntryFilter()
            filter.largerThan = -1
            let ages = try storage.ages(exactly: true)
            #expect(try storage.summary(of: filter).ages == ages)
            return ages.map(\.entries)
        }
        #expect(try counts(after: 60) == [1, 0, 0, 0, 0], "another hour of the clock, and a minute old")
        #expect(try counts(after: 3539) == [1, 0, 0, 0, 0])
        #expect(try counts(after: 1) == [0, 1, 0, 0, 0])
        #expect(try counts(after: 86_400 - 3600) == [0, 0, 1, 0, 0])
        #expect(try counts(after: -86_500) == [1, 0, 0, 0, 0], "a clock that was ahead")
        #expect(try storage.ages(exactly: false).map(\.entries) == [1, 0, 0, 0, 0])
    }

    @Test("Equal shares come by name") func equalShares() async throws {
        let storage = try fixture.open()
        let hosts = ["c", "a", "e", "b", "d"]
        for host in hosts { try await storage.put("same", "http://\(host)/1.png") { $0.host = host } }
        var filter = EntryFilter()
        filter.largerThan = 0
        #expect(try storage.summary(of: filter).hosts.map(\.name) == hosts.sorted())
    }

    @Test("A hash prefix selects the entries of its content")
    func hashes() async throws {
        try await fill()
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("one", "elsewhere"))
        let hex = entry.object.digest.hex
        for length in [8, 15, 16, 17, 40, 64] {
            let found = try storage.entries(hashPrefix: String(hex.prefix(length)))
            #expect(found.map { $0.map(\.key.key).sorted() } == [["elsewhere", "http://a/1.png"]], "\(length)")
        }
        #expect(try storage.entries(hashPrefix: String(hex.prefix(7))).isEmpty)
        #expect(try storage.entries(hashPrefix: String(hex.prefix(63)) + (hex.last == "0" ? "1" : "0")).isEmpty)
        #expect(try storage.entries(hashPrefix: "ffffffffffffffff").isEmpty)
    }
}
