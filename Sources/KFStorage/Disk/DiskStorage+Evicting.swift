import Glibc
import KFSystem

extension DiskStorage {
    /// The number of victims chosen at a time. It bounds memory (40 bytes a victim) and the number of passes over the
    /// access times.
    private static let choice = 1 << 18

    /// Evicts until objects and partial bodies take at most `bytes`. Partial bodies go first, oldest first, until they
    /// take at most a quarter of `bytes`. Then entries go, expired ones first, then the least recently used.
    ///
    /// Images that other processes store meanwhile are not evicted, so that the call ends while they go on. `note`
    /// receives each entry that is removed, or would be with `dryRun`.
    package func evict(
        to bytes: Int64, dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var partials = session.directory.partials
        if try storedSize().adding(saturating: partials.bytes) > bytes {
            let reaped = session.directory.reapPartials(now: .now(), keeping: bytes / Self.partialShare, dryRun: dryRun)
            partials = reaped.left
            removal.add(reaped.removed)
        }
        removal.add(try evictEntries(to: max(0, bytes - partials.bytes), dryRun: dryRun, note))
        return removal
    }

    /// The divisor of the share that partial bodies may keep when the limit is exceeded.
    private static let partialShare: Int64 = 4

    private func evictEntries(
        to bytes: Int64, dryRun: Bool = false, _ note: ((EntryName) -> Void)?
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var excess = try storedSize().subtracting(saturating: bytes)
        var last: EvictionRank?
        var shared = SharedObjects()
        if excess > 0 { try settleReads() }
        let uses = reads.withLock { $0.lastUses }
        while excess > 0 {
            // A separate connection: this process's lookups must not wait while all access times are read.
            let reader = try session.makeReader()
            let ranks = try reader.evictionOrder(after: last, count: Self.choice, now: now(), uses: uses)
            guard let end = ranks.last else { break }
            last = end
            var victims = try reader.victims(ranks)[...]
            while excess > 0, !victims.isEmpty {
                let chosen = victims.prefix(Self.count(of: victims, sum: excess))
                victims.removeFirst(chosen.count)
                // Spared entries and shared objects free no bytes; later victims make up for them.
                if dryRun {
                    let sum = try Self.sum(chosen.lazy.compactMap { $0 }, reader, &shared, note)
                    removal.add(sum)
                    excess = excess.subtracting(saturating: sum.bytes)
                } else {
                    let done = try bulkRemoval(.evicted).remove(
                        chosen.compactMap { $0 }, downTo: bytes, note)
                    removal.add(done)
                    own.withLock { $0.evict(chosen.lazy.compactMap { $0 }) }
                    excess = min(
                        excess.subtracting(saturating: done.bytes),
                        try storedSize().subtracting(saturating: bytes))
                }
            }
        }
        return removal
    }

    /// Returns the number of victims, from the first, whose sizes add up to `sum`.
    private static func count(of victims: ArraySlice<Victim?>, sum: Int64) -> Int {
        var rest = sum
        for (count, victim) in victims.enumerated() {
            if rest <= 0 { return count }
            // No image has a negative size. Counting one would add further victims.
            rest = rest.subtracting(saturating: max(0, victim?.size ?? 0))
        }
        return victims.count
    }

