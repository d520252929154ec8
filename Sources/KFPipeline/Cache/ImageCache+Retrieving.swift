import KFImaging
import KFStorage
import KFTerms

extension ImageCache {
    /// Returns an image from memory and extends its expiry.
    package func imageInMemory(_ key: EntryKey, extending: ExpirationExtending = .cacheTime) -> CachedImage? {
        memory.value(for: key, extending: extending)
    }

    /// Returns the file of the first key that has a fresh one, or else of the first key that has a stale one. Each key is
    /// looked for here first, then in the lower layers. Without `prefersFresh`, the first file of either kind counts.
    ///
    /// An entry that `isUsable` refuses is a miss, and so is a file of a lower layer that `isTrusted` refuses, or that was
    /// made from other bytes than those of an original above it. An unreadable
    /// file is one too, unless `strict`: then it is `cannotLoadDataFromDisk` (3004). Blocks.
    package func firstFile(
        of keys: [EntryKey], strict: Bool, prefersFresh: Bool = true, isTrusted: (CachedFile) -> Bool = { _ in true },
        where isUsable: (Entry) -> Bool = { _ in true }
    ) throws(KingfisherError) -> FoundFile? {
        let (removals, now) = (memory.removals, now)
        var stale: FoundFile?
        for key in keys {
            for layer in -1..<layers.count {
                guard let file = try open(key, in: layer, strict: strict, isTrusted: isTrusted, where: isUsable)
                else { continue }
                // An image is only as good as its original: the first one from here up counts.
                if layer >= 0, !key.isOriginal {
                    var original: Digest?
                    for upper in -1..<layer where original == nil {
                        let found = try open(
                            key.original, in: upper, strict: strict, isTrusted: isTrusted, where: isUsable)
                        if let found, !prefersFresh || !found.entry.isExpired(at: now) {
                            original = found.entry.object.digest
                        }
                    }
                    if let original, original != file.entry.original { continue }
                }
                let found = FoundFile(
                    file: file, cache: self, isFresh: !file.entry.isExpired(at: now), isBorrowed: layer >= 0,
                    removals: removals)
                if found.isFresh || !prefersFresh { return found }
                stale = stale ?? found
            }
        }
        return stale
    }

