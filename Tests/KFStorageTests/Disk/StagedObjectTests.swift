import Foundation
import Glibc
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("Staged bodies", .bounded, .serialized)
final class StagedObjectTests: DiskSuite {
    private static let body = PatternedBytes.make(6_000_000)

    private var bytes: [UInt8] { Self.body }

    private func write(_ range: Range<Int>, to object: StagedObject) throws {
        try bytes[range].withUnsafeBytes { try object.write($0) }
    }

    /// Writes all bytes in pieces of so many.
    private func write(by step: Int, to object: StagedObject) throws {
        for start in stride(from: 0, to: bytes.count, by: step) {
            try write(start..<min(start + step, bytes.count), to: object)
        }
    }

    private var digest: Digest { bytes.withUnsafeBytes { SHA256.hash($0) } }

    /// A partial body in a file that takes `limit` bytes and no more, and the record of its checkpoints.
    private func limited(_ storage: DiskStorage, to limit: Int) throws -> (StagedObject, record: String, file: Int32) {
        // Glibc's module does not show the function. 2 is MFD_ALLOW_SEALING.
        let symbol = try #require(dlsym(nil, "memfd_create"))
        let create = unsafeBitCast(symbol, to: (@convention(c) (UnsafePointer<CChar>, UInt32) -> Int32).self)
        let raw = create("limited", 2)
        try #require(raw >= 0 && ftruncate(raw, off_t(limit)) == 0)
        // F_ADD_SEALS, F_SEAL_GROW.
        try #require(fcntl(raw, 1033, 4) == 0)
        let record = fixture.root + "/record"
        let log = CheckpointLog(try FileDescriptor.open(record, O_RDWR | O_CREAT | O_APPEND, mode: 0o600))
        let file = FileDescriptor(taking: raw, path: "limited")
        return (StagedObject(storage.session.directory, partial: "partial/limited", file, log), record, raw)
    }

    @Test("The pieces of a body do not change its hash", arguments: [1000, 16_384, 131_072, 300_001, 6_000_000])
    func pieces(_ step: Int) throws {
        let object = try fixture.open().stage()
        try write(by: step, to: object)
        #expect(object.size == Int64(bytes.count))
        try object.finish(synchronize: false)
        #expect(object.digest == digest)
        #expect(try PatternedBytes.areEqual(object.loadWritten(), bytes))
        let mapped = try object.withMappedBytes { mapped, _ in PatternedBytes.areEqual(mapped, bytes[...]) }
        #expect(mapped)
    }

    @Test("More bodies can be staged than there are buffers")
    func many() throws {
        let storage = try fixture.open()
        let objects = try (0..<40).map { _ in try storage.stage() }
        for start in stride(from: 0, to: 2_000_000, by: 50_000) {
            for object in objects { try write(start..<start + 50_000, to: object) }
        }
        let digest = bytes[..<2_000_000].withUnsafeBytes { SHA256.hash($0) }
        for object in objects {
            try object.finish(synchronize: false)
            #expect(object.digest == digest)
            #expect(try PatternedBytes.areEqual(object.loadWritten(), bytes[..<2_000_000]))
        }
    }

    @Test("The number of buffers is fixed")
    func buffers() throws {
        var held: [BodyBuffer] = []
        while held.count < 100, let buffer = BodyBuffer.take() { held.append(buffer) }
        // Another test may hold some.
        #expect(held.count <= 24)
        let object = try fixture.open().stage()
        try write(by: 16_384, to: object)
        held = []
        try object.finish(synchronize: false)
        #expect(object.digest == digest)
    }

