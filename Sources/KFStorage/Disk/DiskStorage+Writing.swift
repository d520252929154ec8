import KFSystem
import Synchronization

extension DiskStorage {
    /// Creates a file to write an object into.
    package func stage() throws(StorageError) -> StagedObject {
        guard !isReadOnly else { throw .readOnly(path: path) }
        return try remaking { () throws(StorageError) in
            let directory = session.directory
            return try directory.restoring { () throws(StorageError) in try StagedObject(directory) }
        }
    }

    /// Creates a staged file with these bytes, ready to be stored. `digest` is their hash, if it is known.
    package func stage(
        _ bytes: UnsafeRawBufferPointer, _ digest: Digest? = nil
    ) throws(StorageError) -> StagedObject {
        let staged = try stage()
        try staged.write(all: bytes, digest ?? SHA256.hash(bytes), synchronize: configuration.synchronizes)
        return staged
    }

    /// Returns the order that stores bytes under a key. Blocks.
    ///
    /// They are written to `tmp` unless an object has their hash and their length. The order then only links it, and
    /// writes the bytes if the object is not whole.
    package func order(
        _ bytes: [UInt8], _ key: EntryKey, _ facts: EntryFacts
    ) throws(StorageError) -> IndexOrder {
        try bytes.withUnsafeBytes { buffer in
            Result { () throws(StorageError) in
                let digest = SHA256.hash(buffer)
                let object = StoredObject(
                    digest: digest, fileExtension: ObjectExtension(facts), size: Int64(buffer.count), modified: 0)
                if !isReadOnly, !facts.rewrites,
                    let status = session.directory.objects.status(of: object), Int64(status.st_size) == object.size
                {
                    return .link(HashedBytes(bytes: bytes, digest: digest), key, facts)
                }
                return .store(try stage(buffer, digest), key, facts)
            }
        }.get()
    }

    /// Waits until a body that was written in parts is on the disk, if `synchronizes` is set. Call it before the store.
    /// Blocks.
    package func settle(_ staged: StagedObject) throws(StorageError) {
        if configuration.synchronizes { try staged.synchronize() }
    }

    /// Removes this process's files in `tmp`. An object that is being written can no longer be published.
    package func discardTemporaries() {
        guard !isReadOnly else { return }
        session.directory.removeOwnTemporaries()
    }

    /// Whether the last store exceeded the limit, so that `evictIfNeeded` is due.
    package var isOverLimit: Bool {
        let partial = session.directory.partialBytes.load(ordering: .relaxed)
        let size = writer.storedSize.load(ordering: .relaxed).adding(saturating: max(0, partial))
        return sizeLimit > 0 && size > sizeLimit
    }

    /// Closes the cache: commits what is queued, and writes access times and counts unless another process is writing.
    package func close() {
        if session.isReadOnly { return }
        // Every process that opens the index pays for a long log. A checkpoint of a short one costs this process more
        // than that.
        writer.flush(truncating: session.directory.logSize > Self.longLog)
        let log = reads.withLock { log in
            let taken = log
            log = ReadLog()
            return taken
        }
        guard !log.isEmpty, let lock = session.lock else { return }
        // Counts are lower bounds. They are dropped rather than waited for, because a hit must cost no more than
        // reading.
        bestEffort {
            guard try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.write) else { return }
            defer { lock.release(byte: IndexSession.LockByte.write) }
            try log.counts.add(to: lock)
            guard !log.touches.isEmpty else { return }
            try session.reader.withLock { connection throws(StorageError) in try connection.write(log.touches) }
        }
    }

    /// The log size from which closing runs a checkpoint, in bytes.
    private static let longLog: Int64 = 1 << 20
}

/// The entries and partial downloads that a removal removed.
public struct Removal: Sendable, Equatable {
    /// The number of entries.
    public private(set) var entries = 0
    /// The bytes of the entries' images; a file that several entries share counts for each.
    public private(set) var bytes: Int64 = 0
    /// The number of partial downloads.
    public private(set) var partials = 0
    /// The bytes of the partial downloads.
    public private(set) var partialBytes: Int64 = 0

    /// Whether nothing was removed.
    public var isEmpty: Bool { entries == 0 && partials == 0 }

    package init() {}

    mutating func add(_ entry: Entry) { add(entries: 1, bytes: entry.object.size) }

    mutating func add(entries: Int, bytes: Int64) {
        self.entries += entries
        self.bytes = self.bytes.adding(saturating: bytes)
    }

    package mutating func add(_ sum: PartialSum) {
        partials += sum.count
        partialBytes = partialBytes.adding(saturating: sum.bytes)
    }

    package mutating func add(_ other: Removal) {
        add(entries: other.entries, bytes: other.bytes)
        partials += other.partials
        partialBytes = partialBytes.adding(saturating: other.partialBytes)
    }
}
