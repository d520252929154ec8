import Glibc
import KFSystem
import Synchronization

/// The hash of a file that grows, computed from the bytes as they are written.
///
/// The beginning is hashed by the writing thread. Later bytes are handed over in buffers, which a worker hashes beside
/// the transfer: the writing thread is the one of all transfers. When the worker falls behind, the writing thread
/// hashes too, which bounds the buffers in flight. The hash of a partial body's beginning is recorded as a
/// checkpoint every now and then.
final class FollowingHash: Sendable {
    private struct State {
        var sha = SHA256()
        /// Bytes hashed, from the file's beginning.
        var done: Int64 = 0
        var reader: (any BodyReader)?

        var checkpoint: Checkpoint {
            var sha = sha
            return Checkpoint(length: done, digest: sha.finish())
        }

        mutating func update(_ bytes: UnsafeRawBufferPointer) {
            sha.update(bytes)
            // While a processor's cache holds the bytes.
            reader?.read(bytes)
            done += Int64(bytes.count)
        }
    }

    /// Written bytes that are not hashed yet, in the order of the file.
    private struct Queue {
        var buffers: [BodyBuffer] = []
        /// A worker will look into the queue again.
        var isAttended = false
    }

    /// Up to here the writing thread hashes, which takes 0.6 ms in all.
    private static let smallest: Int64 = 1 << 20
    /// So many buffers wake the worker, fewer when buffers are scarce. A wake-up costs the writing thread 20 µs, a
    /// quarter of the time that a buffer takes to hash.
    private static let batch = 4
    /// From so many waiting buffers on the writing thread hashes one when no worker is at it: no processor was free for
    /// the worker. (While one is, there is nothing to help with: a hash is computed in order.)
    private static let depth = 8
    /// So many buffers may wait, 1.3 MB; the writing thread then waits for one.
    private static let limit = 10
    private static let pool = WorkerPool(label: "kf.hash", width: 2)

    // A thread that holds the state may lock the queue, never the other way round. Buffers leave the queue under both
    // locks, which keeps them in order.
    private let state = Mutex(State())
    private let queue = Mutex(Queue())
    private let log: CheckpointLog?

    /// `log` takes the checkpoints.
    init(recordingIn log: CheckpointLog? = nil) { self.log = log }

    /// `reader` reads all bytes that are hashed. Ignored when some have been hashed already.
    func setReader(_ reader: any BodyReader) {
        state.withLock { state in if state.done == 0 { state.reader = reader } }
    }

    /// The reader, which has read all bytes that are hashed so far.
    var reader: (any BodyReader)? { state.withLock { $0.reader } }

    /// Hashes the next bytes of the file, which have been written.
    func take(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            while step(&state) {}
            update(&state, bytes)
        }
    }

    /// Takes a buffer with the next bytes of the file, which have been written and end at `end`. They are hashed by a
    /// worker, unless there are few. Returns an empty buffer for the bytes that follow; nil when other bodies use all.
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

    /// The hash of all bytes that were taken. To be called once.
    func finish() -> Digest {
        state.withLock { state in
            while step(&state) {}
            return state.sha.finish()
        }
    }

    /// Takes in the file's beginning as far as a checkpoint confirms it, and says how many do.
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

    /// Records a checkpoint of all bytes that were taken. Says whether the log has any.
    func conclude() -> Bool {
        guard let log else { return false }
        state.withLock { state in
            while step(&state) {}
            log.append(state.checkpoint)
        }
        return log.last > 0
    }

    /// Hashes what waits until nothing does. Runs on a worker.
    private func attend() {
        var goesOn = true
        while goesOn {
            // One at a time: the writing thread waits for the state when it helps.
            goesOn = state.withLock { state in step(&state, attending: true) }
        }
    }

    /// Hashes the first of the buffers that wait; false when none does.
    private func step(_ state: inout State, attending: Bool = false) -> Bool {
        let next: BodyBuffer? = queue.withLock { queue in
            guard queue.buffers.isEmpty else { return queue.buffers.removeFirst() }
            if attending { queue.isAttended = false }
            return nil
        }
        guard let next else { return false }
        update(&state, next.bytes)
        return true
    }

    private func update(_ state: inout State, _ bytes: UnsafeRawBufferPointer) {
        state.update(bytes)
        if let log, log.isDue(at: state.done) { log.append(state.checkpoint) }
    }

    /// Hashes what the file holds already.
    private static func read(_ state: inout State, to end: Int64, of file: Int32) throws(StorageError) {
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
