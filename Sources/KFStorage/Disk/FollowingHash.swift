import Glibc
import Synchronization

/// The hash of a file that grows. While the file is small, what is written is hashed at once; a large one is read again
/// by a thread of its own, so that who writes (the thread of all transfers) need not wait for the hash of what it wrote.
/// The hash of a partial body's beginning is recorded as a checkpoint every now and then.
final class FollowingHash: Sendable {
    private struct State {
        var sha = SHA256()
        /// Bytes taken in, from the file's beginning.
        var done: Int64 = 0

        var checkpoint: Checkpoint {
            var sha = sha
            return Checkpoint(length: done, digest: sha.finish())
        }
    }

    /// From here on the hash follows.
    private static let smallest: Int64 = 1 << 20
    /// How far it may be behind before it starts again.
    private static let lag: Int64 = 1 << 20
    private static let pool = WorkerPool(label: "kf.hash", width: 2)

    private let state = Mutex(State())
    private let log: CheckpointLog?
    private let started = Atomic<Int64>(0)
    private let isFollowing = Atomic(false)

    /// `log` takes the checkpoints.
    init(recordingIn log: CheckpointLog? = nil) { self.log = log }

    /// The bytes were written and end at `end`. `file` must stay open for as long as `owner` lives.
    func take(_ bytes: UnsafeRawBufferPointer, endingAt end: Int64, of file: Int32, owner: some AnyObject & Sendable) {
        guard end > Self.smallest else {
            return state.withLock { state in
                state.sha.update(bytes)
                state.done += Int64(bytes.count)
                if let log, log.isDue(at: state.done) { log.append(state.checkpoint) }
            }
        }
        guard end - started.load(ordering: .relaxed) >= Self.lag,
            !isFollowing.exchange(true, ordering: .acquiring)
        else { return }
        started.store(end, ordering: .relaxed)
        Self.pool.submit { [self] in
            // What cannot be read now is read, or complained about, at the end.
            _ = Result { () throws(StorageError) in try follow(to: end, of: file) }
            isFollowing.store(false, ordering: .releasing)
            withExtendedLifetime(owner) {}
        }
    }

    /// Of the first `size` bytes, all of which have been written. To be called once.
    func finish(size: Int64, of file: Int32) throws(StorageError) -> Digest {
        try state.withLock { state throws(StorageError) in
            try Self.catchUp(&state, to: size, of: file)
            return state.sha.finish()
        }
    }

    /// Takes in the file's beginning as far as a checkpoint confirms it, and says how many do.
    func confirm(_ checkpoints: some Sequence<Checkpoint>, of file: Int32) throws(StorageError) -> Int {
        try state.withLock { state throws(StorageError) in
            var confirmed = 0
            var latest = state
            for checkpoint in checkpoints {
                try Self.catchUp(&state, to: checkpoint.length, of: file)
                guard state.checkpoint == checkpoint else { break }
                latest = state
                confirmed += 1
            }
            state = latest
            return confirmed
        }
    }

    /// Records a checkpoint of the first `size` bytes, all of which have been written. Says whether the log has any.
    func conclude(size: Int64, of file: Int32) -> Bool {
        guard let log else { return false }
        state.withLock { state in
            let read = Result { () throws(StorageError) in try Self.catchUp(&state, to: size, of: file) }
            // What cannot be read back is not confirmed; an earlier checkpoint may be there.
            if case .success = read { log.append(state.checkpoint) }
        }
        return log.last > 0
    }

    private func follow(to end: Int64, of file: Int32) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            try Self.catchUp(&state, to: end, of: file)
            if let log, log.isDue(at: state.done) { log.append(state.checkpoint) }
        }
    }

    /// Takes in what is there already.
    private static func catchUp(_ state: inout State, to end: Int64, of file: Int32) throws(StorageError) {
        guard state.done < end else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)
        defer { buffer.deallocate() }
        while state.done < end {
            let wanted = min(buffer.count, Int(end - state.done))
            let offset = state.done
            let count = try retry("pread", "a body") { pread(file, buffer.baseAddress, wanted, off_t(offset)) }
            guard count > 0 else { throw .system(call: "pread", path: "a body", errno: EIO) }
            state.sha.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            state.done += Int64(count)
        }
    }
}
