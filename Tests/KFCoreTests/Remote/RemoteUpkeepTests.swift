import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

/// Checks and cleanings of a remote that others write to meanwhile.
@Suite("Remotes that change while they are checked", .bounded)
struct RemoteUpkeepTests {
    private let layer = MemoryLayer()
    private let picture: [UInt8]
    private let other: [UInt8]

    init() throws {
        picture = try ManagerFixture.fixture("png/rgba.png")
        other = try ManagerFixture.fixture("png/grey.png")
        try layer.put(picture)
    }

    private static let second = EntryKey(key: "http://h/b.png")

    private func path(of bytes: [UInt8]) -> String {
        let name = bytes.withUnsafeBytes { SHA256.hash($0) }.hex
        return "cas/\(name.prefix(2))/\(name)"
    }

    private func verify() async throws -> (result: Verification, findings: [CacheFinding]) {
        let findings = SharedValue<[CacheFinding]>([])
        let check = try await layer.verify(deletes: true) { finding in findings.change { $0.append(finding) } }
        if let problem = check.problem { throw problem }
        return (check.result, findings.value)
    }

    @Test("An object whose entry comes during the check is no orphan")
    func lateEntry() async throws {
        layer.blobs[path(of: other)] = other
        layer.afterList { [layer, other] in try? layer.put(other, for: Self.second) }
        let (result, findings) = try await verify()
        #expect(findings.isEmpty && result.isClean)
        #expect(layer.blobs[path(of: other)] == other && layer.entryCount == 2)
    }

    @Test("An object without an entry goes after an hour", arguments: [(3599, 1), (3600, 0)])
    func orphan(age: Int, left: Int) async throws {
        layer.blobs[path(of: other)] = other
        layer.ages[path(of: other)] = .seconds(age)
        let (_, findings) = try await verify()
        #expect(findings.map(\.kind) == (left == 1 ? [] : [.orphan]))
        #expect(layer.objectCount == 1 + left)
    }

    @Test("A damaged entry that was replaced before its deletion stays")
    func replacedEntry() async throws {
        let reads = Atomic(0)
        layer.answer { request in
            guard request.label == "read ac", reads.add(1, ordering: .relaxed).oldValue == 0 else { return nil }
            let count = self.layer.blobs[request.path]?.count ?? 0
            return request.receive([UInt8](repeating: 0x20, count: count)) ? .done : .failed("")
        }
        let (result, findings) = try await verify()
        #expect(findings.isEmpty && result.isClean)
        #expect(layer.entryCount == 1 && layer.objectCount == 1)
    }

    @Test("An entry that names a newer object than the list is whole")
    func newerObject() async throws {
        layer.afterList { [layer, other] in
            layer.blobs = [:]
            try? layer.put(other)
        }
        let (result, findings) = try await verify()
        #expect(findings.isEmpty && result.isClean && layer.objectCount == 1)
    }

    @Test("What others delete meanwhile is no damage")
    func deletedMeanwhile() async throws {
        layer.afterList { [layer] in layer.blobs = [:] }
        let (result, findings) = try await verify()
        #expect(findings.isEmpty && result.isClean)
    }

    @Test("A wrong object takes the entries along that name it")
    func wrongObject() async throws {
        try layer.put(picture, for: Self.second)
        try layer.put(other, for: EntryKey(key: "http://h/c.png"))
        layer.blobs[path(of: picture)] = picture.reversed()
        let (result, findings) = try await verify()
        #expect(findings.map(\.kind) == [.wrongContent] && result.damage == 0)
        #expect(layer.entryCount == 1 && layer.objectCount == 1)
    }

    @Test("A busy or locked blob is asked for again")
    func busy() async throws {
        let answers = Mutex<[CacheLayerAnswer]>([.busy(.milliseconds(1)), .locked("by a test"), .failed("once")])
        layer.answer { _ in answers.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
        #expect(try await verify().result.isClean)
        #expect(layer.log == ["read ac", "read ac", "read ac", "read ac", "read cas"])
    }

    @Test("A cancelled check ends")
    func cancelled() async throws {
        layer.answer { _ in .failed("for ever") }
        let task = Task { try await verify() }
        #expect(await eventually { !layer.log.isEmpty })
        task.cancel()
        await #expect(throws: KingfisherError.self) { try await task.value }
    }

    @Test("A limit removes the least recently used images, and counts shared bytes once")
    func limit() async throws {
        try layer.put(picture, for: Self.second)
        try layer.put(other, for: EntryKey(key: "http://h/c.png"))
        let entries = layer.blobs.keys.filter { $0.hasPrefix("ac/") }
        for path in entries { layer.ages[path] = .seconds(10) }
        let key = RemoteEntry.name(of: EntryKey(key: "http://h/c.png"))
        layer.ages["ac/\(key.prefix(2))/\(key)"] = .seconds(9000)
        let total = layer.blobs.values.reduce(0) { $0 + Int64($1.count) }
        let none = try await layer.clean(maxSize: total)
        #expect(none.removal.isEmpty && none.problem == nil)
        let planned = try await layer.clean(maxSize: total - 1, changesNothing: true)
        let done = try await layer.clean(maxSize: total - 1)
        #expect(planned.removal == done.removal && done.removal.entries == 1)
        #expect(layer.entryCount == 2 && layer.blobs[path(of: other)] == nil && layer.blobs[path(of: picture)] != nil)
        #expect(layer.blobs.values.reduce(0) { $0 + Int64($1.count) } == total - done.removal.bytes)
        let rest = try await layer.clean(maxSize: 1)
        #expect(rest.removal.entries == 2 && layer.blobs.isEmpty)
    }
}
