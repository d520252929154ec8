import KFSystem
import Synchronization

extension DiskStorage {
    /// A new file to write an object into.
    package func stage() throws(StorageError) -> StagedObject {
        guard !isReadOnly else { throw .readOnly(path: path) }
        return try remaking { () throws(StorageError) in
            let directory = session.directory
            return try directory.restoring { () throws(StorageError) in try StagedObject(directory) }
        }
    }

    /// A staged file with these bytes, ready to be stored.
    package func stage(_ bytes: UnsafeRawBufferPointer) throws(StorageError) -> StagedObject {
        let staged = try stage()
        try staged.write(bytes)
        try staged.finish(synchronize: configuration.synchronizes)
        return staged
    }

    /// For a body that came piece by piece: it is on the disk before it is stored, where that is waited for. Blocks.
    package func settle(_ staged: StagedObject) throws(StorageError) {
        if configuration.synchronizes { try staged.synchronize() }
    }

    /// Removes this process's files in `tmp`; what was being written cannot be published any more.
    package func discardTemporaries() {
        guard !isReadOnly else { return }
        session.directory.removeOwnTemporaries()
    }

    /// Publishes a finished staged object under a key. Returns after the commit, with the entry; nil when it was made
    /// from an original that has been replaced meanwhile.
    /// `urgent` commits at once; otherwise the commit may wait some milliseconds for others.
    package func store(
        _ staged: StagedObject, for key: EntryKey, _ facts: EntryFacts, urgent: Bool
    ) async throws(StorageError) -> Entry? {
        try await carryOut([.store(staged, key, facts)], urgent: urgent)[0]
    }

    /// The last store has passed the limit: `evictIfNeeded` is due.
    package var isOverLimit: Bool {
        let partial = session.directory.partialBytes.load(ordering: .relaxed)
        let size = writer.storedSize.load(ordering: .relaxed).adding(saturating: max(0, partial))
        return sizeLimit > 0 && size > sizeLimit
    }

    /// Ends the use: commits what waits, and writes access times and counts unless another process is writing.
    package func close() {
        if session.isReadOnly { return }
        // A long log costs everyone who opens the index; folding a short one costs this process more than that.
        writer.flush(truncating: session.directory.logSize > Self.longLog)
        let log = reads.withLock { log in
            let taken = log
            log = ReadLog()
            return taken
        }
        guard !log.isEmpty, let lock = session.lock else { return }
        // Lower bounds, and dropped when that would mean waiting: a hit must stay as cheap as reading.
        _ = Result { () throws(StorageError) in
            guard try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.write) else { return }
            defer { lock.release(byte: IndexSession.LockByte.write) }
            try log.counts.add(to: lock)
            guard !log.touches.isEmpty else { return }
            try session.reader.withLock { connection throws(StorageError) in try connection.write(log.touches) }
        }
    }

    /// In bytes.
    private static let longLog: Int64 = 1 << 20
}

/// What a removal took away.
public struct Removal: Sendable, Equatable {
    /// How many.
    public private(set) var entries = 0
    /// Of their images; what others share counts for each.
    public private(set) var bytes: Int64 = 0
    /// How many partial downloads.
    public private(set) var partials = 0
    /// Of the partial downloads.
    public private(set) var partialBytes: Int64 = 0

    /// Whether nothing went.
    public var isEmpty: Bool { entries == 0 && partials == 0 }

    package init() {}

    mutating func add(_ entry: Entry) { add(entries: 1, bytes: entry.object.size) }

    mutating func add(entries: Int, bytes: Int64) {
        self.entries += entries
        self.bytes = self.bytes.adding(saturating: bytes)
    }

    mutating func add(_ sum: PartialSum) {
        partials += sum.count
        partialBytes = partialBytes.adding(saturating: sum.bytes)
    }

    package mutating func add(_ other: Removal) {
        add(entries: other.entries, bytes: other.bytes)
        partials += other.partials
        partialBytes = partialBytes.adding(saturating: other.partialBytes)
    }
}
