import Foundation
import Glibc
import Support
import Testing

@testable import KFStorage

@Suite("Checkpoints of partial bodies", .bounded)
struct CheckpointTests {
    private let fixture: DiskStorageFixture
    private let key = EntryKey(key: "http://h/a.png")
    private let request: Digest
    private static let body = PatternedBytes.make(3_000_000)
    private var bytes: [UInt8] { Self.body }

    init() throws {
        fixture = try DiskStorageFixture()
        request = Array("GET".utf8).withUnsafeBytes { SHA256.hash($0) }
    }

    private var facts: PartialFacts {
        PartialFacts(
            url: "http://h/a.png", location: "http://h/a.png", request: request, validator: "\"strong\"",
            contentType: nil, total: Int64(bytes.count))
    }

    private var names: [String] {
        TemporaryDirectory.files(in: URL(filePath: "\(fixture.root)/v1/partial"))
    }

    private var body: String {
        get throws {
            "\(fixture.root)/v1/partial/" + (try #require(names.first { !$0.hasSuffix(".facts") }))
        }
    }

    /// Writes in pieces, as a transfer does.
    private func write(_ range: Range<Int>, to object: StagedObject) throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 65_536) {
            try bytes[start..<min(start + 65_536, range.upperBound)].withUnsafeBytes { try object.write($0) }
        }
    }

    /// Writes up to so many bytes, and leaves them as `kill -9` does: files without a lock, and no word of an end. The
    /// object has to live on: its end would remove them.
    private func kill(_ object: StagedObject, at size: Int) throws {
        try write(Int(object.size)..<size, to: object)
        let held = try body
        for path in [held, held + ".facts"] {
            try FileManager.default.copyItem(atPath: path, toPath: fixture.root + "/copy")
            #expect(rename(fixture.root + "/copy", path) == 0)
        }
    }

    private func kept(_ size: Int) throws {
        let object = try fixture.open().beginPartial(for: key, facts)
        try write(0..<size, to: object)
        object.keep()
    }

    private func take() throws -> StagedObject? {
        try fixture.open().takePartial(for: key, request: request)?.object
    }

    /// The rest follows, and what is stored is what was sent.
    private func complete(_ object: StagedObject) async throws {
        try write(Int(object.size)..<bytes.count, to: object)
        try object.finish(synchronize: false)
        let stored = try #require(try await fixture.open().store(object, for: key, .picture(), urgent: true))
        #expect(stored.object.digest == bytes.withUnsafeBytes { SHA256.hash($0) })
        #expect(names == [])
    }

    @Test("A killed writer's body continues from its last checkpoint")
    func afterKill() async throws {
        let first = try fixture.open().beginPartial(for: key, facts)
        try kill(first, at: 700_000)
        let second = try #require(try take())
        #expect(second.size == 524_288)
        try kill(second, at: 950_000)
        let third = try #require(try take())
        #expect(third.size == 786_432)
        try await complete(third)
        withExtendedLifetime((first, second)) {}
    }

    @Test("A body without a checkpoint starts again")
    func noCheckpoint() throws {
        let first = try fixture.open().beginPartial(for: key, facts)
        try kill(first, at: 200_000)
        #expect(try take() == nil)
        #expect(names == [])
        withExtendedLifetime(first) {}
    }

    @Test("An interrupted body continues from its last byte")
    func afterKeep() async throws {
        try kept(2_500_000)
        let second = try #require(try take())
        #expect(second.size == 2_500_000)
        try await complete(second)
    }

    @Test("A zeroed tail is downloaded again", arguments: [700_000, 2_400_000])
    func zeroed(from: Int) async throws {
        try kept(2_500_000)
        let file = try FileHandle(forWritingTo: URL(filePath: body))
        try file.seek(toOffset: UInt64(from))
        try file.write(contentsOf: [UInt8](repeating: 0, count: 2_500_000 - from))
        try file.close()
        let object = try #require(try take())
        #expect(object.size <= Int64(from) && object.size >= 524_288)
        try await complete(object)
    }

    @Test("A shortened body continues from a confirmed checkpoint")
    func shortened() async throws {
        try kept(2_500_000)
        #expect(truncate(try body, 600_000) == 0)
        let object = try #require(try take())
        #expect(object.size == 524_288)
        // The later checkpoints are gone with the bytes: another interruption finds only what is true.
        try write(524_288..<560_000, to: object)
        object.keep()
        let again = try #require(try take())
        #expect(again.size == 560_000)
        try await complete(again)
    }

    @Test("A body with a changed first byte is discarded")
    func changed() throws {
        try kept(2_500_000)
        let file = try FileHandle(forWritingTo: URL(filePath: body))
        try file.write(contentsOf: [bytes[0] ^ 1])
        try file.close()
        #expect(try take() == nil)
        #expect(names == [])
    }

    @Test(
        "Checkpoints ahead of damage in their record count",
        arguments: ["cut", "garbage", "repeated", "negative"])
    func damagedRecord(_ damage: String) throws {
        try kept(700_000)
        let path = try body + ".facts"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        // Eight facts, then 262144, 524288 and 700000.
        try #require(lines.count == 11)
        var changed = lines
        switch damage {
        case "cut": changed[10] = String(lines[10].dropLast())
        case "garbage": changed[10] = "x" + lines[10]
        case "repeated": changed[10] = lines[8]
        default: changed[10] = "-" + lines[10]
        }
        let end = damage == "cut" ? "" : "\n"
        try (changed.joined(separator: "\n") + end).write(toFile: path, atomically: true, encoding: .utf8)
        #expect(try #require(try take()).size == 524_288)
    }

    @Test("The last piece of a complete body is downloaded again")
    func last() throws {
        try kept(bytes.count)
        let object = try #require(try take())
        #expect(object.size < Int64(bytes.count) && object.size > 0)
    }

    @Test("The record of a large body stays small")
    func sparse() throws {
        _ = try fixture.open()
        let file = try FileDescriptor.open(fixture.root + "/log", O_RDWR | O_CREAT | O_APPEND, mode: 0o600)
        let log = CheckpointLog(file)
        var count = 0
        for length in stride(from: Int64(1 << 18), through: 1 << 40, by: 1 << 18) where log.isDue(at: length) {
            log.append(Checkpoint(length: length, digest: request))
            count += 1
        }
        #expect(count > 64 && count < 1000)
    }
}
