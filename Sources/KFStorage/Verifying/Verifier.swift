import Glibc
import Synchronization

/// A check of a whole cache while other processes use it.
///
/// The first check takes no lock: it reads the index in snapshots and hashes the files. Suspects are checked again
/// under the write lock, in slices. Only faults that persist are reported or repaired, so a file that a running store
/// has published but not yet committed is not an orphan.
final class Verifier {
    /// The longest time for which the lock is held at once.
    static let slice: Duration = .milliseconds(20)
    /// The number of rows that one query checks.
    static let page = 4096

    let storage: DiskStorage
    let repairs: Bool
    private let report: (CacheFinding) -> Void
    private(set) var result = Verification()
    /// A separate lock, so that it also excludes this process's writer; nil without a readable lock file.
    private let lock: BoundedLock?

    init(_ storage: DiskStorage, repairs: Bool, report: @escaping (CacheFinding) -> Void) throws(StorageError) {
        self.storage = storage
        self.repairs = repairs
        self.report = report
        do throws(StorageError) {
            let directory = storage.session.directory
            let file = FileLock(try directory.openFile("lock", O_RDONLY))
            // A shared lock excludes writers, and needs no write permission.
            lock = BoundedLock(
                file, .shared, byte: IndexSession.LockByte.write, patience: directory.patience, holderIsNoted: true)
        } catch .system(_, _, ENOENT) {
            lock = nil
        } catch let error where error.isReadOnly {
            lock = nil
        }
    }

    func run() throws(StorageError) -> Verification {
        // Collected before the first write, because opening the writer removes them.
        let leftovers = leftovers()
        try checkIndex()
        try checkObjectRows()
        try checkEntries()
        try checkReferences()
        try checkObjects()
        try checkCounts()
        settle(leftovers)
        return result
    }

    /// Checks the entries that a filter selects, and their files. The index itself, its counts and files without entries
    /// need a check of everything.
    func run(_ filter: EntryFilter) throws(StorageError) -> Verification {
        if filter.needsTimes { try storage.settleReads() }
        let reader = try storage.session.makeReader()
        var seen: Set<Int64> = []
        var last = Int64.min
        while true {
            let page = try reader.victims(filter, after: last, count: Self.page)
            guard let end = page.last else { return result }
            last = end.row
            noteEntries(page.count)
            var broken: [Int64] = []
            var rows: [ObjectRow] = []
            for entry in page {
                if try reader.brokenEntry(row: entry.row) != nil { broken.append(entry.row) }
                guard seen.insert(entry.object).inserted else { continue }
                if let row = try reader.objectRow(entry.object) { rows.append(row) }
            }
            try settle(broken: broken)
            try checkObjects(rows)
        }
    }

    func add(_ finding: CacheFinding, repaired: Bool) {
        var finding = finding
        finding.isRepaired = repaired
        result.add(finding)
        report(finding)
    }

    func noteEntries(_ count: Int) { result.entries += count }

    func noteFile(_ bytes: Int64) {
        result.files += 1
        result.bytes += bytes
    }

    /// Checks the items again under the write lock, in slices. `look` returns the fault of an item if it persists, and
    /// repairs it if the verifier repairs. Only then may it change the index.
    func secondLook<Item: Sendable>(
        _ items: [Item],
        _ look: @Sendable (Item, Connection) throws(StorageError) -> Settled?
    ) throws(StorageError) {
        var next = 0
        while next < items.count {
            let rest = items[next...]
            let (settled, end) = try underLock { connection throws(StorageError) in
                let start = ContinuousClock.now
                var settled: [Settled] = []
                for (index, item) in zip(rest.indices, rest) {
                    if index > rest.startIndex, start.duration(to: .now) > Self.slice { return (settled, index) }
                    if let found = try look(item, connection) { settled.append(found) }
                }
                return (settled, rest.endIndex)
            }
            for settled in settled { add(settled.finding, repaired: settled.isRepaired) }
            next = end
        }
    }

    private func underLock<Value: Sendable>(
        _ body: @Sendable (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        if repairs { return try storage.writer.perform(body) }
        try lock?.acquire()
        defer { lock?.release() }
        return try storage.read { connection throws(StorageError) in try body(connection) }
    }
}

/// A fault that the second check has confirmed.
struct Settled: Sendable {
    let finding: CacheFinding
    let isRepaired: Bool
}

/// The checks of the index against itself.
extension Verifier {
    func checkIndex() throws(StorageError) {
        let complaints = try storage.read { connection throws(StorageError) in try connection.complaints() }
        guard !complaints.isEmpty else { return }
        var remaining = complaints
        // SQLite can only repair an index that disagrees with its table.
        if repairs, complaints.allSatisfy({ $0.contains(" in index ") || $0.contains(" from index ") }) {
            remaining = try storage.writer.perform { connection throws(StorageError) in
                try connection.execute("REINDEX")
                return try connection.complaints()
            }
        }
        // Other damage needs a new index, built from the readable entries.
        if repairs, let first = remaining.first {
            throw .corruptIndex(path: storage.session.directory.index, detail: first)
        }
        for complaint in complaints { add(CacheFinding(.damagedIndex, complaint), repaired: repairs) }
    }

