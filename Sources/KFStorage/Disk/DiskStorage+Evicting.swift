import Glibc
import KFSystem
import Synchronization

extension DiskStorage {
    /// Victims chosen at a time: so much memory, in 40 bytes each, and so few passes over the times of access.
    private static let choice = 1 << 18

    /// Removes until objects and partial bodies take at most `bytes`. Partial bodies go first, the oldest ahead, until
    /// they take no more than a quarter of that; then entries, the expired ahead of what was used longest ago. What
    /// others store meanwhile is not chased: one that cleans must not run as long as they do.
    /// `note` is told each entry that goes, or would.
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

    /// Of a limit that is passed, partial bodies may take one part in so many.
    private static let partialShare: Int64 = 4

    private func evictEntries(
        to bytes: Int64, dryRun: Bool = false, _ note: ((EntryName) -> Void)?
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var excess = try storedSize().subtracting(saturating: bytes)
        var last: EvictionRank?
        if excess > 0 { try settleReads() }
        let uses = reads.withLock { $0.lastUses }
        while excess > 0 {
            // A connection of its own: reading all times must not keep this process's lookups waiting.
            let reader = try session.makeReader()
            let ranks = try reader.evictionOrder(after: last, count: Self.choice, now: now(), uses: uses)
            guard let end = ranks.last else { break }
            last = end
            var victims = try reader.victims(ranks)[...]
            while excess > 0, !victims.isEmpty {
                let chosen = victims.prefix(Self.count(of: victims, sum: excess))
                victims.removeFirst(chosen.count)
                if dryRun {
                    // Objects that several entries share make this an estimate.
                    let sum = try Self.sum(chosen.lazy.compactMap { $0 }, reader, note)
                    removal.add(sum)
                    excess = excess.subtracting(saturating: sum.bytes)
                } else {
                    let done = try bulkRemoval(sparesUsed: true).remove(
                        chosen.compactMap { $0 }, downTo: bytes, note)
                    removal.add(done.removal)
                    // What is spared or shared leaves something to do, for which later ones go.
                    excess = min(
                        excess.subtracting(saturating: done.freed),
                        try storedSize().subtracting(saturating: bytes))
                }
            }
        }
        return removal
    }

    /// How many from the beginning make up the sum.
    private static func count(of victims: ArraySlice<Victim?>, sum: Int64) -> Int {
        var rest = sum
        for (count, victim) in victims.enumerated() {
            if rest <= 0 { return count }
            // A negative size is of no image; counted, it would choose ever more.
            rest = rest.subtracting(saturating: max(0, victim?.size ?? 0))
        }
        return victims.count
    }

    /// When the limit is passed: down to half of it (Kingfisher's rule), so that the next stores need not evict. To be
    /// called after a store, and when a partial body has grown or is kept. Partial bodies count, and may take a quarter
    /// of the limit.
    package func evictIfNeeded(_ note: ((EntryName) -> Void)? = nil) throws(StorageError) -> Removal {
        let limit = sizeLimit
        guard limit > 0, let lock = session.lock, !isReadOnly else { return Removal() }
        // One at a time is enough: what it leaves to do, the next store sees.
        guard try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.eviction) else { return Removal() }
        defer { lock.release(byte: IndexSession.LockByte.eviction) }
        return try evictUnderLock(limit, note)
    }

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

    /// In milliseconds: how long a store that found the disk full waits for another's eviction.
    private static let patience = 5000

    /// A store has found the disk full: a cache above its limit evicts as after a store. `before` is the count of evictions
    /// when the store began. True when room was made, by this call or by another since: storing is worth another try.
    /// Blocks.
    package func makeRoom(
        since before: Int, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> (isWorthwhile: Bool, removal: Removal) {
        let limit = sizeLimit
        guard limit > 0, let lock = session.lock, !isReadOnly else { return (false, Removal()) }
        var hasWaited = false
        for _ in 0..<Self.patience / 10 {
            if try lock.tryAcquire(.exclusive, byte: IndexSession.LockByte.eviction) {
                defer { lock.release(byte: IndexSession.LockByte.eviction) }
                if hasWaited || evictionCount != before { return (true, Removal()) }
                let removal = try evictUnderLock(limit, note)
                return (evictionCount != before, removal)
            }
            hasWaited = true
            usleep(10_000)
        }
        return (hasWaited, Removal())
    }

    /// Evictions of this process so far.
    package var evictionCount: Int { evictions.load(ordering: .relaxed) }

    /// Of 256: what dead processes left among the objects goes in time, and no eviction takes much longer for it.
    private static let sweptFolders = 16

    /// Removes files that no entry knows from so many of the objects' folders.
    func sweepOrphans(from first: UInt8, count: Int) throws(StorageError) {
        let verifier = try Verifier(self, repairs: true) { _ in }
        for offset in 0..<count { try verifier.removeOrphans(in: first &+ UInt8(truncatingIfNeeded: offset)) }
    }
}

