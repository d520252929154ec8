import Foundation
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("Listings of the cache", .bounded)
final class ListingTests: DiskSuite {
    private func list(
        _ storage: DiskStorage, _ change: (inout EntryQuery) -> Void = { _ in }
    ) throws -> [String] {
        var query = EntryQuery()
        change(&query)
        return try storage.list(query).map(\.key.description)
    }

    private func fill() async throws -> DiskStorage {
        let storage = try fixture.open()
        for (key, size) in [("c", 3), ("a", 30), ("b", 300)] {
            try await storage.put(String(repeating: key, count: size), key)
            fixture.time.advance(seconds: 7200)
        }
        try await storage.put("made", "a", identifier: "blur:2") { $0.host = "other.org:81" }
        let entry = try #require(try storage.entry(for: EntryKey(key: "c")))
        storage.noteHits([entry], extending: nil)
        storage.close()
        return try fixture.open()
    }

    @Test("Every order can be reversed", arguments: [nil, 100])
    func order(_ limit: Int?) async throws {
        let storage = try await fill()
        let expected: [(EntryOrder, [String])] = [
            (.url, ["a", "a@blur:2", "b", "c"]), (.size, ["b", "a", "a@blur:2", "c"]),
            (.age, ["a@blur:2", "b", "a", "c"]), (.used, ["c", "b", "a"]), (.hits, ["c"]),
        ]
        for (order, names) in expected {
            let found = try list(storage) {
                $0.order = order; $0.limit = limit
            }
            // What was used at the same moment has no order of its own.
            #expect(
                found.filter { order == .age || $0 != "a@blur:2" || !["used"].contains(order.rawValue) }
                    .prefix(names.count) == names[...], "\(order)")
            #expect(found.count == 4)
            let back = try list(storage) {
                $0.order = order; $0.isReversed = true; $0.limit = limit
            }
            #expect(back.count == 4)
            if order != .hits, order != .used { #expect(back == found.reversed(), "\(order)") }
        }
    }

    @Test("A limit applies after the filter")
    func limits() async throws {
        let storage = try await fill()
        #expect(
            try list(storage) {
                $0.order = .size; $0.limit = 2
            } == ["b", "a"])
        #expect(
            try list(storage) {
                $0.filter.host = HostPattern("other.org"); $0.limit = 2
            } == ["a@blur:2"])
        #expect(try list(storage) { $0.filter.glob = "[bc]" } == ["b", "c"])
        #expect(
            try list(storage) {
                $0.filter.glob = "[bc]"; $0.order = .used; $0.limit = 1
            } == ["c"])
    }

    @Test("A listing can be ended early")
    func enough() async throws {
        let storage = try await fill()
        let seen = Mutex(0)
        try storage.eachEntry(EntryQuery()) { _ in
            seen.withLock { $0 += 1 }
            return false
        }
        #expect(seen.withLock { $0 } == 1)
    }

    @Test("Parts of the index rank like the whole")
    func parts() async throws {
        let storage = try fixture.open()
        for index in 0..<40 { try await storage.put(String(repeating: "x", count: 100 + index), "key \(index)") }
        var query = EntryQuery()
        query.order = .size
        query.limit = 7
        let sizes = query
        let (whole, parts) = try storage.session.reader.withLock { connection throws(StorageError) in
            (
                try connection.ranking(sizes, after: .min, through: .max),
                try connection.ranking(sizes, after: .min, through: 0)
                    + connection.ranking(sizes, after: 0, through: .max)
            )
        }
        #expect(parts.count > 7)
        #expect(parts.sorted(by: sizes.isBefore).prefix(7).map(\.row) == whole.map(\.row))
    }

    @Test("The largest entries come from their own index")
    func largest() async throws {
        let storage = try fixture.open()
        let sizes = [10, 20, 300_000, 500_000, 400_000].shuffled()
        for size in sizes { try await storage.put(String(repeating: "x", count: size), "key \(size)") }
        for limit in 1...6 {
            var asked = EntryQuery()
            asked.order = .size
            asked.limit = limit
            let query = asked
            #expect(try storage.list(query).map(\.object.size) == sizes.sorted(by: >).prefix(limit).map(Int64.init))
            let answers = try storage.session.reader.withLock { connection throws(StorageError) in
                try connection.rankingOfLarge(query) != nil
            }
            #expect(answers == (limit <= 3))
        }
    }
}
