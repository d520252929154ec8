import Glibc
import Synchronization

/// The hash of a file that grows. While the file is small, what is written is hashed at once; a large one is read again
/// by a thread of its own, so that who writes (the thread of all transfers) need not wait for the hash of what it wrote.
final class FollowingHash: Sendable {
    private struct State {
        var sha = SHA256()
        /// Bytes taken in, from the file's beginning.
        var done: Int64 = 0
    }

    /// From here on the hash follows.
    private static let smallest: Int64 = 1 << 20
    /// How far it may be behind before it starts again.
    private static let lag: Int64 = 1 << 20
    private static let pool = WorkerPool(label: "kf.hash", width: 2)

    private let state = Mutex(State())
    private let started = Atomic<Int64>(0)
    private let isFollowing = Atomic(false)

    /// The bytes were written and end at `end`. `file` must stay open for as long as `owner` lives.
    func take(_ bytes: UnsafeRawBufferPointer, endingAt end: Int64, of file: Int32, owner: some AnyObject & Sendable) {
        guard end > Self.smallest else {
            return state.withLock { state in
                state.sha.update(bytes)
                state.done += Int64(bytes.count)
            }
        }
        guard end - started.load(ordering: .relaxed) >= Self.lag,
            !isFollowing.exchange(true, ordering: .acquiring)
        else { return }
        started.store(end, ordering: .relaxed)
        Self.pool.submit { [self] in
            // What cannot be read now is read, or complained about, at the end.
            _ = Result { () throws(StorageError) in try catchUp(to: end, of: file) }
            isFollowing.store(false, ordering: .releasing)
            withExtendedLifetime(owner) {}
        }
    }

    /// Of the first `size` bytes, all of which have been written. To be called once.
    func finish(size: Int64, of file: Int32) throws(StorageError) -> Digest {
        try catchUp(to: size, of: file)
        return state.withLock { $0.sha.finish() }
    }

    /// Takes in what is there already.
    func catchUp(to end: Int64, of file: Int32) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.done < end else { return }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)
            defer { buffer.deallocate() }
            while state.done < end {
                let wanted = min(buffer.count, Int(end - state.done))
                let count = try retry("pread", "a body") {
                    pread(file, buffer.baseAddress, wanted, off_t(state.done))
                }
                guard count > 0 else { throw .system(call: "pread", path: "a body", errno: EIO) }
                state.sha.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                state.done += Int64(count)
            }
        }
    }
}
