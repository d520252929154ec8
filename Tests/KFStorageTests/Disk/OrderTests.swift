import Foundation
import Glibc
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("Orders to the index writer", .bounded)
final class OrderTests: DiskSuite {
    private func facts(original: Digest? = nil) -> EntryFacts { .picture(original: original) }

    private func staged(_ text: String, _ storage: DiskStorage) throws -> StagedObject {
        try storage.stage(Array(text.utf8))
    }

    private func order(
        _ text: String, _ key: String, identifier: String = "", _ storage: DiskStorage
    ) throws -> Store {
        .store(try staged(text, storage), EntryKey(key: key, identifier: identifier), facts())
    }

    private func submit(
        _ groups: [[Store]], _ storage: DiskStorage, urgent: Bool = true
    ) async -> [[Store.Outcome]] {
        await withCheckedContinuation { continuation in
            storage.store(groups, urgent: urgent) { continuation.resume(returning: $0) }
        }
    }

    private func expectSound(_ storage: DiskStorage) throws {
        let result = try storage.verify(repairs: false) { _ in }
        #expect(result.damage == 0, "\(result)")
    }

    @Test("Every order has its outcome in its place", arguments: [true, false])
    func outcomes(urgent: Bool) async throws {
        let storage = try fixture.open()
        let groups = try (0..<400).map { number in
            try (0...number % 3).map {
                try order("\(number) \($0)", "\(number)", identifier: $0 == 0 ? "" : "v\($0)", storage)
            }
        }
        let outcomes = await submit(groups, storage, urgent: urgent)
        #expect(outcomes.map(\.count) == groups.map(\.count))
        for (number, group) in outcomes.enumerated() {
            for (variant, outcome) in group.enumerated() {
                let entry = try #require(try outcome.get())
                #expect(entry.key == EntryKey(key: "\(number)", identifier: variant == 0 ? "" : "v\(variant)"))
                #expect(try storage.text("\(number)", identifier: entry.key.identifier) == "\(number) \(variant)")
            }
        }
        try expectSound(storage)
        #expect(await submit([], storage).isEmpty)
        #expect(await submit([[]], storage).map(\.count) == [0])
    }

    @Test("A failed order undoes only itself")
    func failing() async throws {
        let storage = try fixture.open()
        let unfinished = try storage.stage()
        let groups = [
            [try order("a", "a", storage)],
            [
                try order("b", "b", storage), .store(unfinished, EntryKey(key: "c"), facts()),
                try order("d", "b", identifier: "v", storage),
            ],
            [try order("e", "e", storage)],
        ]
        let outcomes = await submit(groups, storage)
        #expect(outcomes.map { $0.map { (try? $0.get()) != nil } } == [[true], [true, false, true], [true]])
        #expect(try storage.entry(for: EntryKey(key: "c")) == nil)
        #expect(try storage.text("b", identifier: "v") == "d")
        try expectSound(storage)
    }

    @Test("A failed change does not undo its batch", arguments: [true, false])
    func batches(hasWritten: Bool) async throws {
        let storage = try fixture.open()
        async let first = storage.put("x", "first")
        let failure: Result<Void, StorageError> = await withCheckedContinuation { continuation in
            storage.writer.submit { connection throws(StorageError) in
                if hasWritten { try connection.execute("INSERT INTO hosts (name) VALUES ('half')") }
                throw .readOnly(path: "test")
            } completion: { result in
                continuation.resume(returning: result)
            }
        }
        async let third = storage.put("y", "third")
        _ = try await (first, third)
        #expect(throws: StorageError.readOnly(path: "test")) { try failure.get() }
        #expect(try storage.text("first") == "x")
        #expect(try storage.text("third") == "y")
        #expect(try storage.shares().hosts.map(\.name) == ["example.com"])
        let half = Query("SELECT count(*) FROM hosts WHERE name = 'half'")
        #expect(try storage.session.reader.withLock { try $0.integer(half) } == 0)
        let totals = try storage.totals()
        #expect(totals.entries == 2 && totals.objects == 2 && totals.stored == 2)
    }

