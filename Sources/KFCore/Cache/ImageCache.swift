import Glibc
import KFImaging
import KFStorage
import KFSystem
import Synchronization

/// Images in memory and files on disk. Kingfisher's `ImageCache`.
///
/// The disk part is opened by the first call that needs it. Where nothing can be written, it is left out: `notice` is
/// told once, and everything goes on uncached.
public final class ImageCache: Sendable {
    /// What a cache may do with its directory.
    public enum Access: Sendable {
        /// The directory is made when it is not there.
        case create
        /// A missing directory is an empty cache.
        case existing
        /// As `existing`, and nothing is written, not even access times.
        case readOnly
    }

    /// Where a cache lies and how much it may hold.
    public struct Configuration: Sendable {
        /// Where the disk cache lies; nil keeps images in memory only.
        public var directory: String?
        /// What it may do with the directory.
        public var access = Access.create
        /// Accepts a directory that belongs to another user.
        public var trustsOwner = false
        /// Bytes of files on the disk; 0 is no limit.
        public var diskSizeLimit: Int64 = 5 << 30
        /// How long an image counts as fresh on the disk when its options do not say.
        public var diskExpiration = StorageExpiration.days(7)
        /// Bytes of pixels in memory; nil is a quarter of the machine's, at most 256 MiB.
        public var memoryCostLimit: Int?
        /// How long an image counts as fresh in memory when its options do not say.
        public var memoryExpiration = StorageExpiration.seconds(300)
        /// Directories of caches that are looked into, in this order, after a miss; they are never written to.
        public var lowerLayers: [String] = []
        /// Names a file for the key of an original that neither the cache nor a lower layer has, such as an image that the
        /// program ships with; nil names none. What is no image is a miss. The file is only read. Called on a thread of the
        /// cache's own; SDWebImage's `additionalCachePathBlock`.
        public var additionalCachePath: (@Sendable (_ key: String) -> String?)?
        /// Every file is hashed when it is read; what has changed is a miss.
        public var verifies = false
        /// A store waits until its bytes are on the disk.
        public var synchronizes = false
        /// The longest that a call waits for another process that holds a lock. A store that cannot wait any longer fails
        /// with `cacheIsLocked` (3016), and the image is delivered all the same.
        public var lockTimeout = Duration.seconds(5)
        /// When all waiting for other processes ends, whatever `lockTimeout` says; nil is never.
        package var lockDeadline: ContinuousClock.Instant?
        /// By what expiry is judged; tests put their own in.
        public var clock = CacheClock.system
        /// Told, in words, what a person should know.
        public var notice: @Sendable (String) -> Void = { _ in }

        /// Told after each cleaning that removed something from the disk, also one that a store has brought about; not
        /// when single images are removed. Called on a thread of the cache's own.
        public var didClean: (@Sendable (CacheCleaning) -> Void)?

        /// Told of each image that was given out before it was stored, and could not be stored then. Who waits for the store
        /// (`waitForCache`) finds this in the result instead. Called on a thread of the cache's own. `notice` is told once a
        /// minute for what has the same error code.
        public var didFailToStore: (@Sendable (CacheStoreFailure) -> Void)?

        /// The defaults, in this directory; nil keeps images in memory only.
        public init(directory: String?) { self.directory = directory }

        func storage(readingFrom directory: String, _ patience: Patience) -> DiskStorage.Configuration {
            var storage = DiskStorage.Configuration(path: directory)
            storage.access = .existing
            storage.readOnly = true
            storage.trustsOwner = trustsOwner
            storage.verifies = verifies
            storage.clock = clock
            storage.notice = notice
            storage.patience = patience
            return storage
        }

        var memoryLimit: Int {
            memoryCostLimit ?? min(256 << 20, sysconf(Int32(_SC_PHYS_PAGES)) / 4 * sysconf(Int32(_SC_PAGESIZE)))
        }
    }

    private enum Disk {
        case unopened
        case open(DiskStorage)
        case absent(KingfisherError?)
        /// Another process has it locked; it is tried again after a while.
        case locked(KingfisherError, since: ContinuousClock.Instant)
        case failed(KingfisherError)
    }

    /// A cache that was locked when it was to be opened goes unused for so long.
    private static let lockedSpan = Duration.seconds(60)

