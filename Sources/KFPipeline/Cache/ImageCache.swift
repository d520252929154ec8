import Glibc
import KFImaging
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// A cache of images in memory and files on the disk. Kingfisher's `ImageCache`.
///
/// The disk part is opened by the first call that needs it. When the directory cannot be written to, nothing is cached
/// on the disk: `notice` receives one message, and all requests go on uncached.
public final class ImageCache: Sendable {
    /// The access of a cache to its directory.
    public enum Access: Sendable {
        /// A missing directory is created.
        case create
        /// A missing directory is treated as an empty cache.
        case existing
        /// Like `existing`, and nothing is written, not even access times.
        case readOnly
    }

    /// The location, limits and callbacks of a cache.
    public struct Configuration: Sendable {
        /// The path of the disk cache; nil keeps images in memory only.
        public var directory: String?
        /// The access to the directory (default `create`).
        public var access = Access.create
        /// Whether a directory that belongs to another user is accepted.
        public var trustsOwner = false
        /// The size limit of the files on the disk in bytes; 0 disables it (default 5 GiB).
        public var diskSizeLimit: Int64 = 5 << 30
        /// How long an image stays fresh on the disk when its options do not say otherwise (default 7 days).
        public var diskExpiration = StorageExpiration.days(7)
        /// The cost limit of images in memory in bytes; nil is a quarter of the machine's memory, at most 256 MiB.
        public var memoryCostLimit: Int?
        /// How long an image stays fresh in memory when its options do not say otherwise (default 300 seconds).
        public var memoryExpiration = StorageExpiration.seconds(300)
        /// The directories of caches that are read, in this order, after a miss. They are never written to.
        public var lowerLayers: [String] = []
        /// Returns the path of a file for the key of an original, such as an image that the program ships with; nil
        /// when there is none. It is called when neither the cache nor a lower layer has the image, on one of the
        /// cache's threads.
        ///
        /// The file is only read. A file that is not an image is a miss. SDWebImage's `additionalCachePathBlock`.
        public var additionalCachePath: (@Sendable (_ key: String) -> String?)?
        /// The stores that several machines share: they are read, in this order, after a miss in the cache and its lower
        /// layers. See <doc:Remotes>.
        public var remotes: [any CacheLayer] = []
        /// Whether images from their origins are uploaded to the first of the remotes. See <doc:Remotes> for those that never
        /// are.
        public var writesToRemote = false
        /// Whether a remote that refuses requests or cannot be reached is an error: `remoteIsUnavailable` (3017). Otherwise
        /// its images are fetched from their origins.
        public var requiresRemotes = false
        /// How long ``ImageCache/close()`` waits for uploads (default 30 seconds); nil as long as bytes move.
        public var remoteWait: Duration? = .seconds(30)
        /// Called with the URL, or else the key, of each image whose upload was given up. It must not call the cache.
        public var didDropUpload: @Sendable (_ source: String) -> Void = { _ in }
        /// Whether ``notice`` is called for each image that may not be uploaded, and not for the first one alone.
        package var namesImagesNotUploaded = false
        /// Whether every file is hashed when it is read. A changed file is a miss.
        public var verifies = false
        /// Whether a store waits until its bytes are on the disk.
        public var synchronizes = false
        /// How long a call waits for a lock while the processes that hold it show no sign of life (default 5 seconds).
        /// It waits on while they commit. A store that reaches the limit fails with `cacheIsLocked` (3016), and the image
        /// is delivered all the same.
        public var lockTimeout = Duration.seconds(5)
        /// The longest wait of a call for a lock, whatever its holders do; nil means none.
        package var longestLockWait: Duration?
        /// The time at which all waiting for other processes ends, whatever `lockTimeout` says; nil means never.
        package var lockDeadline: ContinuousClock.Instant?
        /// How long a remote with requests may show no sign of work.
        var remoteSilence = Duration.milliseconds(2500)
        /// The clock that decides about expiry; tests replace it.
        public var clock = CacheClock.system
        /// Receives messages for the user.
        public var notice: @Sendable (String) -> Void = { _ in }

        /// Receives each cleaning that removed entries from the disk, including an eviction after a store, but not the
        /// removal of single images. Called on one of the cache's threads.
        public var didClean: (@Sendable (CacheCleaning) -> Void)?

        /// Receives each image that was delivered before its store, and whose store then failed. A caller that waits
        /// for the store (`waitForCache`) finds the error in the result instead.
        ///
        /// Called on one of the cache's threads. `notice` receives a message at most once a minute for each error code.
        public var didFailToStore: (@Sendable (CacheStoreFailure) -> Void)?

        /// Creates a configuration with the defaults, in this directory; nil keeps images in memory only.
        public init(directory: String?) { self.directory = directory }

        package func storage(readingFrom directory: String, _ patience: Patience) -> DiskStorage.Configuration {
            var storage = storage(in: directory, patience)
            storage.access = .existing
            storage.readOnly = true
            return storage
        }