    @Test("A late failure removes rows and file of its order")
    func failingLate() async throws {
        let storage = try fixture.open()
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                """
                CREATE TEMP TRIGGER no BEFORE INSERT ON main.times WHEN NEW.id = \(EntryKey(key: "c").id)
                BEGIN SELECT RAISE(ABORT, 'not this one'); END
                """)
        }
        let groups = [
            [try order("a", "a", storage)], [try order("b", "b", storage), try order("c", "c", storage)],
            [try order("d", "d", storage)],
        ]
        let outcomes = await storage.carryOutWithoutRepair(groups)
        #expect(outcomes.map { $0.map { (try? $0.get()) != nil } } == [[true], [true, false], [true]])
        #expect(try storage.entry(for: EntryKey(key: "c")) == nil)
        #expect(try fixture.objects().count == 3)
        #expect(try storage.text("d") == "d")
        try expectSound(storage)
    }

    @Test("A failed commit removes its published files")
    func failedCommit() async throws {
        let storage = try fixture.open()
        try await storage.put("old", "old")
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                "CREATE TEMP TRIGGER no BEFORE UPDATE ON main.totals BEGIN SELECT RAISE(ABORT, 'no sums'); END")
        }
        let groups = [[try order("a", "a", storage), try order("old", "b", storage)]]
        let outcomes = await storage.carryOutWithoutRepair(groups)
        #expect(outcomes[0].allSatisfy { (try? $0.get()) == nil })
        #expect(try fixture.objects().count == 1)
        #expect(try storage.text("old") == "old")
    }

    @Test("An object larger than the cache is refused")
    func tooLarge() async throws {
        let storage = try fixture.open { $0.sizeLimit = 10 }
        let large = try order("much too large", "b", storage)
        let outcomes = await submit([[try order("small", "a", storage), large]], storage)
        #expect(throws: StorageError.objectTooLarge(size: 14, limit: 10)) { try outcomes[0][1].get() }
        #expect(try outcomes[0][0].get()?.key.key == "a")
        #expect(try storage.text("a") == "small")
        #expect(try fixture.leftovers() == [] && large.size == 14)
    }

    @Test("A variant of a replaced original is not stored")
    func outdated() async throws {
        let storage = try fixture.open()
        let old = try #require(try await storage.put("old", "k"))
        let variant = Store.store(
            try staged("made of old", storage), EntryKey(key: "k", identifier: "blur:2"),
            facts(original: old.object.digest))
        let outcomes = await submit([[try order("new", "k", storage), variant]], storage)
        #expect(try outcomes[0][0].get() != nil)
        #expect(try outcomes[0][1].get() == nil)
        try expectSound(storage)
    }

    @Test("Orders renew entries and keep files")
    func renewing() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("a", "a"))
        let gone = try #require(try await storage.put("b", "b"))
        try await storage.put("other", "b")
        fixture.time.advance(seconds: 60)
        let renewal = EntryRenewal(expiration: .days(9), extending: .none)
        let outcomes = await submit(
            [
                [
                    .renew([entry, gone], renewal), .renew([gone, entry], renewal),
                    .keep(entry, as: EntryKey(key: "a", identifier: EntryKey.replacedIdentifier), facts()),
                    .keep(gone, as: EntryKey(key: "b", identifier: EntryKey.replacedIdentifier), facts()),
                ]
            ], storage)
        let renewed = try #require(try outcomes[0][0].get())
        #expect(renewed.expires == StorageExpiration.days(9).expiry(from: storage.now()))
        #expect(try outcomes[0][1].get() == nil)
        #expect(try outcomes[0][2].get()?.object == entry.object)
        #expect(try outcomes[0][3].get() == nil)
        #expect(try storage.text("b") == "other")
        try expectSound(storage)
    }

    @Test("Rewritten equal bytes do not disturb other entries")
    func renewingShared() async throws {
        let storage = try fixture.open()
        let entry = try #require(try await storage.put("same", "a"))
        // The file gets a new time when it is written anew, but the clock of the file system may tick seldom.
        var now = entry
        for number in 0..<1000 where now.object.modified == entry.object.modified {
            try await storage.put("same", "b\(number)") { $0.rewrites = true }
            now = try #require(try storage.entry(for: EntryKey(key: "a")))
        }
        try #require(now.object.modified != entry.object.modified)
        let outcomes = await submit(
            [
                [
                    .renew([entry], EntryRenewal(expiration: .days(9), extending: .none)),
                    .keep(entry, as: EntryKey(key: "a", identifier: EntryKey.replacedIdentifier), facts()),
                ]
            ], storage)
        let renewed = try #require(try outcomes[0][0].get())
        #expect(renewed.expires == StorageExpiration.days(9).expiry(from: storage.now()))
        #expect(try outcomes[0][1].get() != nil)
        try expectSound(storage)
    }

    @Test("Orders recreate a deleted directory")
    func deleted() async throws {
        let storage = try fixture.open()
        try await storage.put("before", "before")
        let groups = try (0..<20).map { [try order("\($0)", "\($0)", storage)] }
        try FileManager.default.removeItem(atPath: fixture.root)
        let outcomes = await submit(groups, storage)
        for (number, group) in outcomes.enumerated() {
            #expect(try group[0].get() != nil)
            #expect(try storage.text("\(number)") == "\(number)")
        }
        #expect(try storage.text("before") == nil)
        try expectSound(storage)
    }

    @Test("A staged file can be stored again after its eviction")
    func evicted() async throws {
        let storage = try fixture.open()
        let object = try staged("a", storage)
        _ = await submit([[.store(object, EntryKey(key: "a"), facts())]], storage)
        _ = try storage.removeAll()
        let outcomes = await submit([[.store(object, EntryKey(key: "b"), facts())]], storage)
        #expect(try outcomes[0][0].get() != nil)
        #expect(try storage.text("b") == "a")
    }

    @Test("A damaged index is rebuilt once for all orders")
    func healing() async throws {
        let notices = NoticeBox()
        let storage = try fixture.open { $0.notice = notices.add }
        for number in 0..<300 { try await storage.put("content \(number)", "key \(number)") }
        storage.close()
        storage.writer.flush(truncating: true)
        // Damage that the writer's connection meets: a table whose rows it cannot read.
        try storage.writer.perform { connection throws(StorageError) in
            try connection.execute(
                "CREATE TEMP TRIGGER no BEFORE INSERT ON main.entries BEGIN SELECT RAISE(ABORT, 'damage'); END")
        }
        let groups = try (0..<20).map { [try order("\($0)", "\($0)", storage)] }
        let outcomes = await submit(groups, storage)
        for (number, group) in outcomes.enumerated() {
            #expect(try group[0].get() != nil)
            #expect(try storage.text("\(number)") == "\(number)")
        }
        #expect(try storage.text("key 7") == "content 7")
        #expect(notices.all.count == 1)
        try expectSound(storage)
    }

    @Test("Durable commits store the same")
    func durable() async throws {
        let storage = try fixture.open { $0.synchronizes = true }
        let outcomes = await submit(try (0..<20).map { [try order("\($0)", "\($0)", storage)] }, storage)
        #expect(outcomes.allSatisfy { (try? $0[0].get()) != nil })
        #expect(try fixture.open().text("7") == "7")
        try expectSound(storage)
    }

    @Test("Many stores share a commit")
    func sharing() async throws {
        let (storage, other) = (try fixture.open(), try fixture.open())
        try await storage.put("first", "first")
        let before = other.commitsOfOthers
        let groups = try (0..<256).map { [try order("\($0)", "\($0)", storage)] }
        _ = await submit(groups, storage, urgent: false)
        // The lock is given back every 10 ms, which a slow machine needs more often.
        #expect(other.commitsOfOthers - before < 64)
    }

    @Test("A look-up tells absent entries from unusable ones")
    func lookUp() async throws {
        let storage = try fixture.open()
        let groups = try (0..<600).map { number in
            var facts = facts()
            facts.expiration = .days(number % 2 == 0 ? 1 : 9)
            return [Store.store(try staged("\(number)", storage), EntryKey(key: "\(number)"), facts)]
        }
        _ = await submit(groups, storage)
        fixture.time.advance(seconds: 2 * 86_400)
        let gone = try #require(try storage.entry(for: EntryKey(key: "1")))
        unlink(storage.path(of: gone))
        let found = try storage.lookUp((0..<700).map { EntryKey(key: "\($0)") })
        let kinds = found.map { found -> String in
            switch found {
            case .absent: "absent"
            case .unusable: "unusable"
            case .fresh(let entry): entry.key.key
            }
        }
        #expect(kinds == (0..<700).map { $0 >= 600 ? "absent" : $0 % 2 == 0 || $0 == 1 ? "unusable" : "\($0)" })
    }

    @Test("An empty lock file counts no commits")
    func shortLockFile() throws {
        let path = fixture.directory.path("lock").path
        let file = FileLock(try FileDescriptor.open(path, O_RDWR | O_CREAT, mode: 0o600))
        #expect(file.map(words: 4) == nil)
        let (mine, theirs) = (CommitCount(file, isOnNetwork: false), CommitCount(file, isOnNetwork: false))
        let far = CommitCount(file, isOnNetwork: true)
        #expect(theirs.others == 0)
        for count in 1...3 as ClosedRange<Int64> {
            mine.note()
            #expect(mine.others == 0)
            #expect(theirs.others == count)
            #expect(far.others == count)
        }
        #expect(file.map(words: 4)?[3] == 3)
    }
}

