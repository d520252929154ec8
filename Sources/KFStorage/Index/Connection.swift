import CSQLite
import CSystem
import Glibc
import KFSystem
import Synchronization

/// The SQL of a statement that a connection prepares once. Keep it in a `static let`: each gets a permanent number.
final class Query: Sendable {
    private static let count = Atomic<Int>(0)

    let text: String
    let number: Int

    init(_ text: String) {
        self.text = text
        number = Self.count.add(1, ordering: .relaxed).oldValue
    }
}

/// The rows of hosts, or of formats, that were looked up. Successive entries share few of them.
struct LabelRows {
    private var rows: [String: Int64] = [:]
    private var last: (name: String, row: Int64)?

    subscript(_ name: String) -> Int64? {
        if let last, last.name == name { return last.row }
        return rows[name]
    }

    mutating func add(_ name: String, _ row: Int64) {
        // Few processes meet that many hosts; discarded labels are looked up again.
        if rows.count >= 1024 { rows = [:] }
        rows[name] = row
        last = (name, row)
    }
}

/// A connection to the index with its prepared statements. Its owner guards it with a lock: one thread at a time uses
/// it.
final class Connection {
    enum Mode { case readWrite, readOnly, immutable, create }

    /// The VFS that writes all pages of a commit to the write-ahead log in one call. That of SQLite writes each in two.
    enum LogWriting: String {
        case gathered = "kf-log"
        /// The commit waits until the pages are on the disk.
        case durable = "kf-log-durable"
    }

    let path: String
    private let handle: OpaquePointer
    /// The prepared statements by the numbers of their queries.
    private var statements: [Statement?] = []
    /// The number of pages in the log, which SQLite's hook writes at each commit after `watchLog`.
    private let log: UnsafeMutablePointer<Int32>
    /// The running transaction's changes to the sums.
    var tally = Tally()
    /// The number of variants when the running transaction began; nil until it is read.
    var variants: Int64?
    var hostRows = LabelRows()
    var formatRows = LabelRows()

    private let busyWait: BusyWait

    // Must run before SQLite's first use. Its memory statistics would take a lock per allocation.
    private static let isConfigured: Bool =
        kf_disable_memory_statistics() == SQLITE_OK && kf_register_log_vfs() == SQLITE_OK

    init(
        path: String, mode: Mode, patience: Patience = Patience(), log writing: LogWriting? = nil
    ) throws(StorageError) {
        self.path = path
        busyWait = BusyWait(patience)
        _ = Self.isConfigured
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOFOLLOW
        var name = path
        switch mode {
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .immutable:
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file:" + Self.escaped(path) + "?immutable=1"
        }
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(name, &opened, flags, writing?.rawValue)
        guard code == SQLITE_OK, let opened else {
            let error = StorageError(sqlite: code, opened, path)
            sqlite3_close_v2(opened)
            throw error
        }
        handle = opened
        log = .allocate(capacity: 1)
        log.initialize(to: 0)
        busyWait.install(on: opened)
        kf_distrust_schema(opened)
        // Closing must not checkpoint, because that needs the cache's own lock.
        kf_disable_checkpoint_on_close(opened)
        // With FULL, SQLite synchronizes the log at the end of a commit; kf's VFS writes the gathered pages then.
        if writing != nil { try execute("PRAGMA synchronous = FULL") }
    }

    deinit {
        for statement in statements { statement?.finalize() }
        sqlite3_close_v2(handle)
        log.deallocate()
    }