    /// Returns the bytes of the file with this hash, whichever entries use it; nil if there is none. Blocks.
    func bytes(withHash digest: Digest) throws(KingfisherError) -> [UInt8]? {
        let found = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.openObject(digest)?.readAll()
        }
        guard let bytes = found ?? nil, bytes.withUnsafeBytes(SHA256.hash) == digest else { return nil }
        return bytes
    }

    /// Returns the file with this hash, whichever entries use it, as one of the key; nil if there is none. Its bytes are
    /// hashed. Blocks.
    func file(
        withHash digest: Digest, for key: EntryKey, _ inspector: ImageInspector
    ) throws(KingfisherError) -> CachedFile? {
        let found = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            guard let file = try storage.openObject(digest) else { return CachedFile?.none }
            let (status, bytes) = (try file.status(), try file.readAll())
            guard let entry = inspector.entry(of: key, bytes, status, now), entry.object.digest == digest else {
                return nil
            }
            return CachedFile(file, entry: entry)
        }
        return found ?? nil
    }

    /// Opens the file of a key here (-1), or in a lower layer.
    private func open(
        _ key: EntryKey, in layer: Int, strict: Bool, isTrusted: (CachedFile) -> Bool,
        where isUsable: (Entry) -> Bool
    ) throws(KingfisherError) -> CachedFile? {
        if layer < 0 { return try open(key, strict: strict, where: isUsable) }
        return layers[layer].open(key, where: isUsable).flatMap { isTrusted($0) ? $0 : nil }
    }

    private func open(
        _ key: EntryKey, strict: Bool, where isUsable: (Entry) -> Bool
    ) throws(KingfisherError) -> CachedFile? {
        let found = try withStorage(failing: KingfisherError.init(reading:)) {
            storage throws(StorageError) -> CachedFile? in
            do throws(StorageError) {
                return try storage.file(for: key, where: isUsable)
            } catch .system(let call, let path, let code) {
                if strict { throw .system(call: call, path: path, errno: code) }
                return nil
            } catch let error where error.isLocked && !strict {
                return nil
            }
        }
        return found ?? nil
    }

    /// Counts a hit, which may extend the expiry. It is written to the index soon, which starts a thread, or with
    /// `waits` when the cache is closed.
    package func noteHit(_ found: FoundFile, waits: Bool = false) {
        guard found.isFresh, !found.isBorrowed, let storage = alreadyOpen else { return }
        storage.noteHits([found.entry], extending: nil)
        if !waits { storage.writeReadsSoon() }
    }

    /// Returns whether this cache made the image of an entry, from bytes that it hashed.
    func isMadeHere(_ entry: Entry) -> Bool { alreadyOpen?.isMadeHere(entry) ?? false }

    /// Counts a cache miss.
    package func noteMiss() {
        guard let storage = alreadyOpen else { return }
        storage.noteMiss()
        storage.writeReadsSoon()
    }

    /// Returns whether a fresh image is in memory, on the disk, in a lower layer or among the program's additional
    /// files. Does not extend its expiry.
    public func isCached(forKey key: String, processorIdentifier: String = "") async throws(KingfisherError) -> Bool {
        let key = EntryKey(key: key, identifier: processorIdentifier)
        if memory.isCached(key) { return true }
        return try await blocking.run { [self] () throws(KingfisherError) in try isOnDisk(key) }
    }

    /// Returns whether a fresh image is on the disk, in a lower layer or among the program's additional files. Blocks.
    package func isOnDisk(_ key: EntryKey) throws(KingfisherError) -> Bool {
        let isFresh = { (storage: DiskStorage) throws(StorageError) in
            try storage.entry(for: key).map { !$0.isExpired(at: self.now) && storage.isWhole($0) } ?? false
        }
        if try withStorage(failing: KingfisherError.init(reading:), isFresh) == true { return true }
        return layers.contains { $0.contains(key) }
    }

    /// What a look at many images shows of one of them.
    package enum Seen: Sendable {
        /// Neither the image nor its original is cached.
        case absent(Sight.Answer)
        /// The image cannot be used as it is, or only its original is cached.
        case unusable
        /// The entry has the texts of the response only if the retrieval filters, or asks for proof or for freshness.
        case fresh(StoredFile)

        package var isAbsent: Bool {
            if case .absent = self { true } else { false }
        }
    }

    /// Returns what is on the disk of many images, whose cache this is, and the number of commits by other processes at that
    /// time; nil without a disk part. Fresh entries get a new access time, but not a new expiry. Blocks.
    package func look(
        for retrievals: [Retrieval]
    ) throws(KingfisherError) -> (images: [Seen], commits: Int64?) {
        let needsProof = retrievals.contains { $0.needsProof }
        let judges = needsProof || retrievals.contains { $0.options.cachePolicy == .http }
        func accepts(_ index: Int, _ entry: Entry) -> Bool { !judges || retrievals[index].accepts(entry) }
        // A filter reads the measures of the original among the header lines.
        let withTexts = judges || retrievals.contains { $0.options.filter != nil }
        var seen = [Seen](repeating: .absent(.unknown), count: retrievals.count)
        let commits = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            let commits = storage.commitsOfOthers
            let targets = try storage.lookUp(retrievals.map { $0.target }, withTexts: withTexts)
            let directory = storage.directory
            var hits: [Entry] = []
            hits.reserveCapacity(targets.count)
            for index in targets.indices {
                switch targets[index] {
                case .absent: break
                case .fresh(let entry) where accepts(index, entry):
                    hits.append(entry)
                    seen[index] = .fresh(StoredFile(entry, in: directory))
                case .fresh, .unusable: seen[index] = .unusable
                }
            }
            storage.noteHits(hits, extending: ExpirationExtending.none)
            storage.writeReadsSoon()
            let derived = retrievals.indices.filter { index in
                seen[index].isAbsent && retrievals[index].original != retrievals[index].target
            }
            if derived.isEmpty { return commits }
            let originals = try storage.lookUp(derived.map { retrievals[$0].original }, withTexts: false)
            for (index, found) in zip(derived, originals) {
                if case .absent = found { continue }
                seen[index] = .unusable
            }
            return commits
        }
        // Where a hash counts, a file of a lower layer is not taken here: another look-up reads and hashes it.
        for (number, layer) in layers.enumerated() where !needsProof {
            let missing = retrievals.indices.filter { index in
                if case .fresh = seen[index] { false } else { true }
            }
            if missing.isEmpty { break }
            for (index, file) in zip(missing, layer.lookUp(missing.map { retrievals[$0].target })) {
                guard let file, accepts(index, file.entry) else { continue }
                // An original above it may have other bytes. Its own look-up compares them.
                let isAlone = number == 0 && seen[index].isAbsent
                let isOriginal = retrievals[index].original == retrievals[index].target
                seen[index] = isAlone || isOriginal ? .fresh(file) : .unusable
            }
        }
        if retrievals.contains(where: { $0.remembersAnswers }) { try lookForAnswers(retrievals, &seen) }
        return (seen, commits)
    }

    /// Looks for the remembered responses of absent images.
    private func lookForAnswers(_ retrievals: [Retrieval], _ seen: inout [Seen]) throws(KingfisherError) {
        let absent = seen.indices.filter { seen[$0].isAbsent }
        if absent.isEmpty { return }
        let found = try withStorage(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            // Most caches remember no such response.
            guard try storage.hasEntries(ofFormat: Self.answerLabel) else {
                return absent.map { _ in IndexedEntry.absent }
            }
            return try storage.lookUp(absent.map { retrievals[$0].answerKey })
        }
        for (index, found) in zip(absent, found ?? []) {
            switch found {
            case .absent: seen[index] = .absent(.none)
            case .fresh(let entry): seen[index] = .absent(retrievals[index].accepted(entry))
            case .unusable: break
            }
        }
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

extension ImageCache {
    /// Returns all entries of a source, here and in the lower layers, except the lower layers' remembered responses
    /// without an image. Blocks.
    func entriesInIndex(forKey key: String) throws(KingfisherError) -> [Entry] {
        let key = EntryKey(key: key)
        let own = try withIndex(failing: KingfisherError.init(reading:)) { storage throws(StorageError) in
            try storage.variants(of: key)
        }
        return layers.reduce(own ?? []) { entries, layer in
            entries + layer.variants(of: key).map(\.entry).filter { !$0.key.isAnswer }
        }
    }
}
