import CSystem
import Glibc
import Synchronization

/// An open cache: its directory, its locks and its connections. Replaced as a whole when the directory is deleted from
/// outside or the index has to be set aside.
final class IndexSession: Sendable {
    /// Bytes of `v1/lock`.
    enum LockByte {
        /// Held while writing.
        static let write: Int64 = 0
        /// Shared by everyone who has the index open; whoever sets a broken index aside takes it alone.
        static let users: Int64 = 1
        /// Held by the one that makes room.
        static let eviction: Int64 = 2
    }

    let directory: CacheDirectory
    /// Nil where the lock file cannot be opened: a directory that can only be read.
    let lock: FileLock?
    let isReadOnly: Bool
    let reader: Mutex<Connection>
    /// Of the index, as it was opened; 0 when it was not to be found.
    let indexNumber: ino_t
    let objectStatuses: ObjectStore.Statuses
    private let openedFlights = Mutex<FileLock?>(nil)
    private let openedWriteLock = Mutex<BoundedLock?>(nil)
    let commits: CommitCount

    init(_ directory: CacheDirectory, readOnly: Bool) throws(StorageError) {
        self.directory = directory
        objectStatuses = ObjectStore.Statuses(directory)
        let writable: Bool
        (lock, writable) = try Self.openLock(directory, readOnly: readOnly)
        commits = CommitCount(lock, isOnNetwork: directory.isOnNetwork)
        if let lock {
            try BoundedLock(lock, .shared, byte: LockByte.users, patience: directory.patience).acquire()
        }
        isReadOnly = !writable
        let connection = try Self.openCurrent(directory, writable ? lock : nil)
        // KiB, in place of 2,000. Look-ups go to one leaf after another: a larger cache saves them no reading.
        try connection.execute("PRAGMA cache_size = -512")
        reader = Mutex(connection)
        indexNumber = directory.indexNumber
    }

    /// Lets the index be set aside, though parts of this process still have it open: what they write to it from now on is
    /// lost.
    func retire() { lock?.release(byte: LockByte.users) }

    /// Takes `retire` back: the index stays.
    func rejoin() throws(StorageError) { _ = try lock?.tryAcquire(.shared, byte: LockByte.users) }

    /// Takes over the flights of the session before, which go on.
    func adoptFlights(of old: IndexSession) {
        let file = old.openedFlights.withLock { $0 }
        openedFlights.withLock { $0 = file }
    }

    /// Whether the directory and the index in it still are those that were opened: what is written to deleted ones is
    /// lost.
    var isInPlace: Bool { directory.isInPlace && directory.indexNumber == indexNumber }

    /// With the lock, which is taken by writers, an index of an older format is made into one of this.
    private static func openCurrent(
        _ directory: CacheDirectory, _ lock: FileLock?
    ) throws(StorageError) -> sending Connection {
        let connection: Connection
        do {
            connection = try openOrCreate(directory, writable: lock != nil)
        } catch .database(_, let code, _) where code & 0xff == 14 && lock != nil && directory.isFull {
            // Where a file cannot be made SQLite tries to read it, and says only that this failed.
            throw .system(call: "open", path: directory.index, errno: ENOSPC)
        }
        guard lock != nil, try connection.integer(userVersion) < Schema.version else { return connection }
        let writing = try openWriteLock(directory)
        try writing.acquire()
        defer { writing.release() }
        try connection.migrate()
        return connection
    }

    /// The lock that writers take in turn.
    func writeLock() throws(StorageError) -> BoundedLock {
        guard !isReadOnly else { throw .readOnly(path: directory.root) }
        return try openedWriteLock.withLock { opened throws(StorageError) in
            if let opened { return opened }
            let lock = try Self.openWriteLock(directory)
            opened = lock
            return lock
        }
    }

    /// On a descriptor of its own: a wait that was given up must not keep the shared lock on the index alive.
    static func openWriteLock(_ directory: CacheDirectory) throws(StorageError) -> BoundedLock {
        let file = FileLock(try directory.open("lock", O_RDWR))
        return BoundedLock(
            file, .exclusive, byte: LockByte.write, patience: directory.patience, holderIsNoted: true)
    }

    /// The file whose bytes are the keys in flight, opened by the first who asks; nil where nothing can be written.
    func flights() throws(StorageError) -> FileLock? {
        if isReadOnly { return nil }
        return try openedFlights.withLock { opened throws(StorageError) in
            if opened == nil { opened = FileLock(try directory.openFile("flights", O_RDWR | O_CREAT, mode: 0o600)) }
            return opened
        }
    }

    /// Another connection for reading: for what takes long.
    func makeReader() throws(StorageError) -> sending Connection {
        try Self.open(directory, writable: !isReadOnly)
    }

