import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Interrupted bodies")
struct PartialTests {
    private let fixture: DiskStorageFixture
    private let key = EntryKey(key: "http://h/a.png")
    private let facts = PartialFacts(
        url: "http://h/a.png", request: Self.digest("GET"), validator: "\"strong\"", total: 10)

    init() throws { fixture = try DiskStorageFixture() }

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

    private func age(_ path: String, by seconds: Int) throws {
        var times = [timespec](repeating: timespec(tv_sec: time(nil) - seconds, tv_nsec: 0), count: 2)
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
    }

    @Test("What was kept is continued by another session, more than once, and stored under the hash of all of it")
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
        var entry = EntryFacts()
        entry.fileExtension = "png"
        let stored = try #require(try await storage.store(third, for: key, entry, urgent: true))
        #expect(stored.object.digest == Self.digest("abcdefghij"))
        #expect(try storage.text(key.key) == "abcdefghij")
        #expect(try files() == [])
        let mode = try FileManager.default.attributesOfItem(atPath: storage.path(of: stored))[.posixPermissions]
        #expect(mode as? Int == 0o444)
    }

    @Test("A body that is let go without being kept leaves nothing")
    func discarded() throws {
        let storage = try fixture.open()
        do { try storage.beginPartial(for: key, facts).write("abc") }
        #expect(try files() == [])
        #expect(try storage.takePartial(for: key, request: facts.request) == nil)
    }

    @Test("A killed writer's body can be continued: its facts were there before its first byte")
    func killed() throws {
        let storage = try fixture.open()
        let object = try storage.beginPartial(for: key, facts)
        try object.write("abc")
        // As a kill leaves it: the files without the writer's lock.
        for name in try files() {
            let path = "\(fixture.root)/v1/partial/\(name)"
            try FileManager.default.copyItem(atPath: path, toPath: path + "~")
            #expect(rename(path + "~", path) == 0)
        }
        let taken = try #require(try fixture.open().takePartial(for: key, request: facts.request))
        #expect(taken.object.size == 3)
        withExtendedLifetime(object) {}
    }

    @Test("Another request's body is not continued, and goes")
    func otherRequest() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        #expect(try storage.takePartial(for: key, request: Self.digest("other")) == nil)
        #expect(try files() == [])
    }

    @Test("Another key's body is not found")
    func otherKey() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        #expect(try storage.takePartial(for: EntryKey(key: "b"), request: facts.request) == nil)
        #expect(try files().count == 2)
    }

    @Test("A body that is being written is nobody else's: the second writer gets an ordinary file")
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
        "Damage is seen, and goes",
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
        case "old": try age(body, by: 86_500)
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

    @Test("Facts that would break their lines are not written down")
    func lines() throws {
        let storage = try fixture.open()
        let odd = PartialFacts(url: "http://h/a\n", request: facts.request, validator: "x", total: nil)
        #expect(try storage.beginPartial(for: key, odd).name.hasPrefix("tmp/"))
    }

    @Test("A day after the last byte the next writer removes it, and facts alone after an hour")
    func reaped() async throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        let body = try onlyBody()
        let alone = "\(fixture.root)/v1/partial/alone.facts"
        try "x".write(toFile: alone, atomically: false, encoding: .utf8)
        try age(alone, by: 3700)
        try age(body, by: 86_300)
        try await fixture.open().put("x", "k")
        #expect(try files().count == 2)
        try age(body, by: 86_500)
        try await fixture.open().put("y", "l")
        #expect(try files() == [])
    }

    @Test("Interrupted bodies count in the limit; the oldest go first")
    func limited() async throws {
        let storage = try fixture.open { $0.sizeLimit = 40 }
        try interrupted(String(repeating: "a", count: 10), storage)
        try await storage.put(String(repeating: "b", count: 20), "k1")
        #expect(try storage.evictIfNeeded() == Removal())
        try await storage.put(String(repeating: "c", count: 15), "k2")
        #expect(storage.isOverLimit)
        let removal = try storage.evictIfNeeded()
        #expect(removal.entries == 2)
        // Ten bytes are a quarter.
        #expect(try files().count == 2)
        let small = try fixture.open { $0.sizeLimit = 8 }
        _ = try small.evictIfNeeded()
        #expect(try files() == [])
    }

    @Test("Removing a source, or everything, takes its interrupted body along")
    func removed() throws {
        let storage = try fixture.open()
        try interrupted("abc", storage)
        _ = try storage.removeVariants(of: EntryKey(key: key.key))
        #expect(try files() == [])
        try interrupted("abc", storage)
        _ = try storage.removeAll()
        #expect(try files() == [])
    }
}

extension StagedObject {
    fileprivate func write(_ text: String) throws {
        try Array(text.utf8).withUnsafeBytes { try write($0) }
    }
}
