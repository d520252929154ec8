import Dispatch
import Glibc
import KFSystem
import Support
import Synchronization
import Testing

@testable import KFStorage

@Suite("Waits for locks of other processes", .bounded)
struct BoundedLockTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// As another process has it: locks of two open files exclude each other within a process too.
    private func lock(_ patience: Patience = Patience(limit: .seconds(60))) throws -> BoundedLock {
        BoundedLock(try file(), .exclusive, byte: 0, patience: patience)
    }

    private func file() throws -> FileLock {
        FileLock(try FileDescriptor.open(directory.path("lock").path, O_RDWR | O_CREAT, mode: 0o600))
    }

    /// On a thread that may block.
    private static func acquire(_ lock: BoundedLock) async throws(StorageError) {
        try await WorkerPool(label: "test", width: 1).run { () throws(StorageError) in try lock.acquire() }
    }

    private func expectLocked(_ lock: BoundedLock, since start: ContinuousClock.Instant = .now) throws -> StorageError {
        try #require(throws: StorageError.self) { try lock.acquire(since: start) }
    }

    @Test("A free lock is acquired by one holder")
    func free() throws {
        let (first, second) = (try lock(), try lock())
        try first.acquire()
        #expect(try !second.tryAcquire())
        #expect(try !first.tryAcquire())
        first.release()
        #expect(try second.tryAcquire())
        second.release()
    }

    @Test("A lock acquired too late is released")
    func late() throws {
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        let lock = try lock(Patience(limit: .milliseconds(50)))
        _ = try expectLocked(lock)
        holder.release(byte: 0)
        let third = try self.lock()
        try third.acquire()
        third.release()
        try lock.acquire()
        lock.release()
    }

    @Test("A waiter gets the lock when it is released")
    func released() async throws {
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        let lock = try lock()
        let waiting = Task { try await Self.acquire(lock) }
        #expect(await eventually { lock.blockedSince != nil })
        holder.release(byte: 0)
        try await waiting.value
        #expect(try !holder.tryAcquire(.exclusive, byte: 0))
        lock.release()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
    }

    @Test("Threads of one process exclude each other")
    func threads() throws {
        let lock = try lock()
        let inside = Atomic(0)
        let most = Mutex(0)
        let turns = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<200 {
                guard (try? lock.acquire()) != nil else { continue }
                let now = inside.add(1, ordering: .sequentiallyConsistent).newValue
                most.withLock { $0 = max($0, now) }
                turns.add(1, ordering: .relaxed)
                inside.subtract(1, ordering: .sequentiallyConsistent)
                lock.release()
            }
        }
        #expect(most.withLock { $0 } == 1)
        #expect(turns.load(ordering: .relaxed) == 1600)
    }

    @Test("A shortened patience ends a running wait")
    func cutShort() async throws {
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        let patience = Patience(limit: .seconds(60))
        let lock = try lock(patience)
        let waiting = Task { try await Self.acquire(lock) }
        #expect(await eventually { lock.blockedSince != nil })
        let start = ContinuousClock.now
        patience.end(within: .zero)
        await #expect(throws: StorageError.self) { try await waiting.value }
        #expect(start.duration(to: .now) < .seconds(40))
    }

    @Test("A deadline ends a wait")
    func deadline() {
        let start = ContinuousClock.now
        let patience = Patience(limit: .seconds(5), until: start + .seconds(7))
        #expect(patience.deadline(from: start) == start + .seconds(5))
        #expect(patience.deadline(from: start + .seconds(4)) == start + .seconds(7))
        patience.end(within: .seconds(60))
        #expect(patience.deadline(from: start + .seconds(4)) == start + .seconds(7))
    }

    @Test("Each sign of life restarts the wait")
    func signs() throws {
        let holder = try file()
        let lock = BoundedLock(
            try file(), .exclusive, byte: 0, patience: Patience(limit: .seconds(5)), holderIsNoted: true)
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        LockHolder.note(getpid(), in: holder)
        lock.look()
        let start = ContinuousClock.now - .seconds(60)
        for _ in 0..<2 {
            #expect(lock.deadline(from: start) == start + .seconds(5))
            lock.look()
        }
        // A commit, then another holder.
        for words in [[7, Int64(getpid())], [7, 4711]] {
            try holder.write(words: words, from: CommitCount.word)
            let before = ContinuousClock.now
            lock.look()
            let deadline = lock.deadline(from: start)
            #expect(deadline >= before + .seconds(5))
            lock.look()
            #expect(lock.deadline(from: start) == deadline)
        }
    }

    @Test("A total limit bounds the wait")
    func longest() {
        let start = ContinuousClock.now
        let patience = Patience(limit: .seconds(5), longest: .seconds(8))
        #expect(patience.deadline(from: start) == start + .seconds(5))
        #expect(patience.deadline(from: start, lastSign: start + .seconds(2)) == start + .seconds(7))
        #expect(patience.deadline(from: start, lastSign: start + .seconds(6)) == start + .seconds(8))
    }

    private func described(_ lock: FileLock) -> String { LockHolder.describe(lock, byte: 0, isNoted: true) }

    @Test("The message names the process that holds the lock")
    func holder() async throws {
        let stopped = try RunningCommand("/bin/sh", ["-c", "kill -STOP $$"], environment: [:])
        defer { stopped.signal(SIGKILL) }
        let holder = try file()
        #expect(try holder.tryAcquire(.exclusive, byte: 0))
        #expect(described(holder) == "another process")
        LockHolder.note(getpid(), in: holder)
        let own = described(holder)
        #expect(own.hasPrefix("process \(getpid()) ("), "\(own)")
        LockHolder.note(0, in: holder)
        #expect(described(holder) == "another process")
        try holder.write(words: [Int64(stopped.processNumber ?? 0)], from: 4)
        for _ in 0..<2000 where !described(holder).hasSuffix("stopped)") { usleep(2000) }
        let other = described(holder)
        #expect(other == "process \(stopped.processNumber ?? 0) (sh, stopped)", "\(other)")
    }
}
