import Dispatch
import Glibc
import Synchronization

/// The cache on disk, shared by any number of processes: keys, bytes and dates. Kingfisher's `DiskStorage`.
///
/// Calls block on files, locks and SQLite: they belong on a `WorkerPool`, never on the cooperative pool.
package final class DiskStorage: Sendable {
    package struct Configuration: Sendable {
        /// The directory; made when it is missing, unless `access` says otherwise.
        package var path: String
        package var access = CacheDirectory.Access.create
        package var readOnly = false
        /// A directory that belongs to another user is accepted.
        package var trustsOwner = false
        /// In bytes of objects; 0 is no limit.
        package var sizeLimit: Int64 = 5 << 30
        /// Objects and commits are waited for until they are on the disk.
        package var synchronizes = false
        /// Every object is hashed when it is opened.
        package var verifies = false
        /// Whether several machines share the directory; nil asks the file system.
        package var isOnNetwork: Bool?
        package var clock = CacheClock.system
        /// How long calls wait for other processes.
        package var patience = Patience()
        /// After this time, what reading has changed is written.
        var touchDelay = DispatchTimeInterval.seconds(5)
        /// Told what a person should know, such as that a broken index was set aside.
        package var notice: @Sendable (String) -> Void = { _ in }

        package init(path: String) { self.path = path }
    }

    let configuration: Configuration
    private let limit: Atomic<Int64>
    private let open: Mutex<Parts>
    let reads = Mutex(ReadLog())
    let flights = Mutex(FlightTable())
    /// How often this process has evicted because the limit was passed.
    let evictions = Atomic<Int>(0)

    /// Opens the cache; a broken index is set aside and an empty one takes its place.
    package init(_ configuration: Configuration) throws(StorageError) {
        self.configuration = configuration
        limit = Atomic(configuration.sizeLimit)
        open = Mutex(try Parts(configuration))
    }

    /// What belongs to one opening of the directory.
    private struct Parts: Sendable {
        let session: IndexSession
        let writer: IndexWriter
        /// The directory was deleted from outside, and this is the one that took its place.
        var isRemade = false
        /// How often the index was found damaged, and rebuilt.
        var heals = 0

        init(_ configuration: Configuration) throws(StorageError) {
            session = try DiskStorage.open(configuration)
            writer = IndexWriter(session, synchronizes: configuration.synchronizes)
        }
    }

    var session: IndexSession { open.withLock { $0.session } }
    var writer: IndexWriter { open.withLock { $0.writer } }
    /// The writer with the number of its index.
    var writerAndIndex: (IndexWriter, UInt) { open.withLock { ($0.writer, $0.session.indexNumber) } }

    /// Runs `body`; if the directory was deleted from outside meanwhile, once more in one made anew.
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

    /// False when there is nothing to make anew. True also when another thread has just done it.
    func remake() throws(StorageError) -> Bool {
        try open.withLock { parts throws(StorageError) in
            if parts.session.isInPlace { return parts.isRemade || parts.heals > 0 }
            guard configuration.access == .create else { return false }
            let heals = parts.heals
            parts = try Parts(configuration)
            parts.isRemade = true
            parts.heals = heals
            return true
        }
    }

    /// A disk that damages what it is given would be written to without end.
    private static let mostHeals = 3

    /// Runs `body`; when it finds the index damaged, once more on a rebuilt one.
    package func healing<Value>(_ body: () throws(StorageError) -> Value) throws(StorageError) -> Value {
        let number = indexNumber
        do {
            return try body()
        } catch .corruptIndex(let path, let detail) {
            guard try heal(index: number) else { throw .corruptIndex(path: path, detail: detail) }
            return try body()
        }
    }

    /// Rebuilds the index of this number, which was found damaged, unless another thread has done it. False when it
    /// cannot be done here, or did not help. Blocks.
    package func heal(index number: UInt) throws(StorageError) -> Bool {
        try open.withLock { parts throws(StorageError) in
            if parts.session.indexNumber != number { return true }
            guard !parts.session.isReadOnly, parts.heals < Self.mostHeals else { return false }
            let old = parts.session
            let next = (heals: parts.heals + 1, isRemade: parts.isRemade)
            old.retire()
            do throws(StorageError) {
                try Self.replaceIndex(configuration) { $0.indexNumber == number }
                parts = try Parts(configuration)
            } catch {
                try old.rejoin()
                throw error
            }
            (parts.heals, parts.isRemade) = next
            parts.session.adoptFlights(of: old)
            return true
        }
    }

    /// Tells an index from the one that takes its place.
    package var indexNumber: UInt { session.indexNumber }

    package var directory: CacheDirectory { session.directory }
    package var path: String { session.directory.root }
    package var isReadOnly: Bool { session.isReadOnly }
    /// In bytes of objects; 0 is no limit. A change is obeyed by the next store.
    package var sizeLimit: Int64 {
        get { limit.load(ordering: .relaxed) }
        set { limit.store(newValue, ordering: .relaxed) }
    }
    package var patience: Patience { configuration.patience }

    /// Grows with each commit of another process.
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
            // A cache without an index, where none can be made.
            throw .readOnly(path: directory.root)
        }
    }

    /// Puts a new index in the place of one that SQLite cannot read or finds fault with, with all that can be read of it.
    /// Whoever else has it open is waited for.
    package static func repair(_ configuration: Configuration) throws(StorageError) {
        try replaceIndex(configuration, if: BrokenIndex.isMalformed)
    }

    /// The same, whatever SQLite says of it: its rows have been found damaged.
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

/// What a disk cache may hold, and for how long. Kingfisher's `DiskStorage.Config`.
public struct DiskStorageConfig: Sendable, Equatable {
    /// In bytes of files; 0 is no limit.
    public var sizeLimit: Int64
    /// How long an image counts as fresh when its options, or its store, do not say.
    public var expiration: StorageExpiration

    /// 5 GiB, for 7 days.
    public init(sizeLimit: Int64 = 5 << 30, expiration: StorageExpiration = .days(7)) {
        self.sizeLimit = sizeLimit
        self.expiration = expiration
    }
}

extension DiskStorage {
    /// Whether the file of an entry is there with the size and the time that the index says; otherwise, and where every
    /// object is to be hashed, whether its bytes are what was stored. One that is not whole is removed, as by `open`.
    package func isWhole(_ entry: Entry) -> Bool {
        looksWhole(entry) || hashesRight(entry)
    }

    /// Leaves only entries fresh whose files are whole. A look is one system call; what has to be read is read on all
    /// processors.
    func keepWhole(_ entries: inout [IndexedEntry]) {
        var doubtful: [(index: Int, entry: Entry)] = []
        for (index, entry) in entries.enumerated() {
            if case .fresh(let entry) = entry, !looksWhole(entry) { doubtful.append((index, entry)) }
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

    private func looksWhole(_ entry: Entry) -> Bool {
        guard !configuration.verifies, let status = session.objectStatuses.status(of: entry.object) else {
            return false
        }
        return status.isRegularFile && Int64(status.st_size) == entry.object.size
            && status.modified == entry.object.modified
    }

    /// An object that cannot be read is as good as missing.
    private func hashesRight(_ entry: Entry) -> Bool {
        do throws(StorageError) {
            guard let file = try open(entry) else { return false }
            _ = consume file
            return true
        } catch {
            return false
        }
    }
}