    /// A connection for the writer; the reader keeps its own.
    /// `synchronizes`: a commit waits until it is on the disk.
    func makeWriter(synchronizes: Bool) throws(StorageError) -> sending Connection {
        guard !isReadOnly else { throw .readOnly(path: directory.root) }
        let writing: Connection.LogWriting = directory.isOnNetwork ? .single : .gathered(durable: synchronizes)
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
            // Without the lock file nobody can be moving the index aside.
            return (nil, false)
        }
    }

    private static func openOrCreate(
        _ directory: CacheDirectory, writable: Bool
    ) throws(StorageError) -> sending Connection {
        do {
            return try open(directory, writable: writable)
        } catch .database(_, let code, _) where code & 0xff == 14 && writable {
            // SQLITE_CANTOPEN: there is none. Another process may have made it meanwhile.
            if !directory.hasIndex { try create(directory) }
            return try open(directory, writable: true)
        } catch .database(_, let code, _) where code & 0xff == 14 && !directory.hasIndex {
            throw .system(call: "open", path: directory.index, errno: ENOENT)
        }
    }

    /// A connection to an index that is there, checked to be ours.
    static func open(
        _ directory: CacheDirectory, writable: Bool, log writing: Connection.LogWriting = .single
    ) throws(StorageError) -> sending Connection {
        try directory.checkIndexFiles()
        if writable {
            return try checked(
                Connection(path: directory.index, mode: .readWrite, patience: directory.patience, log: writing))
        }
        do {
            return try checked(Connection(path: directory.index, mode: .readOnly, patience: directory.patience))
        } catch .database(_, let code, _) where [8, 14].contains(code & 0xff) && directory.hasIndex {
            // SQLITE_READONLY or SQLITE_CANTOPEN: no shared memory can be made beside the index. Without a log to
            // take in, the file alone is the whole truth.
            if directory.logSize == 0 {
                return try checked(Connection(path: directory.index, mode: .immutable, patience: directory.patience))
            }
            return try checked(IndexCopy.open(directory))
        }
    }

    private static let applicationID = Query("PRAGMA application_id")
    private static let userVersion = Query("PRAGMA user_version")
    private static let tableCount = Query("SELECT count(*) FROM sqlite_schema")

    private static func checked(_ connection: sending Connection) throws(StorageError) -> sending Connection {
        let version = Int(try connection.integer(userVersion))
        if version != Schema.version { try checkFormat(version, connection) }
        if let problem = try connection.schemaProblem(version) {
            throw .corruptIndex(path: connection.path, detail: problem)
        }
        return connection
    }

    private static func checkFormat(_ version: Int, _ connection: Connection) throws(StorageError) {
        guard try connection.integer(applicationID) == Schema.applicationID else {
            // A restore that broke off leaves an empty file; a stranger's database is not empty.
            guard try connection.integer(tableCount) > 0 else {
                throw .corruptIndex(path: connection.path, detail: "it is empty")
            }
            throw .foreignIndex(path: connection.path)
        }
        guard version < Schema.version else {
            throw .newerSchema(path: connection.path, found: version, supported: Schema.version)
        }
        // Older formats can be read as they are.
        guard Schema.migrations[version] != nil else {
            throw .corruptIndex(path: connection.path, detail: "it says that its format is \(version)")
        }
    }
}

extension IndexSession {
    /// Makes an empty index where there is none. Of several processes that do so, one is first.
    static func create(_ directory: CacheDirectory) throws(StorageError) {
        // Another process may be between making `v1` and what is in it.
        try directory.restore()
        try build(directory) { _ in
        } place: { name throws(StorageError) in
            let lock = try openWriteLock(directory)
            try lock.acquire()
            defer { lock.release() }
            // Where there is one, its log may be in use.
            if directory.hasIndex { return }
            // SQLite would replay the log of the index that is gone over the new one.
            for log in CacheDirectory.indexFiles.dropFirst() { try directory.clear(log) }
            try directory.link(name, to: CacheDirectory.indexFiles[0])
        }
    }

    /// Builds an index aside, so that nobody ever sees half of one, fills it, and hands out its name below `v1`.
    static func build(
        _ directory: CacheDirectory, filling: (Connection) throws(StorageError) -> Void,
        place: (String) throws(StorageError) -> Void
    ) throws(StorageError) {
        let name = "tmp/index-\(getpid())-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer {
            for suffix in ["", "-wal", "-shm", "-journal"] { directory.unlink(name + suffix) }
        }
        try write(directory.path(name), withLog: !directory.isOnNetwork, filling)
        // SQLite has closed it: its locks on the file cannot be lost by closing this.
        try directory.openFile(name, O_RDWR).synchronize()
        try place(name)
    }

    /// Nobody else has the file, and a crash leaves it to the sweep of `tmp`: it needs no journal on the disk, and is
    /// waited for once, before it gets its name (a statement at a time it was waited for 54 times).
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
    /// In seconds: how often some process looks for what dead ones left.
    private static let sweepInterval: Int64 = 1800
    /// Where the lock file keeps the time of the last look, behind the counts of reads.
    private static let sweepWord = ReadCounts.words

    /// At the first write of a process: counts the partial bodies, and removes what dead processes left in `tmp`
    /// and sees to the reserve, unless another did so lately.
    func sweep() throws(StorageError) {
        let now = Timestamp.now()
        directory.reapPartials(now: now)
        guard let lock else { return }
        let seconds = now.milliseconds / 1000
        let last = try lock.read(words: Self.sweepWord + 1)[Self.sweepWord]
        // Also when the clock was set back.
        guard last > seconds || last <= seconds - Self.sweepInterval else { return }
        try lock.write(words: [seconds], from: Self.sweepWord)
        directory.reapTemporaries(now: now)
        directory.makeReserve()
    }
}
