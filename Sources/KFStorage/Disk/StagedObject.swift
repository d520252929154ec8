import Glibc
import KFSystem
import Synchronization

/// A file that is being written for the cache, and hashed as it is written. Its folder is `tmp`, or `partial` when the
/// body can be resumed. The file is removed with this object, unless it was published or kept.
package final class StagedObject: Sendable {
    private struct Contents: ~Copyable {
        /// Closed once `bytes` are set.
        var file: FileDescriptor
        /// All bytes of a small file that was written at once, so that it need not stay open.
        var bytes: [UInt8]?
        /// The number of bytes that successful writes have appended.
        var size: Int64 = 0
        /// The number of bytes in the file, where the next write begins.
        var written: Int64 = 0
        /// Bytes after `written` that are not in the file yet.
        var pending: BodyBuffer?
        var digest: Digest?
        var modified: Int64 = 0
        var published: StoredObject?
        var isKept = false
        /// Whether the file still has its name. Without it, nothing can be published.
        var hasName = true
        /// This file's share of `CacheDirectory.partialBytes`.
        var counted: Int64 = 0
        var isSynchronized = false
    }

    let directory: CacheDirectory
    /// The path below `v1`.
    let name: String
    private let isPartial: Bool
    /// Hashes what arrives in parts; nil for bytes that are written at once, with their hash.
    private let hash: FollowingHash?
    private let log: CheckpointLog?
    private let state: Mutex<Contents>

    init(_ directory: CacheDirectory, hashes: Bool) throws(StorageError) {
        // Read-only from the start, because a published file must not be written to again.
        let temporary = try directory.openTemporary(mode: 0o444)
        self.directory = directory
        name = temporary.name
        isPartial = false
        log = nil
        hash = hashes ? FollowingHash() : nil
        state = Mutex(Contents(file: temporary.file))
    }

    /// Takes over a file in `partial` whose lock is held. Unless the file is empty, `restore` must follow.
    init(_ directory: CacheDirectory, partial name: String, _ file: consuming FileDescriptor, _ log: CheckpointLog) {
        self.directory = directory
        self.name = name
        self.log = log
        isPartial = true
        hash = FollowingHash(recordingIn: log)
        state = Mutex(Contents(file: file))
    }

    deinit { abandon() }

    /// Keeps a partial file after its transfer was interrupted, for `DiskStorage.takePartial`, with a checkpoint of all
    /// its bytes. Does nothing for an ordinary file. Blocks while the remaining bytes are hashed.
    package func keep() {
        state.withLock { state in
            guard isPartial, state.hasName, state.published == nil else { return }
            // On a full disk, the bytes that are already in the file are kept.
            bestEffort { try flush(&state) }
            state.pending = nil
            guard hash?.conclude() == true else { return removeName(&state) }
            state.isKept = true
            // The lock is released now, because this object may live a little longer.
            FileLock.release(byte: 0, of: state.file)
        }
    }

    /// Removes the file's name, for a body that will not be stored or resumed. Its bytes can still be written and read
    /// here. They disappear with this process, however it ends.
    package func abandon() {
        state.withLock { state in
            if state.published == nil, !state.isKept { removeName(&state) }
        }
    }

    private func removeName(_ state: inout Contents) {
        guard state.hasName else { return }
        state.hasName = false
        if isPartial {
            PartialBody.removeFiles(name, in: directory)
        } else {
            directory.unlink(name)
        }
        uncount(&state)
    }

    private func uncount(_ state: inout Contents) {
        directory.partialBytes.subtract(state.counted, ordering: .relaxed)
        state.counted = 0
    }

    /// Restores the file as far as a checkpoint confirms it, and cuts off the rest. Returns false when nothing is
    /// confirmed: a power loss leaves files that end with zeros.
    func restore(_ record: PartialRecord) throws(StorageError) -> Bool {
        try state.withLock { state throws(StorageError) in
            // A complete body leaves no range to request.
            let limit = min(Int64(try state.file.status().st_size), (record.facts.total ?? .max) - 1)
            let usable = record.checkpoints.prefix { $0.length <= limit }
            guard let count = try hash?.confirm(usable, of: state.file.raw), count > 0 else { return false }
            let size = usable[count - 1].length
            try retry("ftruncate", directory.path(name)) { ftruncate(state.file.raw, off_t(size)) }
            try retry("lseek", directory.path(name)) { lseek(state.file.raw, off_t(size), SEEK_SET) }
            try log?.cut(to: record.size(checkpoints: count), last: size)
            state.size = size
            state.written = size
            return true
        }
    }

    /// Appends bytes; may block on the disk. The bytes of a large body may reach the file with a later call. After an
    /// error, `loadWritten` returns what earlier calls appended.
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

    /// Writes all bytes of an ordinary file, whose hash is known, and ends the writing.
    func write(all bytes: [UInt8], _ digest: Digest, synchronize: Bool) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            try bytes.withBytes { bytes throws(StorageError) in try write(bytes, &state) }
            state.size = state.written
            try end(&state, digest, synchronize: synchronize)
            guard bytes.count <= Self.mostKept else { return }
            state.bytes = bytes
            state.file = .closed
        }
    }

    /// The number of bytes up to which a file's bytes are kept in place of its descriptor.
    private static let mostKept = 256 << 10

    /// The length from which bytes are gathered in buffers. A transfer delivers 16 KiB at a time. Writing 200 MB of
    /// them one by one takes 0.11 s on tmpfs, in buffers 0.08 s.
    private static let gatheredFrom: Int64 = 256 << 10

    private func append(_ bytes: UnsafeRawBufferPointer, _ state: inout Contents) throws(StorageError) {
        var rest = bytes
        while !rest.isEmpty {
            if state.pending == nil, state.written >= Self.gatheredFrom { state.pending = BodyBuffer.take() }
            // No buffer is free, so the bytes are written and hashed at once.
            guard let pending = state.pending else {
                try write(rest, &state)
                hash?.take(rest)
                return
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(pending.append(rest)))
            if pending.isFull { try flush(&state) }
        }
    }

    /// Writes the pending buffer and hands it to the hash.
    private func flush(_ state: inout Contents) throws(StorageError) {
        guard let pending = state.pending, pending.count > 0 else { return }
        try write(pending.bytes, &state)
        state.pending = hash?.exchange(pending, endingAt: state.written)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout Contents) throws(StorageError) {
        do throws(StorageError) {
            try state.file.write(bytes)
        } catch {
            // Some of the bytes may be in the file; the next write replaces them.
            lseek(state.file.raw, off_t(state.written), SEEK_SET)
            throw error
        }
        state.written += Int64(bytes.count)
    }

    /// Sets a reader for all bytes as they are hashed. Call it before the first write.
    package func setReader(_ reader: any BodyReader) { hash?.setReader(reader) }

    /// The reader that `setReader` set. After `finish` it has read all bytes.
    package var reader: (any BodyReader)? { hash?.reader }

    /// Ends the writing. With `synchronize`, waits until the bytes are on the disk.
    package func finish(synchronize: Bool) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            guard state.digest == nil, let hash else { return }
            try flush(&state)
            state.pending = nil
            if isPartial { try retry("chmod", directory.path(name)) { fchmod(state.file.raw, 0o444) } }
            try end(&state, hash.finish(), synchronize: synchronize)
        }
    }

    private func end(_ state: inout Contents, _ digest: Digest, synchronize: Bool) throws(StorageError) {
        if synchronize { try Self.synchronize(&state) }
        state.modified = try state.file.status().modified
        state.digest = digest
    }

    /// Waits until the written bytes are on the disk.
    func synchronize() throws(StorageError) {
        try state.withLock { state throws(StorageError) in try Self.synchronize(&state) }
    }

    private static func synchronize(_ state: inout Contents) throws(StorageError) {
        // A file that was closed has been synchronized before, if it was to be.
        if state.isSynchronized || state.bytes != nil { return }
        try state.file.synchronize()
        state.isSynchronized = true
    }

    package var size: Int64 { state.withLock { $0.size } }

    /// The SHA-256 of the bytes; nil before `finish`.
    package var digest: Digest? { state.withLock { $0.digest } }

    /// Returns the SHA-256 of the bytes; throws EINVAL before `finish`.
    package func finishedDigest() throws(StorageError) -> Digest {
        guard let digest else { throw .system(call: "hash", path: directory.path(name), errno: EINVAL) }
        return digest
    }

    /// Moves the file to its object's place and replaces a file with the same bytes. A second call returns the same
    /// object again, because one body may be stored under several keys.
    func publish(fileExtension: ObjectExtension, pixels: PixelFacts?) throws(StorageError) -> StoredObject {
        try state.withLock { state throws(StorageError) in
            if let published = state.published {
                guard directory.objects.exists(published) else {
                    throw .system(call: "publish", path: directory.path(name), errno: ENOENT)
                }
                return published
            }
            let object = try object(state, fileExtension, pixels)
            if isPartial, !directory.isFile(state.file, at: name) {
                // The directory was deleted and recreated, and another body has the name now.
                throw .system(call: "rename", path: directory.path(name), errno: ENOENT)
            }
            do throws(StorageError) {
                try place(object)
            } catch let error where error.isAbsence {
                // The object's folder is missing, or something else is in its place.
                try directory.objects.makeFolder(of: object)
                try place(object)
            }
            state.published = object
            if isPartial { directory.unlink(PartialBody.record(of: name)) }
            uncount(&state)
            return object
        }
    }

    /// Returns the object that `publish` would make of the file for a store; throws EINVAL before `finish`.
    func object(of put: Store.Put) throws(StorageError) -> StoredObject {
        guard let object = put.object(modified: state.withLock { $0.modified }) else { throw isUnfinished }
        return object
    }

    private var isUnfinished: StorageError { .system(call: "publish", path: directory.path(name), errno: EINVAL) }

    private func object(
        _ state: borrowing Contents, _ fileExtension: ObjectExtension, _ pixels: PixelFacts?
    ) throws(StorageError) -> StoredObject {
        guard let digest = state.digest else { throw isUnfinished }
        return StoredObject(
            digest: digest, fileExtension: fileExtension, size: state.size, modified: state.modified, pixels: pixels)
    }

    private func place(_ object: StoredObject) throws(StorageError) {
        try isPartial ? directory.objects.move(name, to: object) : directory.objects.publish(name, as: object)
    }
}

extension StagedObject {
    /// Calls `body` with the bytes written so far, mapped from the file, before or after it is published. Calling
    /// `passed` with a position releases the memory of the bytes before it.
    package func withMappedBytes<Value>(
        _ body: (UnsafeRawBufferPointer, _ passed: @escaping (Int) -> Void) -> Value
    ) throws(StorageError) -> Value {
        if let bytes = state.withLock({ $0.bytes }) { return bytes.withUnsafeBytes { body($0) { _ in } } }
        let (start, count) = try map()
        defer { if let start { munmap(start, count) } }
        return body(UnsafeRawBufferPointer(start: start, count: count)) { position in
            // A later read loads the bytes from the file again. A failure only releases nothing.
            if let start { madvise(start, min(position, count) & ~0xffff, MADV_DONTNEED) }
        }
    }

    /// Returns a copy of the bytes that successful writes appended, even if the disk was too full for all of them.
    package func loadWritten() throws(StorageError) -> [UInt8] {
        try state.withLock { state throws(StorageError) in
            if let bytes = state.bytes { return bytes }
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
