import Dispatch
import Glibc
import Synchronization

/// The disk cache: keys, bytes and dates, shared by any number of processes. Kingfisher's `DiskStorage`.
///
/// Calls block on files, locks and SQLite. They belong on a `WorkerPool`, never on the cooperative thread pool.
package final class DiskStorage: Sendable {
    package typealias Eviction = (((EntryName) -> Void)?) throws(StorageError) -> Removal

    package struct Configuration: Sendable {
        /// The path of the cache directory. A missing directory is created, unless `access` forbids it.
        package var path: String
        package var access = CacheDirectory.Access.create
        package var readOnly = false
        /// Whether a directory that belongs to another user is accepted.
        package var trustsOwner = false
        /// The size limit in bytes of objects; 0 disables it.
        package var sizeLimit: Int64 = 5 << 30
        /// Whether a store waits until its object and its commit are on the disk.
        package var synchronizes = false
        /// Whether every object is hashed when it is opened.
        package var verifies = false
        /// Whether the directory is on a network file system; nil asks the file system.
        package var isOnNetwork: Bool?
        package var clock = CacheClock.system
        /// The time limits for waiting for other processes.
        package var patience = Patience()
        /// The delay before `writeReadsSoon` writes access times, expiries and counts.
        var touchDelay = DispatchTimeInterval.seconds(5)
        /// Receives messages for the user, for example that a damaged index was set aside.
        package var notice: @Sendable (String) -> Void = { _ in }
        /// Runs each eviction because of the limit, and may pass a receiver of the removed entries' names.
        package var evicting: @Sendable (Eviction) throws(StorageError) -> Removal = { body throws(StorageError) in
            try body(nil)
        }

        package init(path: String) { self.path = path }
    }

    let configuration: Configuration
    private let limit: Atomic<Int64>
    private let open: Mutex<Parts>
    let reads = Mutex(ReadLog())
    let own = Mutex(OwnEntries())
    let flights = Mutex(FlightTable())
    /// The number of evictions in this process because the limit was exceeded.
    let evictions = Atomic<Int>(0)

    /// Opens the cache. A damaged index is set aside and rebuilt from the entries that can be read.
    package init(_ configuration: Configuration) throws(StorageError) {
        self.configuration = configuration
        limit = Atomic(configuration.sizeLimit)
        open = Mutex(try Parts(configuration))
    }

    /// The session and the writer of one opening of the directory.
    private struct Parts: Sendable {
        let session: IndexSession
        let writer: IndexWriter
        /// Whether this directory replaced one that was deleted from outside.
        let isRemade: Bool
        /// The number of times that a damaged index was rebuilt.
        let heals: Int

        init(_ configuration: Configuration, isRemade: Bool = false, heals: Int = 0) throws(StorageError) {
            (self.isRemade, self.heals) = (isRemade, heals)
            session = try DiskStorage.open(configuration)
            writer = IndexWriter(session, synchronizes: configuration.synchronizes)
        }
    }

    var session: IndexSession { open.withLock { $0.session } }
    var writer: IndexWriter { open.withLock { $0.writer } }
    /// The writer and the inode number of its index, read together.
    var writerAndIndex: (IndexWriter, UInt) { open.withLock { ($0.writer, $0.session.indexNumber) } }

    func read<Value>(
        _ body: (Connection) throws(StorageError) -> sending Value
    ) throws(StorageError) -> sending Value {
        try session.reader.withLock { connection throws(StorageError) in try body(connection) }
    }

    /// Runs `body`. If the directory was deleted from outside meanwhile, recreates it and runs `body` once more.
    func remaking<Value: ~Copyable>(
        _ body: () throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        do {
            return try body()
        } catch .system(let call, let path, ENOENT) {
            guard try remake() else { throw .system(call: call, path: path, errno: ENOENT) }
            return try body()
        }
    }

    /// Recreates a directory that was deleted from outside, and opens it again. Returns whether the caller should try
    /// again, which includes that another thread has already recreated the directory.
    func remake() throws(StorageError) -> Bool {
        try open.withLock { parts throws(StorageError) in
            if parts.session.isInPlace { return parts.isRemade || parts.heals > 0 }
            guard configuration.access == .create else { return false }
            parts = try Parts(configuration, isRemade: true, heals: parts.heals)
            return true
        }
    }

    /// Whether the directory is still there. One that was deleted from outside is recreated if the configuration allows
    /// it. Without this check, the open index of a deleted directory answers as if nothing had happened.
    package func recover() throws(StorageError) -> Bool {
        if session.isInPlace { return true }
        return try remake()
    }

    /// The limit on rebuilds in one process. Without it, a disk that damages its data would cause rebuilds without end.
    private static let mostHeals = 3

    /// Runs `body`. If it finds the index damaged, rebuilds the index and runs `body` once more.
    package func healing<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        let number = indexNumber
        do {
            return try body()
        } catch .corruptIndex(let path, let detail) {
            guard try heal(index: number) else { throw .corruptIndex(path: path, detail: detail) }
            return try body()
        }
    }

    /// Rebuilds the damaged index that has this number, unless another thread has already replaced it. Returns false
    /// when the cache is read-only or has already been rebuilt 3 times. Blocks.
    package func heal(index number: UInt) throws(StorageError) -> Bool {
        try open.withLock { parts throws(StorageError) in
            if parts.session.indexNumber != number { return true }
            guard !parts.session.isReadOnly, parts.heals < Self.mostHeals else { return false }
            let old = parts.session
            old.retire()
            do throws(StorageError) {
                try Self.replaceIndex(configuration) { $0.indexNumber == number }
                parts = try Parts(configuration, isRemade: parts.isRemade, heals: parts.heals + 1)
            } catch {
                try old.rejoin()
                throw error
            }
            parts.session.adoptFlights(of: old)
            return true
        }
    }

    /// The inode number of the index; it differs from that of a rebuilt index.
    package var indexNumber: UInt { session.indexNumber }

    package var directory: CacheDirectory { session.directory }
    package var path: String { session.directory.root }
    package var isReadOnly: Bool { session.isReadOnly }
    /// The size limit in bytes of objects; 0 disables it. A change takes effect at the next store.
    package var sizeLimit: Int64 {
        get { limit.load(ordering: .relaxed) }
        set { limit.store(newValue, ordering: .relaxed) }
    }
    package var patience: Patience { configuration.patience }

    /// A counter that grows with each commit of another process.
    package var commitsOfOthers: Int64 { session.commits.others }

    func now() -> Timestamp { configuration.clock.now() }

    private static func open(_ configuration: Configuration) throws(StorageError) -> IndexSession {
        let directory = try directory(configuration)
        do {
            return try directory.sparing { () throws(StorageError) in
                try IndexSession(directory, readOnly: configuration.readOnly)
            }
        } catch .corruptIndex where !configuration.readOnly {
            try repair(configuration)
            return try IndexSession(directory, readOnly: false)
        } catch .system(_, let path, ENOENT) where path == directory.index && !configuration.readOnly {
            // The directory has no index, and this process cannot create one there.
            throw .readOnly(path: directory.root)
        }
    }

    /// Replaces an index that SQLite cannot read or finds damaged. The new one keeps all entries that can be read.
    /// Waits until no other process has the index open.
    package static func repair(_ configuration: Configuration) throws(StorageError) {
        try replaceIndex(configuration, if: BrokenIndex.isMalformed)
    }

    /// Replaces the index even if SQLite finds no damage, because its rows have been found damaged.
    package static func rebuild(_ configuration: Configuration) throws(StorageError) {
        try replaceIndex(configuration) { _ in true }
    }

    private static func replaceIndex(
        _ configuration: Configuration, if isDamaged: (CacheDirectory) throws(StorageError) -> Bool
    ) throws(StorageError) {
        let directory = try directory(configuration)
        guard let done = try BrokenIndex.replace(directory, if: isDamaged) else { return }
        let rest =
            done.kept == 0 ? "the cache starts empty" : "\(done.kept) of its entries could be read and are kept"
        configuration.notice("the index of \(directory.root) was damaged; it was moved to \(done.aside), and \(rest)")
    }

    private static func directory(_ configuration: Configuration) throws(StorageError) -> CacheDirectory {
        try CacheDirectory(
            path: configuration.path, access: configuration.access, trustsOwner: configuration.trustsOwner,
            heals: !configuration.readOnly, isOnNetwork: configuration.isOnNetwork, patience: configuration.patience)
    }
}