    /// Runs statements that return no rows.
    func execute(_ sql: String) throws(StorageError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw StorageError(sqlite: code, handle, path) }
    }

    /// Returns the query's statement, prepared on first use and kept. Users must leave it reset and without bindings.
    func statement(_ query: Query) throws(StorageError) -> Statement {
        if query.number < statements.count, let known = statements[query.number] { return known }
        let statement = try prepare(query.text, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
        while statements.count <= query.number { statements.append(nil) }
        statements[query.number] = statement
        return statement
    }

    /// Runs a statement that returns no rows.
    func run<each Value: Bindable>(_ query: Query, _ values: repeat each Value) throws(StorageError) {
        let statement = try statement(query)
        statement.bind(repeat each values)
        try statement.run()
    }

    /// Returns what `read` makes of the first row; nil if there is none.
    func first<Result, each Value: Bindable>(
        _ query: Query, _ values: repeat each Value, read: (Statement) throws(StorageError) -> Result?
    ) throws(StorageError) -> Result? {
        let statement = try statement(query)
        defer { statement.reset() }
        statement.bind(repeat each values)
        return try statement.step() ? read(statement) : nil
    }

    /// Returns what `read` makes of each row, without nils.
    func all<Result, each Value: Bindable>(
        _ query: Query, _ values: repeat each Value, read: (Statement) throws(StorageError) -> Result?
    ) throws(StorageError) -> [Result] {
        var found: [Result] = []
        try forEach(query, repeat each values) { row throws(StorageError) in
            if let result = try read(row) { found.append(result) }
        }
        return found
    }

    /// Calls `body` with each row.
    func forEach<each Value: Bindable>(
        _ query: Query, _ values: repeat each Value, body: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) {
        let statement = try statement(query)
        defer { statement.reset() }
        statement.bind(repeat each values)
        while try statement.step() { try body(statement) }
    }

    /// Prepares a statement with variable SQL. The caller must finalize it.
    func temporaryStatement(_ sql: String) throws(StorageError) -> Statement {
        var statement = try prepare(sql, flags: 0)
        statement.isOwn = false
        return statement
    }

    private func prepare(_ sql: String, flags: UInt32) throws(StorageError) -> Statement {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, flags, &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw StorageError(sqlite: code, handle, path) }
        return Statement(handle: prepared, path: path)
    }

    /// Defines an SQL function with one argument. SQLite calls `release` with the context when the function ends.
    func define(
        _ name: String, context: UnsafeMutableRawPointer,
        _ function: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void,
        release: @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) throws(StorageError) {
        let code = sqlite3_create_function_v2(
            handle, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, context, function, nil, nil,
            release)
        guard code == SQLITE_OK else { throw StorageError(sqlite: code, handle, path) }
    }

    /// Discards the tally and the known labels of a transaction that was rolled back.
    func forgetUncommitted() {
        tally = Tally()
        (hostRows, formatRows) = (LabelRows(), LabelRows())
    }

    /// Whether a transaction is open. Some failures make SQLite roll back by itself.
    var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Whether the last statement that ran has changed a row.
    var hasChanged: Bool { sqlite3_changes64(handle) > 0 }

    /// Returns the single integer of a pragma or a count.
    func integer(_ query: Query) throws(StorageError) -> Int64 { try first(query) { $0.int64(0) } ?? 0 }

    private static let userVersion = Query("PRAGMA user_version")

    /// The number of the index's format.
    var version: Int { get throws(StorageError) { Int(try integer(Self.userVersion)) } }

    /// The number of the format when the index was opened and checked.
    var versionAtOpening = Schema.version

    /// Starts updating `logPages`. SQLite then no longer checkpoints by itself.
    func watchLog() {
        sqlite3_wal_hook(
            handle,
            { pages, _, _, count in
                pages?.assumingMemoryBound(to: Int32.self).pointee = count
                return SQLITE_OK
            }, log)
    }

    /// The pages of the write-ahead log after the last commit, including those already checkpointed.
    var logPages: Int { Int(log.pointee) }

    /// Moves pages of the write-ahead log into the database. Never waits: a log in use by others is not an error.
    /// `truncating`: moves all pages and empties the log, under the cache's write lock. Otherwise others continue.
    func checkpoint(truncating: Bool) throws(StorageError) {
        // A truncating checkpoint would wait for readers while all writers wait for the lock.
        busyWait.isAllowed = false
        defer { busyWait.isAllowed = true }
        let mode = truncating ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE
        let code = sqlite3_wal_checkpoint_v2(handle, nil, mode, nil, nil)
        // Busy: a reader still needs the log, or another checkpoint is running. The next writer tries again.
        guard code == SQLITE_OK || code & 0xff == SQLITE_BUSY else { throw StorageError(sqlite: code, handle, path) }
    }

    private static func escaped(_ path: String) -> String {
        path.utf8.reduce(into: "") { text, byte in
            let isPlain = byte < 0x80 && !"?#%".utf8.contains(byte)
            if isPlain { text.unicodeScalars.append(Unicode.Scalar(byte)) } else { text += PercentCoding.encode(byte) }
        }
    }
}

/// The busy handler of a connection: SQLite's waits for its own locks, bounded by a patience. Only the thread that uses
/// the connection uses it.
final class BusyWait {
    /// The back-off between two tries, in microseconds: doubled each time.
    private static let firstPause: UInt32 = 500
    private static let longestPause: UInt32 = 20_000

    private let patience: Patience
    private var start = ContinuousClock.now
    /// Whether SQLite may wait; if not, it reports a lock at once.
    var isAllowed = true

    init(_ patience: Patience) { self.patience = patience }

    /// The connection must not outlive this object.
    func install(on connection: OpaquePointer) {
        sqlite3_busy_handler(
            connection,
            { context, tries in
                guard let context else { return 0 }
                return Unmanaged<BusyWait>.fromOpaque(context).takeUnretainedValue().waits(tries) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Pauses before the next try; returns false when the wait is over. `tries` counts from 0 for each contended lock.
    private func waits(_ tries: Int32) -> Bool {
        guard isAllowed else { return false }
        if tries == 0 { start = .now }
        guard patience.deadline(from: start) > .now else { return false }
        usleep(min(Self.firstPause << UInt32(clamping: min(tries, 10)), Self.longestPause))
        return true
    }
}
