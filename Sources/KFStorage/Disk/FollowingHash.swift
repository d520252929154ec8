import Glibc
import KFSystem
import Synchronization

/// The hash of a file that grows, computed from the bytes as they are written.
///
/// The writing thread hashes the beginning. It hands later bytes over in buffers, which a worker hashes beside the
/// transfer, because the writing thread serves all transfers. When the worker falls behind, the writing thread hashes
/// too, which bounds the buffers in flight. Checkpoints of a partial body record the hash of its beginning at regular
/// distances.
final class FollowingHash: Sendable {
    private struct Progress {
        var sha = SHA256()
        /// The number of bytes hashed, from the file's beginning.
        var done: Int64 = 0
        var reader: (any BodyReader)?

        var checkpoint: Checkpoint {
            var sha = sha
            return Checkpoint(length: done, digest: sha.finish())
        }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sha.update(bytes)
            // The reader runs now, while the bytes are still in the processor's cache.
            reader?.read(bytes)
            done += Int64(bytes.count)
        }
    }

    /// Written bytes that are not hashed yet, in the order of the file.
    private struct Queue {
        var buffers: [BodyBuffer] = []
        /// Whether a worker is going to read the queue again.
        var isAttended = false
    }

    /// Up to this length the writing thread hashes everything, which takes 0.6 ms in all.
    private static let smallest: Int64 = 1 << 20
    /// The number of buffers that wakes the worker; scarce buffers wake it earlier. A wake-up costs the writing thread
    /// 20 µs, a quarter of the time to hash a buffer.
    private static let batch = 4
    /// The number of waiting buffers from which the writing thread hashes one, if no worker is running: no processor
    /// was free for it. A running worker cannot be helped, because a hash is computed in order.
    private static let depth = 8
    /// The largest number of waiting buffers, 1.3 MB. With more, the writing thread waits for one.
    private static let limit = 10
    private static let pool = WorkerPool(label: "kf.hash", width: 2)

    // A thread that holds the state may lock the queue, never the other way round. Buffers leave the queue under both
    // locks, which keeps them in order.
    private let state = Mutex(Progress())
    private let queue = Mutex(Queue())
    private let log: CheckpointLog?

    init(recordingIn log: CheckpointLog? = nil) { self.log = log }

    /// Sets a reader for all bytes that are hashed. Ignored when some bytes have been hashed already.
    func setReader(_ reader: any BodyReader) {
        state.withLock { state in if state.done == 0 { state.reader = reader } }
    }

    /// The reader, which has read all bytes hashed so far.
    var reader: (any BodyReader)? { state.withLock { $0.reader } }

    /// Hashes the next bytes of the file, which have been written.
    func take(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            while step(&state) {}
            update(&state, bytes)
        }
    }

    /// Takes a buffer with the next bytes of the file, which have been written and end at `end`. A worker hashes them,
    /// unless the file is still short. Returns an empty buffer for the following bytes; nil when other bodies use all
    /// buffers.
    func exchange(_ buffer: BodyBuffer, endingAt end: Int64) -> BodyBuffer? {
        guard end > Self.smallest else {
            take(buffer.bytes)
            buffer.truncate(to: 0)
            return buffer
        }
        let next = BodyBuffer.take()
        let isScarce = BodyBuffer.areScarce
        let (waiting, wakes) = queue.withLock { queue in
            queue.buffers.append(buffer)
            let wakes = !queue.isAttended && (isScarce || queue.buffers.count >= Self.batch)
            if wakes { queue.isAttended = true }
            return (queue.buffers.count, wakes)
        }
        if wakes { Self.pool.submit { [self] in attend() } }
        if next == nil || waiting >= Self.limit {
            state.withLock { state in _ = step(&state) }
        } else if waiting >= Self.depth {
            _ = state.withLockIfAvailable { state in _ = step(&state) }
        }
        return next ?? BodyBuffer.take()
    }

    /// Returns the hash of all bytes that were taken. Called once.
    func finish() -> Digest {
        state.withLock { state in
            while step(&state) {}
            return state.sha.finish()
        }
    }

    /// Hashes the file's beginning as far as checkpoints confirm it. Returns the number of confirmed checkpoints.
    func confirm(_ checkpoints: some Sequence<Checkpoint>, of file: Int32) throws(StorageError) -> Int {
        try state.withLock { state throws(StorageError) in
            var confirmed = 0
            var latest = state
            for checkpoint in checkpoints {
                try Self.read(&state, to: checkpoint.length, of: file)
                guard state.checkpoint == checkpoint else { break }
                latest = state
                confirmed += 1
            }
            state = latest
            return confirmed
        }
    }

    /// Records a checkpoint of all bytes that were taken. Returns whether the log has any checkpoint.
    func conclude() -> Bool {
        guard let log else { return false }
        state.withLock { state in
            while step(&state) {}
            log.append(state.checkpoint)
        }
        return log.last > 0
    }

    /// Hashes waiting buffers until none is left. Runs on a worker.
    private func attend() {
        var goesOn = true
        while goesOn {
            // One buffer at a time: a writing thread that helps waits for the state.
            goesOn = state.withLock { state in step(&state, attending: true) }
        }
    }

    /// Hashes the first waiting buffer. Returns false when none is waiting.
    private func step(_ state: inout Progress, attending: Bool = false) -> Bool {
        let next: BodyBuffer? = queue.withLock { queue in
            guard queue.buffers.isEmpty else { return queue.buffers.removeFirst() }
            if attending { queue.isAttended = false }
            return nil
        }
        guard let next else { return false }
        update(&state, next.bytes)
        return true
    }

    private func update(_ state: inout Progress, _ bytes: UnsafeRawBufferPointer) {
        state.update(bytes)
        if let log, log.isDue(at: state.done) { log.append(state.checkpoint) }
    }

    /// Hashes the bytes that the file already holds, up to `end`.
    private static func read(_ state: inout Progress, to end: Int64, of file: Int32) throws(StorageError) {
        guard state.done < end else { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 64)
        defer { buffer.deallocate() }
        while state.done < end {
            let wanted = min(buffer.count, Int(end - state.done))
            let offset = state.done
            let count = try retry("pread", "a body") { pread(file, buffer.baseAddress, wanted, off_t(offset)) }
            guard count > 0 else { throw .system(call: "pread", path: "a body", errno: EIO) }
            state.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