/// The limits of a disk cache. Kingfisher's `DiskStorage.Config`.
public struct DiskStorageConfig: Sendable, Equatable {
    /// The size limit in bytes of files; 0 disables it (default 5 GiB).
    public var sizeLimit: Int64
    /// How long an image stays fresh when neither its options nor its store call say otherwise (default 7 days).
    public var expiration: StorageExpiration

    /// Creates a configuration; the defaults are 5 GiB and 7 days.
    public init(sizeLimit: Int64 = 5 << 30, expiration: StorageExpiration = .days(7)) {
        self.sizeLimit = sizeLimit
        self.expiration = expiration
    }
}

extension DiskStorage {
    /// Returns whether the file of an entry has the size and the modification time that the index records. If they
    /// differ, or if `verifies` is set, hashes its bytes instead. Removes a damaged entry, as `open` does.
    package func isWhole(_ entry: Entry) -> Bool {
        !configuration.verifies && session.directory.objects.isWhole(entry.object) || hashesRight(entry)
    }

    /// Marks fresh entries as unusable when their files are damaged or missing. Checking size and time is one system
    /// call an entry; doubtful files are hashed on all processors.
    func keepWhole(_ entries: inout [IndexedEntry]) {
        var doubtful: [(index: Int, entry: Entry)] = []
        let objects = session.directory.objects
        // The folders in which a whole file was found: they need no further check.
        var checked = [Bool](repeating: false, count: 256)
        for index in entries.indices {
            guard case .fresh(let entry) = entries[index] else { continue }
            let folder = Int(clamping: entry.object.folderNumber)
            if !configuration.verifies, objects.isWhole(entry.object, isChecked: checked[folder]) {
                checked[folder] = true
            } else {
                doubtful.append((index, entry))
            }
        }
        if doubtful.isEmpty { return }
        let suspects = doubtful
        let broken = Mutex<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: suspects.count) { number in
            let (index, entry) = suspects[number]
            if !hashesRight(entry) { broken.withLock { $0.append(index) } }
        }
        for index in broken.withLock({ $0 }) { entries[index] = .unusable }
    }

    /// Hashes an entry's file. A file that cannot be read counts as missing.
    private func hashesRight(_ entry: Entry) -> Bool {
        bestEffort { try open(entry) != nil } ?? false
    }
}
