import Glibc
import Synchronization

/// An open cache: its directory, its locks and its connections. The session is replaced as a whole when the directory
/// is deleted from outside or the index is set aside.
final class IndexSession: Sendable {
    /// The bytes of `v1/lock` that processes lock.
    enum LockByte {
        /// The write lock: exclusive, held during a write.
        static let write: Int64 = 0
        /// Shared by every process that has the index open. Setting a damaged index aside takes it exclusively.
        static let users: Int64 = 1
        /// Exclusive, held during an eviction.
        static let eviction: Int64 = 2
    }

    let directory: CacheDirectory
    /// The lock file; nil when it cannot be opened, in a directory that this process can only read.
    let lock: FileLock?
    let isReadOnly: Bool
    let reader: Mutex<Connection>
    /// The inode number of the index when it was opened; 0 when it was missing.
    let indexNumber: ino_t
    private let openedFlights = Mutex<FileLock?>(nil)
    private let openedWriteLock = Mutex<BoundedLock?>(nil)
    let commits: CommitCount
    let mark: OwnMark

    init(_ directory: CacheDirectory, readOnly: Bool) throws(StorageError) {
        self.directory = directory
        let writable: Bool
        (lock, writable) = try Self.openLock(directory, readOnly: readOnly)
        commits = CommitCount(lock, isOnNetwork: directory.isOnNetwork)
        mark = OwnMark(lock)
        if let lock {
            try BoundedLock(lock, .shared, byte: LockByte.users, patience: directory.patience).acquire()
        }
        isReadOnly = !writable
        reader = Mutex(try Self.openCurrent(directory, writable ? lock : nil))
        indexNumber = directory.indexNumber
    }

    /// Lets the index be set aside, although parts of this process still have it open. Their later writes are lost.
    func retire() { lock?.release(byte: LockByte.users) }

    /// Undoes `retire` when the index was not replaced.
    func rejoin() throws(StorageError) { _ = try lock?.tryAcquire(.shared, byte: LockByte.users) }

    /// Takes over the lock file of the previous session's flights, which go on.
    func adoptFlights(of old: IndexSession) {
        let file = old.openedFlights.withLock { $0 }
        openedFlights.withLock { $0 = file }
    }

    /// Whether the directory and its index are still those that were opened. Writes to deleted ones are lost.
    var isInPlace: Bool { directory.isInPlace && directory.indexNumber == indexNumber }

    /// Opens the index. With the lock file, which only writers pass, an index of an older format is migrated to this
    /// one.
    private static func openCurrent(
        _ directory: CacheDirectory, _ lock: FileLock?
    ) throws(StorageError) -> sending Connection {
        let connection: Connection
        do {
            connection = try openOrCreate(directory, writable: lock != nil)
        } catch .database(_, let code, _) where code & 0xff == 14 && lock != nil && directory.isFull {
            // If SQLite cannot create a file, it tries to read it, and reports only that error.
            throw .system(call: "open", path: directory.index, errno: ENOSPC)
        }
        guard lock != nil, connection.versionAtOpening < Schema.version else { return connection }
        let writing = try openWriteLock(directory)
        try writing.acquire()
        defer { writing.release() }
        try connection.migrate()
        return connection
    }

    /// Returns the write lock, opened on first use.
    func writeLock() throws(StorageError) -> BoundedLock {
        guard !isReadOnly else { throw .readOnly(path: directory.root) }
        return try openedWriteLock.withLock { opened throws(StorageError) in
            if let opened { return opened }
            let lock = try Self.openWriteLock(directory)
            opened = lock
            return lock
        }
    }

    /// Opens the write lock on a separate descriptor. A wait that was given up must not keep the shared lock on the
    /// index alive.
    static func openWriteLock(_ directory: CacheDirectory) throws(StorageError) -> BoundedLock {
        let file = FileLock(try directory.open("lock", O_RDWR))
        return BoundedLock(
            file, .exclusive, byte: LockByte.write, patience: directory.patience, holderIsNoted: true)
    }

    /// Returns the lock file of flights, one byte a key, opened on first use. Nil in a read-only session.
    func flights() throws(StorageError) -> FileLock? {
        if isReadOnly { return nil }
        return try openedFlights.withLock { opened throws(StorageError) in
            if opened == nil { opened = FileLock(try directory.openFile("flights", O_RDWR | O_CREAT, mode: 0o600)) }
            return opened
        }
    }

