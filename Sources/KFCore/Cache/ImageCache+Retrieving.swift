import KFImaging
import KFStorage

extension ImageCache {
    /// An image in memory; reading extends its time.
    func imageInMemory(_ key: EntryKey, extending: ExpirationExtending = .cacheTime) -> CachedImage? {
        memory.value(for: key, extending: extending)
    }

    /// The first of the keys that has a fresh file, else the first that has one whose time is over. Blocks, and sees to it
    /// that the hit is written down.
    func firstFile(
        of keys: [EntryKey], strict: Bool, where isUsable: (Entry) -> Bool
    ) throws(KingfisherError) -> FoundFile? {
        defer { alreadyOpen?.writeReadsSoon() }
        let removals = memory.removals
        var stale: FoundFile?
        for (index, key) in keys.enumerated() {
            guard let open = try openAnywhere(key, strict: strict, where: isUsable) else { continue }
            let found = FoundFile(
                index: index, file: open.file, isFresh: open.isFresh, isBorrowed: open.isBorrowed, removals: removals)
            if found.isFresh { return found }
            if stale == nil { stale = found }
        }
        return stale
    }

    /// Whether one of the keys has a fresh file on the disk, without counting that as a hit. Blocks.
    func hasFresh(_ keys: [EntryKey], where isUsable: (Entry) -> Bool) -> Bool {
        guard let storage = alreadyOpen else { return false }
        // A file whose status cannot be read counts as missing.
        for key in keys {
            let found = Result { () throws(StorageError) in
                guard let entry = try storage.entry(for: key), !entry.isExpired(at: now), isUsable(entry) else {
                    return false
                }
                return try storage.open(entry) != nil
            }
            if case .success(true) = found { return true }
        }
        return false
    }

    /// Counts a question that the cache could not answer.
    func noteMiss() {
        guard let storage = alreadyOpen else { return }
        storage.noteMiss()
        storage.writeReadsSoon()
    }

    /// Whether a fresh image is there: in memory, on the disk, or where the configuration looks after a miss. Extends
    /// nothing.
    public func isCached(forKey key: String, processorIdentifier: String = "") async throws(KingfisherError) -> Bool {
        let key = EntryKey(key: key, identifier: processorIdentifier)
        if memory.isCached(key) { return true }
        return try await blocking.run { [self] () throws(KingfisherError) in
            let isFresh = { (storage: DiskStorage) throws(StorageError) in
                try storage.entry(for: key).map { !$0.isExpired(at: self.now) && storage.isWhole($0) } ?? false
            }
            if try withStorage(failing: KingfisherError.init(reading:), isFresh) == true { return true }
            return layers.contains { $0.contains(key) }
        }
    }

    /// Whether each of many keys is cached on the disk.
    struct Sight: Sendable {
        enum Key: Sendable {
            /// Nothing, and nothing of its original either.
            case absent
            /// Something that cannot be used as it is.
            case unusable
            case fresh(StoredFile)
        }

        var files: [Key]
        /// Commits of other processes at that time.
        var commits: Int64?
    }