    /// Evicts down to half of the limit when it is exceeded (Kingfisher's rule), so that the next stores need not
    /// evict. It follows a store, and is to be called when a partial body grows or is kept. Partial bodies count, and may
    /// take a quarter of the limit.
    ///
    /// One process evicts at a time. What others store meanwhile is left to it, so it looks once more after it has
    /// released the lock. A process that is killed before it evicts leaves its excess to the next store.
    @discardableResult
    package func evictIfNeeded() throws(StorageError) -> Removal {
        let limit = sizeLimit
        guard limit > 0, let lock = session.lock, !isReadOnly else { return Removal() }
        return try configuration.evicting { note throws(StorageError) in
            var removal = Removal()
            for _ in 0..<Self.rounds {
                guard try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.eviction) else { break }
                do {
                    defer { lock.release(byte: IndexSession.LockByte.eviction) }
                    removal.add(try evictUnderLock(limit, note))
                }
                guard try storedSize().adding(saturating: session.directory.partials.bytes) > limit else { break }
            }
            return removal
        }
    }

    /// The number of evictions in one call. Each of them frees half of the limit, so only many fast writers reach it,
    /// and they evict too.
    private static let rounds = 8

    private func evictUnderLock(_ limit: Int64, _ note: ((EntryName) -> Void)?) throws(StorageError) -> Removal {
        var removal = Removal()
        var reaped = session.directory.reapPartials(now: .now())
        removal.add(reaped.removed)
        guard try storedSize().adding(saturating: reaped.left.bytes) > limit else { return removal }
        defer { evictions.add(1, ordering: .relaxed) }
        reaped = session.directory.reapPartials(now: .now(), keeping: limit / Self.partialShare)
        removal.add(reaped.removed)
        guard try storedSize().adding(saturating: reaped.left.bytes) > limit else { return removal }
        removal.add(try evictEntries(to: max(0, limit / 2 - reaped.left.bytes), note))
        try sweepOrphans(from: .random(in: 0 ... .max), count: Self.sweptFolders)
        return removal
    }

    /// How long a store that found the disk full waits for another process's eviction, in milliseconds.
    private static let patience = 5000

    /// Evicts after a store found the disk full, if the cache is above its limit. `before` is the eviction count when
    /// the store began. Returns whether this call or another one has made room since then, so that storing is worth
    /// another try. Blocks.
    func makeRoom(since before: Int) throws(StorageError) -> Bool {
        let limit = sizeLimit
        guard limit > 0, let lock = session.lock, !isReadOnly else { return false }
        var hasWaited = false
        for _ in 0..<Self.patience / 10 {
            if try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.eviction) {
                defer { lock.release(byte: IndexSession.LockByte.eviction) }
                if hasWaited || evictionCount != before { return true }
                _ = try configuration.evicting { note throws(StorageError) in try evictUnderLock(limit, note) }
                return evictionCount != before
            }
            hasWaited = true
            usleep(10_000)
        }
        return hasWaited
    }

    /// Whether this process has stored or renewed an image.
    package var hasChanged: Bool { own.withLock { $0.hasChanged } }

    /// The entries that this process has stored or read, and evicted again because of the limit.
    package var evictedAgain: Removal { own.withLock { $0.evictedAgain } }

    /// The number of evictions in this process so far.
    var evictionCount: Int { evictions.load(ordering: .relaxed) }

    /// The number of object folders, out of 256, that one eviction sweeps. So orphans of dead processes are removed
    /// over time without making an eviction much slower.
    private static let sweptFolders = 16

    /// Removes orphans from `count` object folders, beginning with folder `first`.
    func sweepOrphans(from first: UInt8, count: Int) throws(StorageError) {
        let verifier = try Verifier(self, repairs: true) { _ in }
        for offset in 0..<count { try verifier.removeOrphans(in: first &+ UInt8(truncatingIfNeeded: offset)) }
    }
}

extension DiskStorage {
    /// The number of entries that one query reads.
    private static let page = 1 << 16

    /// Removes the entries that match the filter; with `dryRun`, only counts them. Here and below, `note` receives each
    /// entry that is removed, or would be.
    package func remove(
        matching filter: EntryFilter, dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var last = Int64.min
        var shared = SharedObjects()
        if filter.needsTimes { try settleReads() }
        let reader = try session.makeReader()
        while true {
            let found = try reader.victims(filter, after: last, count: Self.page)
            guard let end = found.last else { return removal }
            last = end.row
            if dryRun {
                removal.add(try Self.sum(found, reader, &shared, note))
            } else {
                removal.add(try bulkRemoval(filter.expiredAt == nil ? .removed : .expired).remove(found, note))
            }
        }
    }