    /// Opens another connection for long reads.
    func makeReader() throws(StorageError) -> sending Connection {
        try Self.open(directory, writable: !isReadOnly)
    }

    /// Opens a connection for the writer. With `synchronizes`, a commit waits until it is on the disk.
    func makeWriter(synchronizes: Bool) throws(StorageError) -> sending Connection {
        guard !isReadOnly else { throw .readOnly(path: directory.root) }
        let writing: Connection.LogWriting? = directory.isOnNetwork ? nil : synchronizes ? .durable : .gathered
        let connection = try Self.open(directory, writable: true, log: writing)
        if directory.isOnNetwork {
            try connection.execute("PRAGMA synchronous = \(synchronizes ? "FULL" : "NORMAL")")
        }
        try connection.execute("PRAGMA temp_store = MEMORY")
        connection.watchLog()
        return connection
    }

    private static func openLock(
        _ directory: CacheDirectory, readOnly: Bool
    ) throws(StorageError) -> (FileLock?, writable: Bool) {
        if !readOnly {
            do {
                return (FileLock(try directory.openFile("lock", O_RDWR | O_CREAT, mode: 0o600)), true)
            } catch let error where error.isReadOnly {}
        }
        do {
            return (FileLock(try directory.openFile("lock", O_RDONLY)), false)
        } catch .planted(let path, let kind) {
            throw .planted(path: path, kind: kind)
        } catch {
            // Without the lock file, no process can set the index aside.
            return (nil, false)
        }
    }

    private static func openOrCreate(
        _ directory: CacheDirectory, writable: Bool
    ) throws(StorageError) -> sending Connection {
        do {
            return try open(directory, writable: writable)
        } catch .database(_, let code, _) where code & 0xff == 14 && writable {
            // SQLITE_CANTOPEN: the index is missing. Another process may have created it meanwhile.
            if !directory.hasIndex { try create(directory) }
            return try open(directory, writable: true)
        } catch .database(_, let code, _) where code & 0xff == 14 && !directory.hasIndex {
            throw .system(call: "open", path: directory.index, errno: ENOENT)
        }
    }

    /// Opens a connection to an existing index and checks that it is kf's.
    static func open(
        _ directory: CacheDirectory, writable: Bool, log writing: Connection.LogWriting? = nil
    ) throws(StorageError) -> sending Connection {
        try directory.checkIndexFiles()
        if writable {
            return try checked(
                Connection(path: directory.index, mode: .readWrite, patience: directory.patience, log: writing))
        }
        do {
            return try checked(Connection(path: directory.index, mode: .readOnly, patience: directory.patience))
        } catch .database(_, let code, _) where [8, 14].contains(code & 0xff) && directory.hasIndex {
            // SQLITE_READONLY or SQLITE_CANTOPEN: the shared memory beside the index cannot be created. Without a log,
            // the index file alone is complete.
            if directory.logSize == 0 {
                return try checked(Connection(path: directory.index, mode: .immutable, patience: directory.patience))
            }
            return try checked(IndexCopy.open(directory))
        }
    }

    private static let applicationID = Query("PRAGMA application_id")
    private static let tableCount = Query("SELECT count(*) FROM sqlite_schema")

    private static func checked(_ connection: sending Connection) throws(StorageError) -> sending Connection {
        // Each read by itself would take and release SQLite's lock.
        try connection.reading { () throws(StorageError) in
            let version = try connection.version
            connection.versionAtOpening = version
            if version != Schema.version, version != Schema.tagged { try checkFormat(version, connection) }
            if let problem = try connection.schemaProblem(version) {
                throw .corruptIndex(path: connection.path, detail: problem)
            }
        }
        return connection
    }

    private static func checkFormat(_ version: Int, _ connection: Connection) throws(StorageError) {
        guard try connection.integer(applicationID) == Schema.applicationID else {
            // An interrupted restore leaves an empty database; another program's database has tables.
            guard try connection.integer(tableCount) > 0 else {
                throw .corruptIndex(path: connection.path, detail: "it is empty")
            }
            throw .foreignIndex(path: connection.path)
        }
        guard version < Schema.version else {
            throw .newerSchema(path: connection.path, found: version, supported: Schema.tagged)
        }
        // Older formats can be read as they are.
        guard Schema.migrations[version] != nil else {
            throw .corruptIndex(path: connection.path, detail: "unknown format version \(version)")
        }
    }
}