    /// Which of the keys are fresh on the disk; their access times move, their expiries do not.
    /// `accepts` is asked about what is there for the key of that number; without it, all is accepted. `originals` are the
    /// keys of the originals.
    func touchFresh(
        _ keys: [EntryKey], originals: [EntryKey], where accepts: (@Sendable (Int, Entry) -> Bool)? = nil
    ) async throws(KingfisherError) -> Sight {
        try await blocking.run { [self] () throws(KingfisherError) in
            var sight = Sight(files: [Sight.Key](repeating: .absent, count: keys.count))
            _ = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
                sight.commits = storage.commitsOfOthers
                for (index, found) in try storage.lookUp(keys).enumerated() {
                    switch found {
                    case .absent: sight.files[index] = .absent
                    case .unusable: sight.files[index] = .unusable
                    case .fresh(let entry):
                        guard accepts?(index, entry) ?? true else {
                            sight.files[index] = .unusable
                            continue
                        }
                        storage.noteHit(entry, extending: ExpirationExtending.none)
                        sight.files[index] = .fresh(StoredFile(entry, in: storage))
                    }
                }
                storage.writeReadsSoon()
                let derived = keys.indices.filter { index in
                    if case .absent = sight.files[index] { originals[index] != keys[index] } else { false }
                }
                if derived.isEmpty { return }
                for (index, found) in zip(derived, try storage.lookUp(derived.map { originals[$0] })) {
                    if case .absent = found { continue }
                    sight.files[index] = .unusable
                }
            }
            for layer in layers {
                let missing = keys.indices.filter { index in
                    if case .fresh = sight.files[index] { false } else { true }
                }
                if missing.isEmpty { break }
                for (index, file) in zip(missing, layer.lookUp(missing.map { keys[$0] })) {
                    if let file, accepts?(index, file.entry) ?? true { sight.files[index] = .fresh(file) }
                }
            }
            return sight
        }
    }

    /// The fresh file of a key, open; nil is a miss. An unreadable file is one too, unless `strict`: then it is
    /// `cannotLoadDataFromDisk` (3004). Blocks.
    func openFile(
        _ key: EntryKey, strict: Bool, where isUsable: (Entry) -> Bool = { _ in true }
    ) throws(KingfisherError) -> CachedFile? {
        guard let open = try openAnywhere(key, strict: strict, where: isUsable), open.isFresh else { return nil }
        return open.file
    }

    private struct OpenFile {
        let file: CachedFile
        let isFresh: Bool
        var isBorrowed = false
    }

    /// A fresh file of a layer comes before an expired one of this cache, and that before an expired one of a layer.
    private func openAnywhere(
        _ key: EntryKey, strict: Bool, where isUsable: (Entry) -> Bool
    ) throws(KingfisherError) -> OpenFile? {
        var stale = try openAny(key, strict: strict, where: isUsable)
        if let own = stale, own.isFresh { return own }
        for layer in layers {
            guard let file = layer.open(key, where: isUsable) else { continue }
            let found = OpenFile(file: file, isFresh: !file.entry.isExpired(at: now), isBorrowed: true)
            if found.isFresh { return found }
            if stale == nil { stale = found }
        }
        return stale
    }

    private func openAny(
        _ key: EntryKey, strict: Bool, where isUsable: (Entry) -> Bool
    ) throws(KingfisherError) -> OpenFile? {
        let found = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            do throws(StorageError) {
                return try open(key, in: storage, where: isUsable)
            } catch .system(let call, let path, let code) {
                if strict { throw .system(call: call, path: path, errno: code) }
                return nil
            } catch let error where error.isLocked && !strict {
                return nil
            }
        }
        return found ?? nil
    }

    private func open(
        _ key: EntryKey, in storage: DiskStorage, where isUsable: (Entry) -> Bool
    ) throws(StorageError) -> OpenFile? {
        guard let entry = try storage.entry(for: key), isUsable(entry), let file = try storage.open(entry) else {
            return nil
        }
        let isFresh = !entry.isExpired(at: configuration.clock.now())
        if isFresh { storage.noteHit(entry, extending: nil) }
        return OpenFile(file: CachedFile(file, entry: entry, path: storage.path(of: entry)), isFresh: isFresh)
    }
}

/// Entries that are no images that can be asked for.
extension ImageCache {
    /// The label of an answer without an image, in the place of a format.
    public static let answerLabel = "none"

    /// Removes the remembered answer of a source, if there is one. One that stays expires. Blocks.
    func removeAnswer(forKey key: String) {
        // A cache that cannot be written to remembers nothing either.
        _ = Result { () throws(KingfisherError) in
            try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
                try storage.removeVariants(of: EntryKey(key: key), madeBy: EntryKey.answerIdentifier)
            }
        }
    }
}
