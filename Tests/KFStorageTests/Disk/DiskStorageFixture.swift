import Foundation
import Support
import Synchronization
import Testing

@testable import KFStorage

/// A cache in a directory of its own, with a clock that the test moves.
struct DiskStorageFixture {
    let directory: TemporaryDirectory
    let time = TestClock()

    init() throws { directory = try TemporaryDirectory() }

    var root: String { directory.path("cache").path }
    var index: String { "\(root)/v1/index.sqlite" }

    func open(_ change: (inout DiskStorage.Configuration) -> Void = { _ in }) throws -> DiskStorage {
        var configuration = DiskStorage.Configuration(path: root)
        configuration.clock = time.clock
        change(&configuration)
        return try DiskStorage(configuration)
    }

    /// The objects' files, as paths below the directory of objects.
    func objects() throws -> [String] {
        let base = URL(filePath: root).appending(path: "v1/objects")
        return try FileManager.default.subpathsOfDirectory(atPath: base.path).filter { $0.contains("/") }.sorted()
    }

    func leftovers() throws -> [String] {
        TemporaryDirectory.files(in: URL(filePath: "\(root)/v1/tmp"))
    }

    /// Changes the index as another program would.
    func change(_ sql: String) throws { try Connection(path: index, mode: .readWrite).execute(sql) }
}

/// A suite whose tests each have such a cache.
class DiskSuite {
    let fixture: DiskStorageFixture

    init() throws { fixture = try DiskStorageFixture() }
}

extension Store {
    static func store(_ staged: StagedObject, _ key: EntryKey, _ facts: EntryFacts) -> Store {
        .put(Put(staged, key, facts))
    }
}

extension [[Store]] {
    var flat: [Store] { flatMap { $0 } }

    /// The groups as places in `flat`.
    var places: [Range<Int>] {
        var end = 0
        return map { group in
            end += group.count
            return end - group.count..<end
        }
    }
}

extension DiskStorage {
    /// Carries out one group of orders. Returns their results after the commit, or throws the first failure.
    func carryOut(_ orders: [Store], urgent: Bool) async throws(StorageError) -> [Entry?] {
        let outcomes = await withCheckedContinuation { continuation in
            store([orders], urgent: urgent) { continuation.resume(returning: $0[0]) }
        }
        var entries: [Entry?] = []
        for outcome in outcomes { entries.append(try outcome.get()) }
        return entries
    }

    func store(
        _ staged: StagedObject, for key: EntryKey, _ facts: EntryFacts, urgent: Bool
    ) async throws(StorageError) -> Entry? {
        try await carryOut([.store(staged, key, facts)], urgent: urgent)[0]
    }

    func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, urgent: Bool
    ) async throws(StorageError) -> [Entry?] {
        try await carryOut(entries.map { .renew([$0], renewal) }, urgent: urgent)
    }

    func tryEnterFlight(_ key: EntryKey) throws(StorageError) -> Bool { try enter(key) != nil }

    /// The fresh and whole entries of the keys; nil for the others.
    func freshEntries(for keys: [EntryKey]) throws(StorageError) -> [Entry?] {
        try lookUp(keys).map { found in
            if case .fresh(let entry) = found { return entry }
            return nil
        }
    }

    @discardableResult
    func put(
        _ text: String, _ key: String, identifier: String = "", _ change: (inout EntryFacts) -> Void = { _ in }
    ) async throws -> Entry? {
        let (staged, facts) = try staged(text, change)
        return try await store(staged, for: EntryKey(key: key, identifier: identifier), facts, urgent: true)
    }

    /// The same, while the thread waits.
    func putNow(_ text: String, _ key: String) throws {
        let committed = DispatchSemaphore(value: 0)
        let (staged, facts) = try staged(text) { _ in }
        store([[.store(staged, EntryKey(key: key), facts)]], urgent: true) { _ in committed.signal() }
        committed.wait()
    }

    /// The same; where that finds the index damaged, it stays as it is.
    @discardableResult
    func putWithoutRepair(_ text: String, _ key: String) async throws -> Entry? {
        let (staged, facts) = try staged(text) { _ in }
        return try await carryOutWithoutRepair([[.store(staged, EntryKey(key: key), facts)]])[0][0].get()
    }

    func carryOutWithoutRepair(_ groups: [[Store]]) async -> [[Store.Outcome]] {
        await withCheckedContinuation { continuation in
            let submission = Submission(groups.flat, groups: groups.places, at: now()) { outcomes in
                continuation.resume(returning: groups.places.map { Array(outcomes[$0]) })
            }
            writer.submit(submission, .none)
        }
    }

    func store(_ groups: [[Store]], urgent: Bool, then: @escaping @Sendable ([[Store.Outcome]]) -> Void) {
        store(groups.flat, groups: groups.places, urgent: urgent) { outcomes in
            then(groups.places.map { Array(outcomes[$0]) })
        }
    }

    private func staged(
        _ text: String, _ change: (inout EntryFacts) -> Void
    ) throws -> (StagedObject, EntryFacts) {
        var facts = EntryFacts.picture()
        change(&facts)
        return (try stage(Array(text.utf8)), facts)
    }

    /// The text under a key, if there is a fresh and whole one.
    func text(_ key: String, identifier: String = "") throws -> String? {
        guard let entry = try entry(for: EntryKey(key: key, identifier: identifier)), !entry.isExpired(at: now()),
            let file = try open(entry)
        else { return nil }
        noteHits([entry], extending: nil)
        return String(decoding: try file.readAll(), as: UTF8.self)
    }

    /// The entries that a query selects, in its order.
    func list(_ query: EntryQuery) throws -> [Entry] {
        let entries = Mutex<[Entry]>([])
        try eachEntry(query) { entry in
            entries.withLock { $0.append(entry) }
            return true
        }
        return entries.withLock { $0 }
    }
}

extension EntryFacts {
    /// The facts of a PNG, made of the original if there is one.
    static func picture(original: Digest? = nil) -> EntryFacts {
        var facts = EntryFacts()
        facts.host = "example.com"
        facts.format = "png"
        facts.fileExtension = "png"
        facts.original = original
        return facts
    }
}

/// Sets the time of last modification of a file, or of a link itself.
func setAge(_ seconds: Int, of path: String) throws {
    let then = timespec(tv_sec: time(nil) - seconds, tv_nsec: 0)
    try #require(utimensat(AT_FDCWD, path, [then, then], AT_SYMLINK_NOFOLLOW) == 0)
}

/// Runs so many tasks at the same time.
func concurrently(_ count: Int, _ work: @escaping @Sendable (Int) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<count { group.addTask { try await work(index) } }
        try await group.waitForAll()
    }
}