        fileprivate func storage(in directory: String, _ patience: Patience) -> DiskStorage.Configuration {
            var storage = DiskStorage.Configuration(path: directory)
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
        /// Another process has locked the cache. Opening is tried again after `lockedSpan`.
        case locked(KingfisherError, since: ContinuousClock.Instant)
        case failed(KingfisherError)
    }

    /// How long a cache stays unused after another process had locked it at opening.
    private static let lockedSpan = Duration.seconds(60)

    /// The configuration as given. `diskConfig` and the memory cache have the current limits and expirations.
    package let configuration: Configuration
    private let diskSettings: Mutex<DiskStorageConfig>
    package let patience: Patience
    package let memory: MemoryStorage<CachedImage>
    package let stores = StoresUnderWay()
    /// The threads for calls that block on files and the index.
    package let blocking = WorkerPool(label: "kf.cache", width: 4)
    /// Whether there are partial bodies; nil until the directory was listed.
    let partials = Mutex<Bool?>(nil)
    /// Whether an eviction by `makeRoomSoon` is running.
    let isMakingRoom = Atomic(false)
    /// Whether `notice` has received the message that the directory cannot be written to.
    let hasToldReadOnly = Mutex(false)
    /// The time of the last notice about failed stores, by error code.
    let toldFailures = Mutex<[Int: Timestamp]>([:])
    private let disk: Mutex<Disk>
    /// Held while the disk part is being opened.
    private let opening = Mutex(())
    /// The remotes; nil before they are first needed, and without any.
    let remoteStores = Mutex<RemoteTier?>(nil)
    /// The caches that are read after a miss, in order: the lower layers, then the program's own files.
    package let layers: [any LowerLayer]

    /// Creates a cache. The directory is opened by the first call that needs it.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        diskSettings = Mutex(
            DiskStorageConfig(sizeLimit: configuration.diskSizeLimit, expiration: configuration.diskExpiration))
        let patience = Patience(
            limit: configuration.lockTimeout, longest: configuration.longestLockWait, until: configuration.lockDeadline)
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