    @Test("A body waits for its hash after ten buffers")
    func bounded() async throws {
        let hash = FollowingHash()
        let (reading, begun) = AsyncStream.makeStream(of: Void.self)
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let (held, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        hash.setReader(
            HeldReader {
                held.signal()
                gate.wait()
                gate.signal()
            })
        let handed = Atomic(0)
        Thread.detachNewThread {
            // Another test may hold some of the buffers.
            while handed.load(ordering: .relaxed) < 20, let buffer = BodyBuffer.take() {
                _ = Self.body.withUnsafeBytes(buffer.append)
                // Longer than what the writing thread hashes itself.
                _ = hash.exchange(buffer, endingAt: 2 << 20)
                // From the fourth on a worker hashes, and is held.
                if handed.add(1, ordering: .relaxed).newValue == 4 {
                    held.wait()
                    begun.finish()
                }
            }
            begun.finish()
            ended.finish()
        }
        for await _ in reading {}
        await others(run: .milliseconds(50))
        #expect(handed.load(ordering: .relaxed) <= 10)
        gate.signal()
        for await _ in ends {}
        _ = hash.finish()
    }

    @Test("A reader sees all bytes in order")
    func reader() throws {
        let object = try fixture.open().stage()
        object.setReader(CollectingReader())
        try write(by: 16_384, to: object)
        object.setReader(CollectingReader())
        try object.finish(synchronize: false)
        let reader = try #require(object.reader as? CollectingReader)
        #expect(PatternedBytes.areEqual(reader.bytes, bytes))
    }

    @Test("A checkpoint confirms only bytes in the file")
    func checkpoints() throws {
        let (object, record, file) = try limited(try fixture.open(), to: bytes.count)
        var seen = 0
        for start in stride(from: 0, to: bytes.count, by: 16_384) {
            try write(start..<min(start + 16_384, bytes.count), to: object)
            let lines = try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n")
            for line in lines.dropFirst(seen) {
                let checkpoint = try #require(Checkpoint(line: String(line)))
                let length = Int(checkpoint.length)
                #expect(length <= start + 16_384)
                #expect(checkpoint.digest == bytes[..<length].withUnsafeBytes { SHA256.hash($0) })
                // Not from the bytes in memory: the file's.
                let written = [UInt8](unsafeUninitializedCapacity: length) {
                    $1 = max(0, pread(file, $0.baseAddress, length, 0))
                }
                #expect(PatternedBytes.areEqual(written, bytes[..<length]))
            }
            seen = lines.count
        }
        object.keep()
        let last = try #require(try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").last)
        #expect(Checkpoint(line: String(last)) == Checkpoint(length: Int64(bytes.count), digest: digest))
    }

    @Test(
        "Bytes written before the disk was full come back",
        arguments: [0, 100_000, 300_000, 1_000_000, 1_053_000, 3_000_000], [16_384, 200_000])
    func full(limit: Int, step: Int) throws {
        let (object, _, _) = try limited(try fixture.open(), to: limit)
        var taken = 0
        #expect(throws: StorageError.self) {
            while taken < bytes.count {
                try write(taken..<min(taken + step, bytes.count), to: object)
                taken += step
            }
            try object.finish(synchronize: false)
        }
        #expect(object.size == Int64(taken))
        #expect(try PatternedBytes.areEqual(object.loadWritten(), bytes[..<min(taken, bytes.count)]))
    }

    @Test("A body whose end does not fit comes back whole")
    func fullAtTheEnd() throws {
        let (object, _, _) = try limited(try fixture.open(), to: bytes.count - 1)
        try write(by: 16_384, to: object)
        #expect(throws: StorageError.self) { try object.finish(synchronize: false) }
        #expect(try PatternedBytes.areEqual(object.loadWritten(), bytes))
    }

    @Test(
        "A body on a full disk keeps a checkpoint",
        arguments: [300_000, 1_053_000, 3_000_000])
    func keptAfterFailure(limit: Int) throws {
        let (object, record, _) = try limited(try fixture.open(), to: limit)
        #expect(throws: StorageError.self) { try write(by: 16_384, to: object) }
        object.keep()
        let last = try #require(try String(contentsOfFile: record, encoding: .utf8).split(separator: "\n").last)
        let checkpoint = try #require(Checkpoint(line: String(last)))
        #expect(checkpoint.length <= Int64(limit) && checkpoint.length > Int64(limit) - 300_000)
        #expect(checkpoint.digest == bytes[..<Int(checkpoint.length)].withUnsafeBytes { SHA256.hash($0) })
    }
}

private struct CollectingReader: BodyReader {
    private(set) var bytes: [UInt8] = []

    mutating func read(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }
}

private struct HeldReader: BodyReader {
    let hold: @Sendable () -> Void

    mutating func read(_ bytes: UnsafeRawBufferPointer) { hold() }
}
