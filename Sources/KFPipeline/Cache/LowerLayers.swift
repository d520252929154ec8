import Glibc
import KFImaging
import KFStorage
import KFTerms
import Synchronization

/// A cache of this machine that is read after a miss on the disk, and never written to.
///
/// All calls block, and come from the cache's own threads. A layer that cannot be used returns no images; it reports
/// that once.
package protocol LowerLayer: AnyObject, Sendable {
    /// Opens the image of a key, fresh or expired; nil is a miss. An entry that `isUsable` refuses is a miss.
    func open(_ key: EntryKey, where isUsable: (Entry) -> Bool) -> CachedFile?

    /// Returns the fresh image of each key; nil is a miss.
    func lookUp(_ keys: [EntryKey]) -> [StoredFile?]

    /// Whether a fresh and whole image of a key is there.
    func contains(_ key: EntryKey) -> Bool

    /// Returns the original of a source and all images made from it, with the paths of their files.
    func variants(of key: EntryKey) -> [(entry: Entry, path: String)]

    /// Whether the file of an entry can be read and has the stored bytes.
    func isWhole(_ entry: Entry) -> Bool
}

/// The directory of another cache: `lowerLayers` of the configuration, `--cache-from` of the command.
final class DirectoryLayer: LowerLayer {
    private enum State {
        case unopened
        case open(DiskStorage)
        case unusable
    }

    private let configuration: DiskStorage.Configuration
    private let state = Mutex(State.unopened)

    /// Opens the directory on first use.
    init(_ configuration: DiskStorage.Configuration) { self.configuration = configuration }

    func open(_ key: EntryKey, where isUsable: (Entry) -> Bool) -> CachedFile? {
        read { storage throws(StorageError) in
            try storage.file(for: key, where: isUsable)
        }
    }

    func lookUp(_ keys: [EntryKey]) -> [StoredFile?] {
        let found = read { storage throws(StorageError) -> [StoredFile?]? in
            try storage.lookUp(keys).map { found in
                if case .fresh(let entry) = found { StoredFile(entry, in: storage.directory) } else { nil }
            }
        }
        return found ?? [StoredFile?](repeating: nil, count: keys.count)
    }

    func contains(_ key: EntryKey) -> Bool {
        let now = configuration.clock.now()
        let found = read { storage throws(StorageError) in
            try storage.entry(for: key).map { !$0.isExpired(at: now) && storage.isWhole($0) }
        }
        return found ?? false
    }

    func variants(of key: EntryKey) -> [(entry: Entry, path: String)] {
        let found = read { storage throws(StorageError) in
            try storage.variants(of: key).map { (entry: $0, path: storage.path(of: $0)) }
        }
        return found ?? []
    }

    func isWhole(_ entry: Entry) -> Bool { read { storage in storage.isWhole(entry) } ?? false }

    /// Runs `body` on the directory's storage. The first failure closes the layer for good, with a notice.
    private func read<Value>(_ body: (DiskStorage) throws(StorageError) -> Value?) -> Value? {
        do throws(StorageError) {
            return try storage().flatMap { storage throws(StorageError) in try body(storage) }
        } catch {
            let isNew = state.withLock { state in
                if case .unusable = state { return false }
                state = .unusable
                return true
            }
            if isNew { configuration.notice("the lower cache \(configuration.path) is not used: \(error.message)") }
            return nil
        }
    }

    private func storage() throws(StorageError) -> DiskStorage? {
        try state.withLock { state throws(StorageError) in
            switch state {
            case .unusable: return nil
            case .open(let storage): return storage
            case .unopened:
                let storage = try DiskStorage(configuration)
                state = .open(storage)
                return storage
            }
        }
    }
}

/// Files that the program names for the keys of originals: `additionalCachePath` of the configuration. They are always
/// fresh and appear in no listing.
final class AdditionalFiles: LowerLayer {
    private let path: @Sendable (_ key: String) -> String?
    private let clock: CacheClock

    init(_ path: @escaping @Sendable (_ key: String) -> String?, _ clock: CacheClock) {
        self.path = path
        self.clock = clock
    }

    func open(_ key: EntryKey, where isUsable: (Entry) -> Bool) -> CachedFile? {
        guard key == key.source, let path = path(key.key) else { return nil }
        do throws(StorageError) {
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            guard status.isRegularFile else { return nil }
            let bytes = try file.readAll(
                expected: Int(clamping: status.st_size), limit: Int(RequestOptions().transfer.maxBytes))
            let inspector = ImageInspector(limits: DecodeLimits(), check: .structure)
            guard let entry = inspector.entry(of: key, bytes, status, clock.now()), isUsable(entry) else { return nil }
            return CachedFile(file, entry: entry)
        } catch {
            return nil
        }
    }

    /// Finds nothing: a prefetch stores the image of a key although the program has a file for it.
    func lookUp(_ keys: [EntryKey]) -> [StoredFile?] { [StoredFile?](repeating: nil, count: keys.count) }

    func contains(_ key: EntryKey) -> Bool { open(key) { _ in true } != nil }

    func variants(of key: EntryKey) -> [(entry: Entry, path: String)] { [] }

    func isWhole(_ entry: Entry) -> Bool { false }
}

extension ImageInspector {
    /// Returns an entry for the bytes of a file that the index does not have; nil if they are not an accepted image.
    func entry(of key: EntryKey, _ bytes: [UInt8], _ status: stat, _ now: Timestamp) -> Entry? {
        bytes.withUnsafeBytes { bytes in
            guard let findings = bestEffort({ try inspect(bytes) }) else { return nil }
            return Entry(
                of: key, fileOf: bytes, modified: status.modified, fileExtension: findings.format.fileExtension,
                pixels: findings.info.map(PixelFacts.init), now: now)
        }
    }
}
