import Dispatch
import Glibc
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("The time that a lock is waited for", .bounded)
struct LockWaitTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// As another process has it: locks of two open files exclude each other within a process too.
    private func lock(_ patience: Patience = Patience(limit: .seconds(60))) throws -> BoundedLock {
        BoundedLock(try file(), .exclusive, byte: 0, patience: patience)
    }

    private func file() throws -> FileLock {
        FileLock(try FileDescriptor.open(directory.path("lock").path, O_RDWR | O_CREAT, mode: 0o600))
    }

    private func expectLocked(_ lock: BoundedLock, since start: ContinuousClock.Instant = .now) throws -> StorageError {
        try #require(throws: StorageError.self) { try lock.acquire(since: start) }
    }

    @Test("A wait for a lock ends after its limit")
    func limit() throws {
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        let lock = try lock(Patience(limit: .milliseconds(300)))
        let start = ContinuousClock.now
        let error = try expectLocked(lock)
        #expect(error.isLocked)
        #expect(start.duration(to: .now) >= .milliseconds(300))
        let since = try #require(lock.blockedSince)
        let again = ContinuousClock.now
        _ = try expectLocked(lock, since: since)
        #expect(again.duration(to: .now) < .milliseconds(290))
    }

    @Test("A wait outlasts its limit while the holder commits")
    func outlasting() throws {
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        let lock = BoundedLock(
            try file(), .exclusive, byte: 0, patience: Patience(limit: .milliseconds(500)), holderIsNoted: true)
        let group = DispatchGroup()
        DispatchQueue(label: "commits").async(group: group) {
            var count: Int64 = 0
            repeat {
                count += 1
                #expect(throws: Never.self) { try holder.write(words: [count], from: CommitCount.word) }
            } while lock.blockedSince.map { $0.duration(to: .now) < .milliseconds(800) } ?? true
            holder.release(byte: 0)
        }
        try lock.acquire()
        group.wait()
        lock.release()
    }

    @Test("A small writer is not starved by two busy ones")
    func fair() throws {
        let stops = Atomic(false)
        let hogs = try (0..<2).map { _ in try lock() }
        let group = DispatchGroup()
        for hog in hogs {
            DispatchQueue(label: "hog").async(group: group) {
                while !stops.load(ordering: .relaxed) {
                    guard (try? hog.acquire()) != nil else { continue }
                    usleep(5000)
                    hog.release()
                }
            }
        }
        let small = try lock(Patience(limit: .seconds(20)))
        var longest = Duration.zero
        for _ in 0..<20 {
            let start = ContinuousClock.now
            try small.acquire()
            longest = max(longest, start.duration(to: .now))
            small.release()
        }
        stops.store(true, ordering: .relaxed)
        group.wait()
        // 10–30 ms alone; the tests beside this one take most of the machine.
        #expect(longest < .seconds(5), "\(longest)")
    }
}
