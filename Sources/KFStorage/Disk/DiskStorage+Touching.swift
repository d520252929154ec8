import Dispatch

/// The changes that reads make: access times, expiries and counts.
extension DiskStorage {
    /// Records hits: the entries' access time becomes now, and their policies (or `extending`) set the new expiries.
    package func noteHits(_ entries: [Entry], extending: ExpirationExtending?) {
        let (now, isReadOnly) = (now(), isReadOnly)
        own.withLock { own in for entry in entries { own.use(row: entry.row) } }
        reads.withLock { log in
            log.counts.hits += Int64(entries.count)
            // A read-only cache never writes touches.
            if isReadOnly { return }
            for entry in entries {
                guard now.since(entry.accessed) >= entry.touchInterval else {
                    log.addUse(row: entry.row, at: now)
                    continue
                }
                let expires = (extending ?? entry.extending).expiry(
                    after: now, timeToLive: entry.timeToLive, current: entry.expires)
                log.add(Touch(created: entry.created, accessed: now, expires: expires), row: entry.row)
            }
        }
    }

    package func note(_ counts: RemoteCounts) {
        reads.withLock { $0.counts.remotes = $0.counts.remotes.adding(counts) }
    }

    package func noteMiss() { reads.withLock { $0.counts.misses += 1 } }

    /// Schedules a write of access times, expiries and counts after `touchDelay` (5 s), on the index writer's thread.
    /// Only a process that keeps running should call it: starting the timer costs more than a hit.
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

    /// The number of touches in one transaction, which holds the write lock for about 5 ms.
    private static let written = 1024

    private typealias Touched = (row: Int64, touch: Touch)

    /// Returns the touches in row order, so that neighbouring rows change together, split into transactions.
    private static func slices(_ log: ReadLog) -> [ArraySlice<Touched>] {
        let touched = log.touches.map { (row: $0.key, touch: $0.value) }.sorted { $0.row < $1.row }
        return stride(from: 0, to: touched.count, by: written).map {
            touched[$0..<min(touched.count, $0 + written)]
        }
    }

    /// Writes what reads have changed. If another process holds the write lock, the changes stay for the next time.
    private func writeReads() {
        let slices = reads.withLock { log in
            log.isScheduled = false
            return Self.slices(log)
        }
        let lock = session.lock
        for slice in slices.isEmpty ? [[]] : slices {
            writer.submit(optional: true) { [self] connection throws(StorageError) in
                if let lock { try writeCounts(to: lock) }
                try Self.write(slice, connection)
            } completion: { [self] result in
                if case .success = result { reads.withLock { $0.settle(slice) } }
            }
        }
    }

    /// Adds the counts to the lock file. They are not part of the transaction: they are added once, even if it is
    /// repeated.
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

    /// Writes the access times now, because entries are about to be chosen by them. Waits for the write lock.
    func settleReads() throws(StorageError) {
        guard !isReadOnly else { return }
        for slice in Self.slices(reads.withLock { $0 }) {
            try writer.perform { connection throws(StorageError) in try Self.write(slice, connection) }
            reads.withLock { $0.settle(slice) }
        }
    }

    /// Returns an expired entry with the times that the index does not have yet. A fresh entry needs no newer times.
    func current(_ entry: Entry, at now: Timestamp) -> Entry {
        entry.isExpired(at: now) ? touched(entry) : entry
    }

    func touched(_ entry: Entry) -> Entry { reads.withLock { entry.touched(by: $0.touches[entry.row]) } }
}
