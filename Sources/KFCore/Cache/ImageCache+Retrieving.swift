import KFImaging
import KFStorage

extension ImageCache {
    /// Returns an image from memory and extends its expiry.
    func imageInMemory(_ key: EntryKey, extending: ExpirationExtending = .cacheTime) -> CachedImage? {
        memory.value(for: key, extending: extending)
    }

    /// Returns the file of the first key that has a fresh one, or else of the first key that has a stale one. Blocks. A
    /// hit is written to the index soon.
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

    /// Returns whether one of the keys has a fresh file on the disk, without counting a hit. Blocks.
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

    /// Counts a cache miss.
    func noteMiss() {
        guard let storage = alreadyOpen else { return }
        storage.noteMiss()
        storage.writeReadsSoon()
    }

    /// Returns whether a fresh image is in memory, on the disk, in a lower layer or among the program's additional
    /// files. Does not extend its expiry.
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

    /// The state of many keys on the disk.
    struct Sight: Sendable {
        enum Key: Sendable {
            /// Neither the image nor its original is cached.
            case absent
            /// The image cannot be used as it is, or only its original is cached.
            case unusable
            case fresh(StoredFile)
        }

        var files: [Key]
        /// The fresh remembered responses, and none, of the absent keys for which they were looked up.
        var answers: [Int: Entry?] = [:]
        /// The number of commits by other processes at that time; nil without a disk part.
        var commits: Int64?
    }

    /// Returns the state of many keys on the disk. Fresh entries get a new access time, but not a new expiry. `accepts`
    /// decides whether the entry of a key, given by index, can be used; without it, all can. `originals` are the keys
    /// of the originals. With `answers`, looks for the remembered responses of absent keys as well.
    func touchFresh(
        _ keys: [EntryKey], originals: [EntryKey], answers: Bool = false,
        where accepts: (@Sendable (Int, Entry) -> Bool)? = nil
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
            if answers { try lookForAnswers(keys, &sight) }
            return sight
        }
    }

    /// Looks for the remembered responses of absent keys.
    private func lookForAnswers(_ keys: [EntryKey], _ sight: inout Sight) throws(KingfisherError) {
        let absent = keys.indices.filter { if case .absent = sight.files[$0] { true } else { false } }
        if absent.isEmpty { return }
        let wanted = absent.map { EntryKey(key: keys[$0].key, identifier: EntryKey.answerIdentifier) }
        let found = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.lookUp(wanted)
        }
        for (index, found) in zip(absent, found ?? []) {
            switch found {
            case .absent: sight.answers[index] = .some(nil)
            case .fresh(let entry): sight.answers[index] = .some(entry)
            case .unusable: break
            }
        }
    }

    /// Opens the fresh file of a key, or with `expired` also an expired one; nil is a miss. An unreadable file is a
    /// miss too, unless `strict`: then it is `cannotLoadDataFromDisk` (3004). Blocks.
    func openFile(
        _ key: EntryKey, strict: Bool, expired: Bool = false, where isUsable: (Entry) -> Bool = { _ in true }
    ) throws(KingfisherError) -> CachedFile? {
        guard let open = try openAnywhere(key, strict: strict, where: isUsable), open.isFresh || expired else {
            return nil
        }
        return open.file
    }

    private struct OpenFile {
        let file: CachedFile
        let isFresh: Bool
        var isBorrowed = false
    }

    /// Opens the file of a key in this cache or a layer. The order is: fresh here, fresh in a layer, expired here,
    /// expired in a layer.
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
        let path = file.path
        return OpenFile(file: CachedFile(file, entry: entry, path: path), isFresh: isFresh)
    }
}

/// Remembered responses without an image.
extension ImageCache {
    /// The label of a remembered response without an image, used in place of a format.
    public static let answerLabel = "none"

    /// Returns the remembered response with this key, fresh or expired. Blocks.
    func answer(_ key: EntryKey) throws(KingfisherError) -> Entry? {
        try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.entry(for: key)
        } ?? nil
    }

    /// Removes the remembered response with this key, if there is one. If that fails, the response stays until it
    /// expires. Blocks.
    func removeAnswer(_ key: EntryKey) {
        // A read-only cache remembers no responses, so a failure is harmless.
        bestEffort {
            try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
                guard let entry = try storage.entry(for: key) else { return }
                _ = try storage.remove(entries: [entry])
            }
        }
    }
}