@Suite("The commit schedule of the index writer", .bounded)
struct JobQueueTests {
    private func jobs(_ rows: [Int]) -> [IndexJob] {
        let renewal = EntryRenewal(expiration: .days(1), extending: .none)
        let groups = rows.map { [Store](repeating: .renew([], renewal), count: $0) }
        let submission = Submission(groups.flat, groups: groups.places, at: .now()) { _ in }
        return groups.indices.map { IndexJob($0, of: submission, since: .now) }
    }

    private func count(_ step: JobQueue.Step) -> Int? {
        if case .commit(let batch) = step { return batch.reduce(0) { $0 + $1.rows } }
        return nil
    }

    @Test("Jobs that can wait are committed at their time")
    func waiting() throws {
        var queue = JobQueue()
        let long = Company(rows: 256, span: .seconds(60))
        let first = queue.add(jobs([1]), long)
        let again = queue.add(jobs([1]), long)
        #expect(again == nil)
        // A shorter wait brings the thread earlier.
        let second = queue.add(jobs([1]), Company(rows: 64, span: .seconds(30)))
        #expect(try #require(second) < #require(first))
        #expect(try #require(second) > .now())
        let early = queue.take(all: false)
        guard case .wait(let time) = early else { throw Failure() }
        #expect(time == second)
        let all = queue.take(all: true)
        #expect(count(all) == 3)
        let end = queue.take(all: true)
        guard case .stop = end else { throw Failure() }
    }

