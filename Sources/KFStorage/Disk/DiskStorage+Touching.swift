import Dispatch

/// What reading writes: access times, expiries and counts.
extension DiskStorage {
    /// Notes that an entry served someone: its access time moves, its expiry as its policy (or `extending`) says.
    package func noteHit(_ entry: Entry, extending: ExpirationExtending?) {
        let now = now()
        let extending = extending ?? entry.extending
        reads.withLock { log in
            log.counts.hits += 1
            // It could never be written.
            if isReadOnly { return }
            guard now.since(entry.accessed) >= entry.touchInterval else {
                return log.addUse(row: entry.row, at: now)
            }
            let expires = extending.expiry(after: now, timeToLive: entry.timeToLive, current: entry.expires)
            log.add(Touch(created: entry.created, accessed: now, expires: expires), row: entry.row)
        }
    }

    package func noteMiss() { reads.withLock { $0.counts.misses += 1 } }

    /// Has written in a few seconds what reading has changed, on a thread of its own. To be called by whoever does not end
    /// soon: starting the timer costs more than a hit.
    package func writeReadsSoon() {
        guard !isReadOnly else { return }
        let isNew = reads.withLock { log in
            if log.isScheduled || log.isEmpty { return false }
            log.isScheduled = true
            return true
        }
        guard isNew else { return }
        Self.timing.asyncAfter(deadline: .now() + configuration.touchDelay) { [weak self] in self?.writeReads() }
    }

    private static let timing = DispatchQueue(label: "kf.touches", qos: .utility)

    /// Touches of one transaction: they hold the write lock for about 5 ms.
    private static let written = 1024

    private typealias Touched = (row: Int64, touch: Touch)

    /// In the order of the rows, so that neighbours are changed together.
    private static func slices(_ log: ReadLog) -> [ArraySlice<Touched>] {
        let touched = log.touches.map { (row: $0.key, touch: $0.value) }.sorted { $0.row < $1.row }
        return stride(from: 0, to: touched.count, by: written).map {
            touched[$0..<min(touched.count, $0 + written)]
        }
    }

    /// Nobody waits for this: what would have to wait for another process stays for the next time.
    private func writeReads() {
        let slices = reads.withLock { log in
            log.isScheduled = false
            return Self.slices(log)
        }
        let lock = session.lock
        for slice in slices.isEmpty ? [[]] : slices {
            writer.submit(urgent: false, optional: true) { [self] connection throws(StorageError) in
                if let lock { try writeCounts(to: lock) }
                try Self.write(slice, connection)
            } completion: { [self] result in
                if case .success = result { reads.withLock { $0.settle(slice) } }
            }
        }
    }

    /// Counts are no part of the transaction: they are added once, even if it is carried out again.
    private func writeCounts(to lock: FileLock) throws(StorageError) {
        let counts = reads.withLock { log in
            defer { log.counts = ReadCounts() }
            return log.counts
        }
        guard !counts.isZero else { return }
        do throws(StorageError) {
            try counts.add(to: lock)
        } catch {
            reads.withLock { $0.counts = $0.counts.adding(counts) }
            throw error
        }
    }

    private static func write(_ slice: ArraySlice<Touched>, _ connection: Connection) throws(StorageError) {
        for (row, touch) in slice {
            try connection.touch(row: row, accessed: touch.accessed, expires: touch.expires)
        }
    }

    /// The index has to know the times now: entries are about to be chosen by them. Waits for the lock.
    func settleReads() throws(StorageError) {
        guard !isReadOnly else { return }
        for slice in Self.slices(reads.withLock { $0 }) {
            try writer.perform { connection throws(StorageError) in try Self.write(slice, connection) }
            reads.withLock { $0.settle(slice) }
        }
    }

    /// The entry with the times that this process knows better than the index. A fresh entry is fresh without them.
    func current(_ entry: Entry, at now: Timestamp) -> Entry {
        entry.isExpired(at: now) ? touched(entry) : entry
    }

    func touched(_ entry: Entry) -> Entry { reads.withLock { entry.touched(by: $0.touches[entry.row]) } }
}

extension DiskStorage {
    /// Lets the file of an entry outlive the entry's replacement, under another key of the same source. Nothing is kept
    /// when the entry holds other bytes by now.
    package func keepFile(of entry: Entry, as key: EntryKey, _ facts: EntryFacts) async throws(StorageError) {
        _ = try await carryOut([.keep(entry, as: key, facts)], urgent: false)
    }

    /// Makes entries fresh again without touching their bytes. Returns after the commit, with the entries as they are
    /// now; one that was removed or holds other bytes by now is nil and stays as it is.
    package func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, urgent: Bool
    ) async throws(StorageError) -> [Entry?] {
        try await carryOut(entries.map { .renew([$0], renewal) }, urgent: urgent)
    }

    /// Carries out one group of orders; returns after the commit, with their results, or throws the first failure.
    func carryOut(_ orders: [IndexOrder], urgent: Bool) async throws(StorageError) -> [Entry?] {
        let outcomes = await withUnsafeContinuation { continuation in
            submit([orders], urgent ? .none : .few) { continuation.resume(returning: $0[0]) }
        }
        var entries: [Entry?] = []
        for outcome in outcomes { entries.append(try outcome.get()) }
        return entries
    }
}