    /// As it was given; limits and times may have been changed since.
    let configuration: Configuration
    private let diskSettings: Mutex<DiskStorageConfig>
    private let patience: Patience
    let memory: MemoryStorage<CachedImage>
    let stores = StoresUnderWay()
    /// For calls that block on files and the index.
    let blocking = WorkerPool(label: "kf.cache", width: 4)
    /// Whether there are partial bodies; nil before anybody has looked.
    let partials = Mutex<Bool?>(nil)
    /// Room is being made for bodies that grow.
    let isMakingRoom = Atomic(false)
    /// Something was to be stored where nothing can be written, and `notice` was told so.
    let hasToldReadOnly = Mutex(false)
    /// When `notice` was last told of failed stores, by their error code.
    let toldFailures = Mutex<[Int: Timestamp]>([:])
    private let disk: Mutex<Disk>
    /// The caches that are read after a miss, in order: the lower layers, then the program's own files.
    let layers: [any CacheLayer]

    /// Touches no file: the directory is opened by the first call that needs it.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        diskSettings = Mutex(
            DiskStorageConfig(sizeLimit: configuration.diskSizeLimit, expiration: configuration.diskExpiration))
        let patience = Patience(limit: configuration.lockTimeout, until: configuration.lockDeadline)
        self.patience = patience
        layers =
            configuration.lowerLayers.map { DirectoryLayer(configuration.storage(readingFrom: $0, patience)) }
            + (configuration.additionalCachePath.map { [AdditionalFiles($0, configuration.clock)] } ?? [])
        memory = MemoryStorage(
            configuration: MemoryStorageConfig(
                totalCostLimit: configuration.memoryLimit, expiration: configuration.memoryExpiration),
            clock: configuration.clock)
        disk = Mutex(configuration.directory == nil ? .absent(nil) : .unopened)
    }

    /// The directory that kf uses when none is named: `$KF_CACHE_DIR`, else `$XDG_CACHE_HOME/kf`, else `~/.cache/kf`.
    public static func defaultDirectory(environment: [String: String]) -> String? {
        if let directory = environment["KF_CACHE_DIR"], !directory.isEmpty { return directory }
        // The XDG specification says that a relative path is to be ignored.
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return "\(base)/kf" }
        if let home = environment["HOME"], !home.isEmpty { return "\(home)/.cache/kf" }
        return nil
    }

    /// The same, by this process's environment.
    public static func defaultDirectory() -> String? {
        let pairs = ["KF_CACHE_DIR", "XDG_CACHE_HOME", "HOME"].compactMap { (name: String) in
            getenv(name).map { (name, String(cString: $0)) }
        }
        return defaultDirectory(environment: Dictionary(uniqueKeysWithValues: pairs))
    }

    /// Why nothing can be kept on the disk though there is to be a disk part; nil when all is well. Opens the cache.
    public func diskProblem() async throws(KingfisherError) -> KingfisherError? {
        try await blocking.run { [self] () throws(KingfisherError) in
            let storage = try storage()
            if configuration.access == .readOnly, let directory = configuration.directory {
                return .cacheError(reason: .cacheIsReadOnly(detail: "\(directory) is open for reading only"))
            }
            if let storage {
                return storage.isReadOnly
                    ? .cacheError(reason: .cacheIsReadOnly(detail: "\(storage.path) cannot be written to")) : nil
            }
            return disk.withLock { disk in
                switch disk {
                case .absent(let error): error
                case .locked(let error, _): error
                case .unopened, .open, .failed: nil
                }
            }
        }
    }

    var now: Timestamp { configuration.clock.now() }

    /// The disk part, opened now if need be; nil when there is none. Blocks.
    func storage() throws(KingfisherError) -> DiskStorage? {
        try disk.withLock { disk throws(KingfisherError) in
            if case .locked(_, let since) = disk, since.duration(to: .now) > Self.lockedSpan { disk = .unopened }
            if case .unopened = disk { disk = open() }
            switch disk {
            case .open(let storage): return storage
            case .absent, .locked, .unopened: return nil
            case .failed(let error): throw error
            }
        }
    }

    /// The error of every store when opening the disk part failed: the disk was full, or the cache was locked.
    var storingError: KingfisherError? {
        disk.withLock { disk in
            switch disk {
            case .absent(let error?):
                guard case .cacheError(reason: .diskIsFull) = error else { return nil }
                return error
            case .locked(let error, _): return error
            case .absent, .unopened, .open, .failed: return nil
            }
        }
    }

    /// The disk part if it is open; never blocks for long.
    var alreadyOpen: DiskStorage? {
        disk.withLock { disk in
            if case .open(let storage) = disk { return storage }
            return nil
        }
    }

    /// Runs `body` on the storage; when it finds the index damaged, once more on a rebuilt one. Nil when there is no disk
    /// part. Blocks.
    func withStorage<Value>(
        failing: (StorageError) -> KingfisherError, _ body: (DiskStorage) throws(StorageError) -> Value
    ) throws(KingfisherError) -> Value? {
        guard let storage = try storage() else { return nil }
        do throws(StorageError) {
            return try storage.healing { () throws(StorageError) in try body(storage) }
        } catch {
            throw failing(error)
        }
    }

    /// Nil when there is to be no disk part.
    var storageConfiguration: DiskStorage.Configuration? {
        guard let directory = configuration.directory else { return nil }
        var storage = DiskStorage.Configuration(path: directory)
        storage.access = configuration.access == .create ? .create : .existing
        storage.readOnly = configuration.access == .readOnly
        storage.trustsOwner = configuration.trustsOwner
        storage.sizeLimit = diskConfig.sizeLimit
        storage.verifies = configuration.verifies
        storage.synchronizes = configuration.synchronizes
        storage.clock = configuration.clock
        storage.notice = configuration.notice
        storage.patience = patience
        return storage
    }

    /// The limit and the expiration of the disk part.
    var diskConfig: DiskStorageConfig {
        get { diskSettings.withLock { $0 } }
        set {
            diskSettings.withLock { $0 = newValue }
            guard let storage = alreadyOpen, storage.sizeLimit != newValue.sizeLimit else { return }
            storage.sizeLimit = newValue.sizeLimit
            makeRoomSoon()
        }
    }

    /// Gives up the disk part; the next call opens it again.
    func forgetStorage() {
        closeNow()
        disk.withLock { disk in
            if case .open = disk { disk = .unopened }
        }
    }

    private func open() -> Disk {
        guard let storage = storageConfiguration else { return .absent(nil) }
        do {
            return .open(try DiskStorage(storage))
        } catch .system(_, _, ENOENT) where configuration.access != .create {
            return .absent(nil)
        } catch let error where error.isReadOnly && configuration.access == .create {
            configuration.notice("\(error.message); nothing is cached")
            return .absent(KingfisherError(opening: error))
        } catch let error where error.isDiskFull && configuration.access == .create {
            // What is fetched can still be delivered; each store reports it.
            return .absent(KingfisherError(writing: error))
        } catch let error where error.isLocked && configuration.access == .create {
            return .locked(KingfisherError(writing: error), since: .now)
        } catch {
            return .failed(KingfisherError(opening: error))
        }
    }

    /// Ends the waiting for other processes within `span`, and does not wait longer from now on. For a process that is to
    /// end.
    package func endWaiting(within span: Duration) { patience.end(within: span) }

    /// Removes what this process was writing. For a process that is about to end at once.
    package func discardTemporaries() { alreadyOpen?.discardTemporaries() }

    /// Commits what waits, and writes the access times and counts that have not been written yet. To be called at the end
    /// of the use.
    public func close() async { await blocking.run { [self] in closeNow() } }

    /// As `close()`, on the calling thread.
    package func closeNow() { alreadyOpen?.close() }
}

extension ImageCache {
    /// The memory part of a cache. Kingfisher's `MemoryStorage.Backend`.
    public struct MemoryPart: Sendable {
        fileprivate let cache: ImageCache

        /// Limits and times. What exceeds a new limit goes at once; a new expiration is for what is stored from then on.
        public var config: MemoryStorageConfig {
            get { cache.memory.configuration }
            nonmutating set { cache.memory.configuration = newValue }
        }
    }

    /// The disk part of a cache. Kingfisher's `DiskStorage.Backend`.
    public struct DiskPart: Sendable {
        fileprivate let cache: ImageCache

        /// Limit and time. What exceeds a new limit goes soon; a new expiration is for what is stored from then on.
        public var config: DiskStorageConfig {
            get { cache.diskConfig }
            nonmutating set { cache.diskConfig = newValue }
        }
    }

    /// The memory part, whose configuration can be changed at any time.
    public var memoryStorage: MemoryPart { MemoryPart(cache: self) }
    /// The disk part, whose configuration can be changed at any time.
    public var diskStorage: DiskPart { DiskPart(cache: self) }
}