    func checkEntries() throws(StorageError) {
        var next: Int64? = .min
        while let first = next {
            let page = try storage.read { connection throws(StorageError) in
                try connection.brokenEntries(from: first, count: Self.page)
            }
            next = page.next
            noteEntries(page.seen)
            try settle(broken: page.broken.map(\.row))
        }
        try checkTimes()
        try checkTags()
    }

    func settle(broken rows: [Int64]) throws(StorageError) {
        let storage = storage
        let repairs = repairs
        try secondLook(rows) { row, connection throws(StorageError) in
            guard let broken = try connection.brokenEntry(row: row) else { return nil }
            if repairs { try connection.remove(row: row, from: storage.session.directory) }
            let finding = CacheFinding(broken.kind, entries: [EntryName(broken.key)], "the entry \(broken.detail)")
            return Settled(finding: finding, isRepaired: repairs)
        }
    }

    /// Checks for tags whose entry a program removed that knew no tags. One finding stands for all of them.
    private func checkTags() throws(StorageError) {
        var rows = try storage.read { connection throws(StorageError) in try connection.strayTags(count: Self.page) }
        guard !rows.isEmpty else { return }
        while repairs, !rows.isEmpty {
            rows = try storage.writer.perform { connection throws(StorageError) in
                for row in try connection.strayTags(count: Self.page) { try connection.removeTags(row: row) }
                return try connection.strayTags(count: Self.page)
            }
        }
        add(CacheFinding(.brokenRow, "tags of entries that do not exist"), repaired: repairs)
    }

    private func checkTimes() throws(StorageError) {
        let repairs = repairs
        try forEachPage { connection, first throws(StorageError) in
            try connection.timesWithoutEntries(from: first, count: Self.page)
        } look: { rows throws(StorageError) in
            try secondLook(rows) { row, connection throws(StorageError) in
                guard try connection.timesWithoutEntries(from: row, count: 1).found.first == row else { return nil }
                if repairs { try connection.removeTimes(row: row) }
                return Settled(
                    finding: CacheFinding(.brokenRow, "times of an entry that does not exist (row \(row))"),
                    isRepaired: repairs)
            }
        }
    }

    /// Calls `look` with each page of what `read` finds in the index, which begins with a row.
    private func forEachPage<Item: Sendable>(
        _ read: (Connection, Int64) throws(StorageError) -> (next: Int64?, found: [Item]),
        look: ([Item]) throws(StorageError) -> Void
    ) throws(StorageError) {
        var next: Int64? = .min
        while let first = next {
            let page = try storage.read { connection throws(StorageError) in try read(connection, first) }
            next = page.next
            try look(page.found)
        }
    }

    /// Checks for rows of objects that name no file: another program has written them, or the disk has damaged them.
    func checkObjectRows() throws(StorageError) {
        let repairs = repairs
        try forEachPage { connection, first throws(StorageError) in
            try connection.unusableObjects(from: first, count: Self.page)
        } look: { rows throws(StorageError) in
            let users = try storage.read { connection throws(StorageError) in
                try connection.entries(ofObjects: Set(rows))
            }
            try secondLook(rows) { row, connection throws(StorageError) in
                guard try connection.unusableObjects(from: row, count: 1).found.first == row else { return nil }
                let entries = users[row] ?? []
                if repairs {
                    for entry in entries { try connection.removeEntry(row: entry.row) }
                    try connection.forgetObject(row: row)
                }
                let finding = CacheFinding(
                    .brokenRow, entries: entries.prefix(10).map { EntryName($0.key) },
                    "an object with an invalid hash, extension or size (row \(row))")
                return Settled(finding: finding, isRepaired: repairs)
            }
        }
    }

    func checkReferences() throws(StorageError) {
        let storage = storage
        let repairs = repairs
        try forEachPage { connection, first throws(StorageError) in
            try connection.wrongReferences(from: first, count: Self.page)
        } look: { found throws(StorageError) in
            try secondLook(found) { wrong, connection throws(StorageError) in
                guard try connection.objectRow(wrong.row.row) == wrong.row else { return nil }
                if repairs {
                    guard try connection.correct(wrong) else { return nil }
                    if wrong.counted == 0 {
                        try connection.remove(
                            UnusedObject(row: wrong.row.row, object: wrong.row.object),
                            from: storage.session.directory)
                    }
                }
                let finding = CacheFinding(
                    .wrongCount, path: storage.session.directory.objects.path(of: wrong.row.object),
                    "\(wrong.counted) entries refer to it, but the index counts \(wrong.stored)")
                return Settled(finding: finding, isRepaired: repairs)
            }
        }
    }

    func checkCounts() throws(StorageError) {
        let found = try storage.read { connection throws(StorageError) in try connection.countDifferences() }
        let repairs = repairs
        try secondLook(found) { difference, connection throws(StorageError) in
            if repairs { try connection.apply(difference) }
            let finding = CacheFinding(
                .wrongCount,
                "\(difference.label): off by \(difference.corrections.map { "\($0)" }.joined(separator: ", "))")
            return Settled(finding: finding, isRepaired: repairs)
        }
    }
}
