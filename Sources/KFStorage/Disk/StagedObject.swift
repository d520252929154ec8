import Glibc
import Synchronization

/// Bytes on their way into the cache: a file in `tmp`, or in `partial` when it can be resumed, that is hashed while it
/// is written. What is neither published nor kept is removed with the value.
package final class StagedObject: Sendable {
    private struct State: ~Copyable {
        let file: FileDescriptor
        /// Bytes taken by the writes that succeeded.
        var size: Int64 = 0
        /// Bytes in the file. The next ones go there.
        var written: Int64 = 0
        /// Bytes behind `written` that are not in the file yet.
        var pending: BodyBuffer?
        var digest: Digest?
        var modified: Int64 = 0
        var published: StoredObject?
        var isKept = false
        /// False when nothing can be published any more: the bytes are this process's alone.
        var hasName = true
        /// What the directory's count of partial bodies holds of it.
        var counted: Int64 = 0
        var isSynchronized = false
    }

    let directory: CacheDirectory
    /// Below `v1`.
    let name: String
    private let isPartial: Bool
    private let hash: FollowingHash
    private let log: CheckpointLog?
    private let state: Mutex<State>

    /// A file in `tmp`.
    init(_ directory: CacheDirectory) throws(StorageError) {
        // Read-only from birth: what is published is not to be written to again.
        let temporary = try directory.openTemporary(mode: 0o444)
        self.directory = directory
        name = temporary.name
        isPartial = false
        log = nil
        hash = FollowingHash()
        state = Mutex(State(file: temporary.file))
    }

    /// A file in `partial` whose lock is held; `restore` is to follow if it is not empty.
    init(_ directory: CacheDirectory, partial name: String, _ file: consuming FileDescriptor, _ log: CheckpointLog) {
        self.directory = directory
        self.name = name
        self.log = log
        isPartial = true
        hash = FollowingHash(recordingIn: log)
        state = Mutex(State(file: file))
    }

    deinit {
        state.withLock { state in
            if state.published == nil, !state.isKept { removeName(&state) }
        }
    }

    /// The transfer broke off: a partial file stays, for `DiskStorage.takePartial`, with a checkpoint of all that it
    /// holds. An ordinary one goes all the same. Blocks while the rest is hashed.
    package func keep() {
        state.withLock { state in
            guard isPartial, state.hasName, state.published == nil else { return }
            // Where the disk takes no more, what it has taken is kept.
            _ = Result { () throws(StorageError) in try flush(&state) }
            state.pending = nil
            guard hash.conclude() else { return removeName(&state) }
            state.isKept = true
            // This object may live for another moment.
            FileLock.release(byte: 0, of: state.file)
        }
    }

    /// Removes the file's name. Its bytes can still be written and read here, and go with this process, however that
    /// ends. For what will not be stored, or not be resumed.
    package func abandon() {
        state.withLock { state in
            if state.published == nil, !state.isKept { removeName(&state) }
        }
    }

    private func removeName(_ state: inout State) {
        guard state.hasName else { return }
        state.hasName = false
        if isPartial {
            PartialBody.removeFiles(name, in: directory)
        } else {
            directory.unlink(name)
        }
        uncount(&state)
    }

    private func uncount(_ state: inout State) {
        directory.partialBytes.subtract(state.counted, ordering: .relaxed)
        state.counted = 0
    }

    /// Takes in what the file holds as far as a checkpoint confirms it, and drops the rest. False when nothing is
    /// confirmed: a power loss leaves files whose end is zeros.
    func restore(_ record: PartialRecord) throws(StorageError) -> Bool {
        try state.withLock { state throws(StorageError) in
            // Of a body that is there to its end no range can be asked for.
            let limit = min(Int64(try state.file.status().st_size), (record.facts.total ?? .max) - 1)
            let usable = record.checkpoints.prefix { $0.length <= limit }
            let count = try hash.confirm(usable, of: state.file.raw)
            guard count > 0 else { return false }
            let size = usable[count - 1].length
            try retry("ftruncate", directory.path(name)) { ftruncate(state.file.raw, off_t(size)) }
            try retry("lseek", directory.path(name)) { lseek(state.file.raw, off_t(size), SEEK_SET) }
            try log?.cut(to: record.size(checkpoints: count), last: size)
            state.size = size
            state.written = size
            return true
        }
    }

    /// Appends; may block on the disk. The bytes of a large body may reach its file later, with the ones that follow.
    /// After an error, `loadWritten` has what earlier calls appended.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            do throws(StorageError) {
                try append(bytes, &state)
            } catch {
                state.pending?.truncate(to: Int(clamping: state.size - state.written))
                throw error
            }
            state.size += Int64(bytes.count)
            if isPartial, state.hasName {
                state.counted += Int64(bytes.count)
                directory.partialBytes.add(Int64(bytes.count), ordering: .relaxed)
            }
        }
    }

    /// Bytes behind so many are gathered in buffers. A transfer hands over 16 KiB at a time: writing 200 MB of them
    /// one by one takes 0.11 s on tmpfs, in buffers 0.08 s.
    private static let gatheredFrom: Int64 = 256 << 10

    private func append(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        var rest = bytes
        while !rest.isEmpty {
            if state.pending == nil, state.written >= Self.gatheredFrom { state.pending = BodyBuffer.take() }
            // None is free: what comes is written and hashed at once.
            guard let pending = state.pending else {
                try write(rest, &state)
                return hash.take(rest)
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(pending.append(rest)))
            if pending.isFull { try flush(&state) }
        }
    }

    /// Writes what is pending, and hands it to the hash.
    private func flush(_ state: inout State) throws(StorageError) {
        guard let pending = state.pending, pending.count > 0 else { return }
        try write(pending.bytes, &state)
        state.pending = hash.exchange(pending, endingAt: state.written)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        do throws(StorageError) {
            try state.file.write(bytes)
        } catch {
            // A part of the bytes may be there: what is written next replaces it.
            lseek(state.file.raw, off_t(state.written), SEEK_SET)
            throw error
        }
        state.written += Int64(bytes.count)
    }

    /// `reader` reads the bytes as they are hashed, from the first to the last. To be called ahead of the first write.
    package func setReader(_ reader: any BodyReader) { hash.setReader(reader) }

    /// What was set by `setReader`. After `finish` it has read all bytes.
    package var reader: (any BodyReader)? { hash.reader }

    /// Ends the writing. `synchronize` waits until the bytes are on the disk.
    package func finish(synchronize: Bool) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.digest == nil else { return }
            try flush(&state)
            state.pending = nil
            if isPartial { try retry("chmod", directory.path(name)) { fchmod(state.file.raw, 0o444) } }
            if synchronize { try Self.synchronize(&state) }
            state.modified = try state.file.status().modified
            state.digest = hash.finish()
        }
    }

    /// Waits until what was written is on the disk.
    func synchronize() throws(StorageError) {
        try state.withLock { state throws(StorageError) in try Self.synchronize(&state) }
    }

    private static func synchronize(_ state: inout State) throws(StorageError) {
        if state.isSynchronized { return }
        try state.file.synchronize()
        state.isSynchronized = true
    }

    /// The number of bytes appended so far.
    package var size: Int64 { state.withLock { $0.size } }

    /// Nil before `finish`.
    package var digest: Digest? { state.withLock { $0.digest } }

    /// Throws before `finish`.
    func finishedDigest() throws(StorageError) -> Digest {
        guard let digest else { throw .system(call: "publish", path: directory.path(name), errno: EINVAL) }
        return digest
    }

    /// Moves the file to its place among the objects; a file of the same bytes is replaced. Who published it already is
    /// given the same object again: one body may be wanted under several keys.
    func publish(fileExtension: ObjectExtension, pixels: PixelFacts?) throws(StorageError) -> StoredObject {
        try state.withLock { state throws(StorageError) in
            if let published = state.published {
                guard directory.objects.exists(published) else {
                    throw .system(call: "publish", path: directory.path(name), errno: ENOENT)
                }
                return published
            }
            guard let digest = state.digest else {
                throw .system(call: "publish", path: directory.path(name), errno: EINVAL)
            }
            let object = StoredObject(
                digest: digest, fileExtension: fileExtension, size: state.size, modified: state.modified, pixels: pixels
            )
            if isPartial, !directory.isFile(state.file, at: name) {
                // The directory was deleted, and somebody else's body lies there now.
                throw .system(call: "rename", path: directory.path(name), errno: ENOENT)
            }
            do throws(StorageError) {
                try place(object)
            } catch .system(_, _, let code) where code == ENOENT || code == ELOOP || code == ENOTDIR {
                // There is no such folder yet, or something else in its place.
                try directory.objects.makeFolder(of: object)
                try place(object)
            }
            state.published = object
            if isPartial { directory.unlink(PartialBody.record(of: name)) }
            uncount(&state)
            return object
        }
    }

    private func place(_ object: StoredObject) throws(StorageError) {
        try isPartial ? directory.objects.move(name, to: object) : directory.objects.publish(name, as: object)
    }

}