extension DiskStorage {
    /// Entries looked up at a time.
    private static let page = 1 << 16

    /// What the filter says; with `dryRun`, only counts it. Here and below `note` is told each entry that goes, or would.
    package func remove(
        matching filter: EntryFilter, dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        var last = Int64.min
        if filter.needsTimes { try settleReads() }
        let reader = try session.makeReader()
        while true {
            let found = try reader.victims(filter, after: last, count: Self.page)
            guard let end = found.last else { return removal }
            last = end.row
            if dryRun {
                removal.add(try Self.sum(found, reader, note))
            } else {
                removal.add(try bulkRemoval(sparesUsed: false).remove(found, note).removal)
            }
        }
    }

    func bulkRemoval(sparesUsed: Bool) -> BulkRemoval {
        BulkRemoval(writer: writer, directory: session.directory, sparesUsed: sparesUsed)
    }

    static func sum(
        _ victims: some Sequence<Victim>, _ reader: Connection, _ note: ((EntryName) -> Void)?
    ) throws(StorageError) -> Removal {
        var removal = Removal()
        for victim in victims {
            removal.add(entries: 1, bytes: victim.size)
            if let note, let name = try reader.name(row: victim.row) { note(name) }
        }
        return removal
    }

    /// The original of a key, with its partial body, and everything that was made from it; with an identifier, only what
    /// that made.
    package func removeVariants(
        of key: EntryKey, madeBy identifier: String? = nil, dryRun: Bool = false,
        _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        let found = try variants(of: key).filter { identifier == nil || $0.key.chain == identifier }
        var removal = Removal()
        if identifier == nil { removal.add(try removePartial(for: key.source, dryRun: dryRun)) }
        if !dryRun {
            removal.add(try remove(entries: found, note))
            return removal
        }
        for entry in found {
            removal.add(entry)
            note?(EntryName(entry.key))
        }
        return removal
    }

    /// Everything, whatever its age, partial bodies and files that no entry knows.
    package func removeAll(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var removal = try remove(matching: EntryFilter(), dryRun: dryRun, note)
        let directory = session.directory
        removal.add(directory.reapPartials(now: .now(), keeping: 0, dryRun: dryRun).removed)
        if dryRun { return removal }
        try writer.perform { connection throws(StorageError) in
            // Others may have stored since.
            if try connection.storedSize() == 0 { directory.objects.removeAll() }
        }
        return removal
    }

    /// What is no longer fresh, and partial bodies that are too old to be resumed.
    package func removeExpired(
        dryRun: Bool = false, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        var filter = EntryFilter()
        filter.expiredAt = now()
        var removal = try remove(matching: filter, dryRun: dryRun, note)
        removal.add(session.directory.reapPartials(now: .now(), dryRun: dryRun).removed)
        return removal
    }

    /// Bytes of all objects.
    package func storedSize() throws(StorageError) -> Int64 {
        try session.reader.withLock { connection throws(StorageError) in try connection.storedSize() }
    }

    /// By host and by format, the largest first.
    package func shares() throws(StorageError) -> (hosts: [CacheShare], formats: [CacheShare]) {
        try session.reader.withLock { connection throws(StorageError) in
            (try connection.hosts(), try connection.formats())
        }
    }

    /// Removes these few, each only if it still is what it was.
    package func remove(
        entries: [Entry], _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        guard !entries.isEmpty else { return Removal() }
        let directory = session.directory
        let gone = try writer.perform { connection throws(StorageError) in
            var gone: [Entry] = []
            for entry in entries {
                // Another process may have removed it, or stored it anew, since it was read.
                guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object)
                else { continue }
                try connection.remove(row: current.row, from: directory)
                gone.append(entry)
            }
            return gone
        }
        var removal = Removal()
        for entry in gone {
            removal.add(entry)
            note?(EntryName(entry.key))
        }
        return removal
    }
}
