import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Interrupted bodies", .bounded)
final class PartialTests: DiskSuite {
    private let key = EntryKey(key: "http://h/a.png")
    private let facts = PartialTests.facts(total: 10)

    private static func facts(url: String = "http://h/a.png", total: Int64?) -> PartialFacts {
        PartialFacts(
            url: url, location: "http://mirror/a.png", request: Self.digest("GET"), validator: "\"strong\"",
            contentType: "image/png", total: total)
    }

    private static func digest(_ text: String) -> Digest {
        Array(text.utf8).withUnsafeBytes { SHA256.hash($0) }
    }

    private func interrupted(_ text: String, _ storage: DiskStorage) throws {
        let object = try storage.beginPartial(for: key, facts)
        try object.write(text)
        object.keep()
    }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(fixture.root)/v1/partial").sorted()
    }

    /// The path of the one body that there is.
    private func onlyBody() throws -> String {
        let name = try #require(try files().first { !$0.hasSuffix(".facts") })
        return "\(fixture.root)/v1/partial/\(name)"
    }

    @Test("An interrupted body is continued by other sessions")
    func resumed() async throws {
        try interrupted("abc", fixture.open())
        do {
            let second = try #require(try fixture.open().takePartial(for: key, request: facts.request))
            #expect(second.object.size == 3)
            #expect(second.facts == facts)
            try second.object.write("def")
            second.object.keep()
        }
        let storage = try fixture.open()
        let third = try #require(try storage.takePartial(for: key, request: facts.request)).object
        #expect(third.size == 6)
        try third.write("ghij")
        try third.finish(synchronize: false)
        let stored = try #require(try await storage.store(third, for: key, .picture(), urgent: true))
        #expect(stored.object.digest == Self.digest("abcdefghij"))
        #expect(try storage.text(key.key) == "abcdefghij")
        #expect(try files() == [])
        let mode = try FileManager.default.attributesOfItem(atPath: storage.path(of: stored))[.posixPermissions]
        #expect(mode as? Int == 0o444)
    }

    @Test("A body that is not kept leaves no file")
    func discarded() throws {
        let storage = try fixture.open()
        do { try storage.beginPartial(for: key, facts).write("abc") }
        #expect(try files() == [])
        #expect(try storage.takePartial(for: key, request: facts.request) == nil)
    }

    @Test("A body of another request is discarded")
    func otherRequest() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        #expect(try storage.takePartial(for: key, request: Self.digest("other")) == nil)
        #expect(try files() == [])
    }

    @Test("A body of another key is not found")
    func otherKey() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        #expect(try storage.takePartial(for: EntryKey(key: "b"), request: facts.request) == nil)
        #expect(try files().count == 2)
    }

    @Test("A body has one writer at a time")
    func busy() throws {
        let storage = try fixture.open()
        let first = try storage.beginPartial(for: key, facts)
        try first.write("abc")
        #expect(try storage.takePartial(for: key, request: facts.request) == nil)
        do {
            let second = try storage.beginPartial(for: key, facts)
            #expect(second.name.hasPrefix("tmp/"))
            second.keep()
        }
        #expect(try fixture.leftovers() == [])
        #expect(try storage.removeAll() == Removal())
        #expect(try files().count == 2)
        withExtendedLifetime(first) {}
    }

    @Test(
        "A damaged body is discarded",
        arguments: ["facts gone", "facts cut", "facts empty", "too long", "empty", "link", "fifo", "directory", "old"])
    func damaged(_ damage: String) throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        let body = try onlyBody()
        let text = try String(contentsOfFile: body + ".facts", encoding: .utf8)
        switch damage {
        case "facts gone": #expect(unlink(body + ".facts") == 0)
        case "facts cut": #expect(truncate(body + ".facts", off_t(text.utf8.count - 1)) == 0)
        case "facts empty": #expect(truncate(body + ".facts", 0) == 0)
        case "too long": #expect(truncate(body, 11) == 0)
        case "empty": #expect(truncate(body, 0) == 0)
        case "old": try setAge(86_500, of: body)
        default:
            #expect(unlink(body) == 0)
            switch damage {
            case "link":
                try "abc".write(toFile: fixture.root + "/elsewhere", atomically: false, encoding: .utf8)
                #expect(symlink(fixture.root + "/elsewhere", body) == 0)
            case "fifo": #expect(mkfifo(body, 0o600) == 0)
            default: #expect(mkdir(body, 0o700) == 0)
            }
        }
        #expect(try storage.takePartial(for: key, request: facts.request) == nil)
        #expect(try files() == [])
        if damage == "link" { #expect(FileManager.default.fileExists(atPath: fixture.root + "/elsewhere")) }
    }

    @Test("Facts with line breaks are not stored")
    func lines() throws {
        let storage = try fixture.open()
        let odd = Self.facts(url: "http://h/a\n", total: nil)
        #expect(try storage.beginPartial(for: key, odd).name.hasPrefix("tmp/"))
    }

    @Test("A day-old body is removed")
    func reaped() async throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        let body = try onlyBody()
        let alone = "\(fixture.root)/v1/partial/\(String(repeating: "0a", count: 32)).facts"
        let foreign = "\(fixture.root)/v1/partial/notes.facts"
        for file in [alone, foreign] {
            try "x".write(toFile: file, atomically: false, encoding: .utf8)
            try setAge(90_000, of: file)
        }
        try setAge(86_300, of: body)
        try await fixture.open().put("x", "k")
        #expect(try files().count == 3)
        try setAge(86_500, of: body)
        try await fixture.open().put("y", "l")
        // Other names are not kf's.
        #expect(try files() == ["notes.facts"])
    }

    @Test("Interrupted bodies count in the size limit")
    func limited() async throws {
        let storage = try fixture.open { $0.sizeLimit = 40 }
        try interrupted(String(repeating: "a", count: 10), storage)
        try await storage.put(String(repeating: "b", count: 20), "k1")
        #expect(try storage.evictIfNeeded() == Removal())
        try await storage.put(String(repeating: "c", count: 15), "k2")
        #expect(storage.evictionCount == 1)
        #expect(try storage.totals().entries == 0)
        // Ten bytes are a quarter.
        #expect(try files().count == 2)
        let small = try fixture.open { $0.sizeLimit = 8 }
        _ = try small.evictIfNeeded()
        #expect(try files() == [])
    }

    @Test("Removing a source removes its interrupted body")
    func removed() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        let one = Removal(partial: 3)
        #expect(try storage.removeVariants(of: EntryKey(key: key.key), dryRun: true) == one)
        #expect(try files().count == 2)
        #expect(try storage.removeVariants(of: EntryKey(key: key.key)) == one)
        #expect(try files() == [])
        try interrupted("abc", storage)
        #expect(try storage.removeAll(dryRun: true) == one)
        #expect(try files().count == 2)
        #expect(try storage.removeAll() == one)
        #expect(try files() == [])
    }

    @Test("Only a day-old body counts as expired")
    func expired() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        #expect(try storage.removeExpired() == Removal())
        try setAge(86_500, of: onlyBody())
        let one = Removal(partial: 3)
        #expect(try storage.removeExpired(dryRun: true) == one)
        #expect(try storage.removeExpired() == one)
        #expect(try files() == [])
    }

    @Test("An eviction leaves interrupted bodies a quarter of the size")
    func evictedTo() async throws {
        let storage = try fixture.open()
        try interrupted("0123456789", storage)
        try await storage.put(String(repeating: "b", count: 20), "k1")
        #expect(try storage.evict(to: 30) == Removal())
        #expect(try storage.evict(to: 29, dryRun: true).partials == 1)
        #expect(try storage.evict(to: 29) == Removal(partial: 10))
        #expect(try files() == [] && storage.storedSize() == 20)
    }

    @Test("A growing body counts in the size limit")
    func growing() async throws {
        let storage = try fixture.open { $0.sizeLimit = 40 }
        try await storage.put(String(repeating: "b", count: 20), "k1")
        do {
            let object = try storage.beginPartial(for: key, Self.facts(total: nil))
            try object.write(String(repeating: "a", count: 20))
            #expect(!storage.isOverLimit)
            try object.write("a")
            #expect(storage.isOverLimit)
            #expect(storage.partials == PartialSum(count: 1, bytes: 21))
        }
        #expect(!storage.isOverLimit)
    }

    @Test("An abandoned body can still be read")
    func abandoned() throws {
        let storage = try fixture.open()
        let object = try storage.beginPartial(for: key, facts)
        try object.write("abc")
        object.abandon()
        #expect(try files() == [])
        try object.write("def")
        object.keep()
        #expect(try files() == [])
        #expect(try object.loadWritten() == Array("abcdef".utf8))
        let ordinary = try storage.stage()
        try ordinary.write("abc")
        ordinary.abandon()
        #expect(try fixture.leftovers() == [])
        #expect(try ordinary.loadWritten() == Array("abc".utf8))
    }
}

extension StagedObject {
    func write(_ text: String) throws {
        try Array(text.utf8).withUnsafeBytes { try write($0) }
    }
}

extension Removal {
    /// Of one partial body.
    fileprivate init(partial bytes: Int64) {
        self.init()
        add(PartialSum(count: 1, bytes: bytes))
    }
}