extension IndexSession {
    /// Creates an empty index where there is none. Of several processes that do so, only the first succeeds in placing
    /// its own.
    static func create(_ directory: CacheDirectory) throws(StorageError) {
        // Another process may have created `v1` but not its contents yet.
        try directory.restore()
        try build(directory) { _ in
        } place: { name throws(StorageError) in
            let lock = try openWriteLock(directory)
            try lock.acquire()
            defer { lock.release() }
            // The log of an existing index may be in use.
            if directory.hasIndex { return }
            // SQLite would replay the log of a deleted index over the new one.
            for log in CacheDirectory.indexFiles.dropFirst() { try directory.clear(log) }
            try directory.link(name, to: CacheDirectory.indexFiles[0])
        }
    }

    /// Builds an index in `tmp`, so that no process sees an incomplete one, and fills it. Passes its name below `v1` to
    /// `place`.
    static func build(
        _ directory: CacheDirectory, filling: (Connection) throws(StorageError) -> Void,
        place: (String) throws(StorageError) -> Void
    ) throws(StorageError) {
        let name = "tmp/index-\(getpid())-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { directory.unlink(name + suffix) }
        }
        try write(directory.path(name), withLog: !directory.isOnNetwork, filling)
        // SQLite has closed the file, so closing this descriptor drops none of its locks.
        try directory.openFile(name, O_RDWR).synchronize()
        try place(name)
    }

    /// Creates and fills the index file. It needs no journal on the disk: no other process has it, and after a crash
    /// the sweep of `tmp` removes it. It is synchronized once, before it gets its name, instead of 54 times statement
    /// by statement.
    private static func write(
        _ path: String, withLog: Bool, _ fill: (Connection) throws(StorageError) -> Void
    ) throws(StorageError) {
        let connection = try Connection(path: path, mode: .create)
        try connection.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF")
        try connection.execute("BEGIN; \(Schema.creation) COMMIT")
        try fill(connection)
        if withLog { try connection.execute("PRAGMA journal_mode = WAL") }
    }
}

extension IndexSession {
    /// The files in `tmp` that dead processes left.
    ///
    /// A process writes there only while it has the index open. On a network file system, locks may not reach the other
    /// machines, and the age alone counts.
    var leftovers: [String] {
        guard let lock, !isReadOnly, !directory.isOnNetwork,
            bestEffort({ try lock.tryAcquire(.exclusive, byte: LockByte.users) }) == true
        else { return directory.leftovers(now: .now(), isAlone: false) }
        // The exclusive lock becomes shared again. Without that, the index could be set aside.
        defer { bestEffort { try rejoin() } }
        return directory.leftovers(now: .now(), isAlone: true)
    }

    /// Removes what dead processes left in `tmp`.
    func reapTemporaries() {
        directory.reapAside()
        leftovers.forEach(directory.unlink)
    }

    /// The interval in seconds between sweeps for files of dead processes, over all processes.
    private static let sweepInterval: Int64 = 1800
    /// The word of the lock file with the time of the last sweep, after the counts of reads.
    private static let sweepWord = ReadCounts.words

    /// Runs at the first write of a process. Counts the partial bodies and removes old ones. Then, unless another
    /// process did so in the last 30 minutes, removes files of dead processes from `tmp` and shortens a reserve that has become
    /// too large.
    func sweep() throws(StorageError) {
        let now = Timestamp.now()
        directory.reapPartials(now: now)
        guard let lock else { return }
        let seconds = now.milliseconds / 1000
        let last = try lock.read(words: Self.sweepWord + 1)[Self.sweepWord]
        // A time in the future means that the clock was set back.
        guard last > seconds || last <= seconds - Self.sweepInterval else { return }
        try lock.write(words: [seconds], from: Self.sweepWord)
        reapTemporaries()
        directory.shrinkReserve(stored: try reader.withLock { reader throws(StorageError) in try reader.storedSize() })
    }
}