    func bulkRemoval(_ reason: PastRemoval.Reason) -> BulkRemoval {
        var removal = BulkRemoval(writer: writer, directory: session.directory, sparesUsed: reason == .evicted)
        removal.removed = { row in self.noteRemoval(of: row, reason) }
        return removal
    }

    /// The references to shared objects that a dry run has not found yet, by their rows.
    typealias SharedObjects = [Int64: Int64]

    static func sum(
        _ victims: some Sequence<Victim>, _ reader: Connection, _ shared: inout SharedObjects,
        _ note: ((EntryName) -> Void)?
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        for victim in victims {
            let known = shared[victim.object]
            let references = if let known { known } else { try reader.object(row: victim.object)?.references ?? 0 }
            let left = references.subtracting(saturating: 1)
            shared[victim.object] = left > 0 ? left : nil
            removal.add(entries: 1, bytes: left > 0 ? 0 : victim.size)
            if let note, let name = try reader.name(row: victim.row) { note(name) }
        }
        return removal
    }

    /// Removes the original of a key, its partial body and all images made from it. With an identifier, removes only
    /// the images that it made.
    package func removeVariants(
        of key: EntryKey, madeBy identifier: String? = nil, dryRun: Bool = false,
        _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        let found = try variants(of: key).filter { identifier == nil || $0.key.chain == identifier }
        var removal = Removal()
        if identifier == nil { removal.add(try removePartial(for: key.source, dryRun: dryRun)) }
        removal.add(try remove(entries: found, dryRun: dryRun, note))
        return removal
    }

    /// Removes all entries, fresh or expired, and all partial bodies and orphans.
    package func removeAll(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = try remove(matching: EntryFilter(), dryRun: dryRun, note)
        let directory = session.directory
        removal.add(directory.reapPartials(now: .now(), keeping: 0, dryRun: dryRun).removed)
        if dryRun { return removal }
        try writer.perform { connection throws(StorageError) in
            // Other processes may have stored images since.
            if try connection.storedSize() == 0 { directory.objects.removeAll() }
        }
        return removal
    }

    /// Removes expired entries, and partial bodies that are too old to be resumed.
    package func removeExpired(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var filter = EntryFilter()
        filter.expiredAt = now()
        var removal = try remove(matching: filter, dryRun: dryRun, note)
        removal.add(session.directory.reapPartials(now: .now(), dryRun: dryRun).removed)
        return removal
    }

    /// Returns the bytes of all objects.
    package func storedSize() throws(StorageError) -> Int64 {
        try read { connection throws(StorageError) in try connection.storedSize() }
    }

    /// Returns the entries and bytes of each host and of each format, the largest first.
    package func shares() throws(StorageError) -> (hosts: [CacheShare], formats: [CacheShare]) {
        try read { connection throws(StorageError) in (try connection.hosts(), try connection.formats()) }
    }

    /// Removes these entries, except those whose content was replaced since they were read. Meant for few entries.
    package func remove(
        entries: [Entry], dryRun: Bool = false, because reason: PastRemoval.Reason = .removed,
        _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        guard !entries.isEmpty else { return Removal() }
        if dryRun {
            let reader = try session.makeReader()
            var shared = SharedObjects()
            var victims: [Victim] = []
            for entry in entries { if let victim = try reader.victim(row: entry.row) { victims.append(victim) } }
            return try Self.sum(victims, reader, &shared, note)
        }
        let directory = session.directory
        let (gone, freed) = try writer.perform { connection throws(StorageError) in
            var gone: [EntryName] = []
            let before = try connection.storedSize()
            for entry in entries {
                // Another process may have removed or replaced the entry since it was read.
                guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object)
                else { continue }
                try connection.remove(row: current.row, from: directory)
                noteRemoval(of: current.row, reason)
                gone.append(EntryName(entry.key))
            }
            return (gone, before.subtracting(saturating: try connection.storedSize()))
        }
        var removal = Removal()
        removal.add(entries: gone.count, bytes: freed)
        if let note { gone.forEach(note) }
        return removal
    }
}