    /// Returns the default directory: `$KF_CACHE_DIR`, or `$XDG_CACHE_HOME/kf`, or `~/.cache/kf`; nil when none of
    /// these variables is set.
    public static func defaultDirectory(environment: [String: String]) -> String? {
        if let directory = environment["KF_CACHE_DIR"], !directory.isEmpty { return directory }
        // The XDG specification says to ignore a relative path.
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return "\(base)/kf" }
        if let home = environment["HOME"], !home.isEmpty { return "\(home)/.cache/kf" }
        return nil
    }

    /// Returns the default directory from this process's environment.
    public static func defaultDirectory() -> String? {
        let pairs = ["KF_CACHE_DIR", "XDG_CACHE_HOME", "HOME"].compactMap { (name: String) in
            getenv(name).map { (name, String(cString: $0)) }
        }
        return defaultDirectory(environment: Dictionary(uniqueKeysWithValues: pairs))
    }

    /// Returns the error that keeps the configured disk part from storing images; nil when there is none. Opens the
    /// cache.
    public func diskProblem() async throws(KingfisherError) -> KingfisherError? {
        try await blocking.run { [self] () throws(KingfisherError) in try diskProblemNow() }
    }

    /// Returns the error like `diskProblem`. Blocks.
    package func diskProblemNow() throws(KingfisherError) -> KingfisherError? {
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

    package var now: Timestamp { configuration.clock.now() }

    /// Returns the disk part, opened on first use; nil when there is none. Blocks.
    package func storage() throws(KingfisherError) -> DiskStorage? {
        if let storage = alreadyOpen { return storage }
        // Opening may wait for other processes, and callers of `alreadyOpen` must not wait with it.
        return try opening.withLock { _ throws(KingfisherError) in
            var known = disk.withLock { $0 }
            if case .locked(_, let since) = known, since.duration(to: .now) > Self.lockedSpan { known = .unopened }
            if case .unopened = known {
                known = open()
                disk.withLock { $0 = known }
            }
            switch known {
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

    /// Whether the disk part has not been opened yet.
    var isUnopened: Bool {
        disk.withLock { disk in
            if case .unopened = disk { true } else { false }
        }
    }

    /// The disk part if it is already open. Never waits for another process.
    var alreadyOpen: DiskStorage? {
        disk.withLock { disk in
            if case .open(let storage) = disk { return storage }
            return nil
        }
    }

    /// Runs `body` on the storage. If it finds the index damaged, rebuilds the index and runs `body` once more. Returns
    /// nil when there is no disk part. Blocks.
    package func withStorage<Value>(
        failing: (StorageError) -> KingfisherError, _ body: (DiskStorage) throws(StorageError) -> Value
    ) throws(KingfisherError) -> Value? {
        guard let storage = try storage() else { return nil }
        do throws(StorageError) {
            return try storage.healing { () throws(StorageError) in try body(storage) }
        } catch {
            throw failing(error)
        }
    }

    /// Does the same for what the index alone answers: a directory that was deleted from outside holds nothing.
    package func withIndex<Value>(
        failing: (StorageError) -> KingfisherError, _ body: (DiskStorage) throws(StorageError) -> Value
    ) throws(KingfisherError) -> Value? {
        try withStorage(failing: failing) { storage throws(StorageError) -> Value? in
            guard try storage.recover() else { return nil }
            return try body(storage)
        } ?? nil
    }

    /// The configuration of the disk part; nil when the cache has none.
    package var storageConfiguration: DiskStorage.Configuration? {
        guard let directory = configuration.directory else { return nil }
        var storage = configuration.storage(in: directory, patience)
        storage.access = configuration.access == .create ? .create : .existing
        storage.readOnly = configuration.access == .readOnly
        storage.sizeLimit = diskConfig.sizeLimit
        storage.synchronizes = configuration.synchronizes
        storage.evicting = { [configuration] body throws(StorageError) in try configuration.tellingCleaned(nil, body) }
        return storage
    }

    /// The size limit and the expiration of the disk part.
    package var diskConfig: DiskStorageConfig {
        get { diskSettings.withLock { $0 } }
        set {
            diskSettings.withLock { $0 = newValue }
            guard let storage = alreadyOpen, storage.sizeLimit != newValue.sizeLimit else { return }
            storage.sizeLimit = newValue.sizeLimit
            makeRoomSoon()
        }
    }

    /// Closes the disk part. The next call opens it again.
    package func forgetStorage() {
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
        } catch let error where error.isNoPlace && configuration.access == .create {
            configuration.notice("\(error.message); nothing is cached")
            return .absent(KingfisherError(opening: error))
        } catch let error where error.isDiskFull && configuration.access == .create {
            // Fetched images can still be delivered; each store reports the error.
            return .absent(KingfisherError(writing: error))
        } catch let error where error.isLocked && configuration.access == .create {
            return .locked(KingfisherError(writing: error), since: .now)
        } catch {
            return .failed(KingfisherError(opening: error))
        }
    }

    /// Limits all waiting for other processes to `span` from now, including later waits. For a process that is about to
    /// exit.
    package func endWaiting(within span: Duration) {
        patience.end(within: span)
        remoteStores.withLock { $0 }?.uploads?.endWaiting(within: span)
    }

    /// Whether the disk cache holds an image, or a freshness of one, that it did not hold before. What waits to be stored
    /// is not counted.
    package var hasChanged: Bool { alreadyOpen?.hasChanged ?? false }

    /// The images that this process has used and evicted again because of the size limit, with the bytes of what is left
    /// and the limit; nil when there are none.
    package var evictedAgain: (removal: Removal, left: Int64, limit: Int64)? {
        guard let storage = alreadyOpen, storage.evictedAgain.entries > 0 else { return nil }
        let (removal, left) = (storage.evictedAgain, bestEffort { try storage.storedSize() } ?? 0)
        // With less, what other processes stored has pushed the images out.
        return left.adding(saturating: removal.bytes) > storage.sizeLimit ? (removal, left, storage.sizeLimit) : nil
    }

    /// The counts of the remotes since the cache was created; nil without any. Those of uploads are complete after
    /// ``close()``.
    public var remoteCounts: RemoteCounts? {
        configuration.remotes.isEmpty ? nil : remoteStores.withLock { $0 }?.log.counts ?? RemoteCounts()
    }

    /// The number of uploads to a remote that have ended, and of all; nil when none is left.
    public var uploadProgress: (done: Int, total: Int)? { remoteStores.withLock { $0 }?.uploads?.progress }

    /// The error of a remote that is required: `remoteIsUnavailable` (3017). Nil when there is none.
    package var remoteProblem: KingfisherError? { remoteStores.withLock { $0 }?.log.problem }

    /// Removes the files that this process is writing. For a process that is about to exit at once.
    package func discardTemporaries() { alreadyOpen?.discardTemporaries() }

    /// Commits queued stores, writes outstanding access times and counts, and waits for uploads to a remote, as long as
    /// ``Configuration/remoteWait`` says. Call it when the cache is no longer used.
    public func close() async { await blocking.run { [self] in finishNow() } }

    /// Closes the cache as `close()` does, on the calling thread.
    package func finishNow() {
        closeNow()
        guard let remotes = remoteStores.withLock({ $0 }) else { return }
        remotes.close()
        let counts = remotes.log.takeUnwritten()
        guard !counts.isZero, let storage = alreadyOpen else { return }
        storage.note(counts)
        closeNow()
    }

    private func closeNow() { alreadyOpen?.close() }
}