extension StagedObject {
    /// The bytes written so far, mapped from the file: before it is published, and after that too. Who calls `passed`
    /// does not need the bytes before that position in memory any more.
    package func withMappedBytes<Value>(
        _ body: (UnsafeRawBufferPointer, _ passed: @escaping (Int) -> Void) throws -> Value
    ) throws -> Value {
        let (start, count) = try map()
        defer { if let start { munmap(start, count) } }
        return try body(UnsafeRawBufferPointer(start: start, count: count)) { position in
            // They come from the file again if somebody reads them after all; a failure gives back nothing, no more.
            if let start { madvise(start, min(position, count) & ~0xffff, MADV_DONTNEED) }
        }
    }

    /// A copy of the bytes that the successful writes appended, also when the disk did not take all of them.
    package func loadWritten() throws(StorageError) -> [UInt8] {
        try state.withLock { state throws(StorageError) in
            let (start, count) = try map(min(state.written, state.size), of: state.file)
            defer { if let start { munmap(start, count) } }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(Int(clamping: state.size))
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: start, count: count))
            if let pending = state.pending { bytes.append(contentsOf: pending.bytes) }
            return bytes
        }
    }

    private func map() throws(StorageError) -> (UnsafeMutableRawPointer?, Int) {
        try state.withLock { state throws(StorageError) in
            try flush(&state)
            return try map(state.size, of: state.file)
        }
    }

    private func map(
        _ size: Int64, of file: borrowing FileDescriptor
    ) throws(StorageError) -> (UnsafeMutableRawPointer?, Int) {
        let count = Int(clamping: size)
        guard count > 0 else { return (nil, 0) }
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, file.raw, 0), start != MAP_FAILED else {
            throw .system(call: "mmap", path: directory.path(name), errno: errno)
        }
        return (start, count)
    }
}