    private struct Failure: Error {}

    @Test("An urgent job is committed at once with the waiting ones")
    func urgent() throws {
        var queue = JobQueue()
        _ = queue.add(jobs([1, 2]), Company(rows: 256, span: .seconds(60)))
        let called = queue.add(jobs([1]), .none)
        #expect(try #require(called) <= .now())
        let again = queue.add(jobs([1]), .none)
        #expect(again == nil)
        let batch = queue.take(all: false)
        #expect(count(batch) == 5)
    }

    @Test("A batch has at most 256 rows and whole groups")
    func full() throws {
        var queue = JobQueue()
        _ = queue.add(jobs([200, 56, 1, 300, 7]), .many)
        var batches: [Int?] = []
        for _ in 0..<4 { batches.append(count(queue.take(all: false))) }
        #expect(batches == [256, 1, 300, 7])
        let end = queue.take(all: false)
        guard case .stop = end else { throw Failure() }
    }

    @Test("Jobs that are put back go first")
    func working() throws {
        var queue = JobQueue()
        let many = jobs([1, 2, 3])
        _ = queue.add(many, .none)
        let first = queue.take(all: false)
        #expect(count(first) == 6)
        let call = queue.add(jobs([10]), Company(rows: 256, span: .seconds(60)))
        #expect(call == nil)
        queue.putBack(many[2...])
        let second = queue.take(all: false)
        #expect(count(second) == 13)
        let end = queue.take(all: false)
        guard case .stop = end else { throw Failure() }
    }
}
