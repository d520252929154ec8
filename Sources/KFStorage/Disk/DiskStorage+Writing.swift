import Glibc
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
        try checkSize(staged.size)
        do {
            return try await publish(staged, key, facts, urgent: urgent)
        } catch .system(_, _, ENOENT) {
            // The file went with the directory, or was stored under another key and evicted; its bytes are still open.
            // (This blocks where the caller is, once in the life of a directory.)
            _ = try remake()
            return try await publish(try stage(copy: staged), key, facts, urgent: urgent)
        }
    }

    private func stage(copy staged: StagedObject) throws(StorageError) -> StagedObject {
        let bytes = try staged.loadWritten()
        let result = bytes.withUnsafeBytes { bytes in Result { () throws(StorageError) in try stage(bytes) } }
        return try result.get()
    }

    private func publish(
        _ staged: StagedObject, _ key: EntryKey, _ facts: EntryFacts, urgent: Bool
    ) async throws(StorageError) -> Entry? {
        let directory = staged.directory
        let synchronizes = configuration.synchronizes
        let now = now()
        let stored = Mutex<Entry?>(nil)
        let added = Mutex<StoredObject?>(nil)
        let result: Result<Void, StorageError> = await withUnsafeContinuation { continuation in
            writer.submit(urgent: urgent) { connection throws(StorageError) in
                if try connection.isOutdated(key, madeFrom: facts.original) { return }
                let known = try staged.digest.flatMap { digest throws(StorageError) in try connection.object(digest) }
                let object = try staged.publish(
                    fileExtension: known?.fileExtension ?? ObjectExtension(facts.fileExtension) ?? .unknown,
                    pixels: facts.pixels)
                if known == nil { added.withLock { $0 = object } }
                // The name of a file is not on the disk when its bytes are.
                if synchronizes { try directory.synchronizeFolder(of: object) }
                let (entry, unused) = try connection.put(key, facts, object: object, known: known, now: now)
                for object in try unused + connection.trimRepresentations(of: key) {
                    try Self.remove(object, connection, directory)
                }
                stored.withLock { $0 = entry }
            } undo: {
                // A file that no row knows would lie there until the next sweep.
                if let object = added.withLock({ $0 }) { directory.unlink(object.file) }
            } completion: { result in
                continuation.resume(returning: result)
            }
        }
        try result.get()
        return stored.withLock { $0 }
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

    static func remove(row: Int64, _ connection: Connection, _ directory: CacheDirectory) throws(StorageError) {
        for unused in try connection.removeEntry(row: row) { try remove(unused, connection, directory) }
    }

    /// First the file, then the row: a crash between them leaves a row without a file, which is a miss that heals.
    static func remove(
        _ unused: UnusedObject, _ connection: Connection, _ directory: CacheDirectory
    ) throws(StorageError) {
        if let object = unused.object { try directory.clear(object.file) }
        try connection.forgetObject(row: unused.row)
    }

    private func checkSize(_ size: Int64) throws(StorageError) {
        guard configuration.sizeLimit == 0 || size <= configuration.sizeLimit else {
            throw .objectTooLarge(size: size, limit: configuration.sizeLimit)
        }
    }
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
