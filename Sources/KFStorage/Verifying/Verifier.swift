import Glibc
import KFSystem

/// A check of a whole cache while other processes use it.
///
/// The first check takes no lock: it reads the index in snapshots and hashes the files. Suspects are checked again
/// under the write lock, in slices. Only faults that persist are reported or repaired, so a file that a running store
/// has published but not yet committed is not an orphan.
final class Verifier {
    /// The longest time for which the lock is held at once.
    private static let slice: Duration = .milliseconds(20)
    /// The number of rows that one query checks.
    private static let page = 4096

    let storage: DiskStorage
    let repairs: Bool
    private let report: (CacheFinding) -> Void
    var result = Verification()
    /// A separate lock, so that it also excludes this process's writer; nil without a readable lock file.
    private let lock: BoundedLock?

    init(_ storage: DiskStorage, repairs: Bool, report: @escaping (CacheFinding) -> Void) throws(StorageError) {
        self.storage = storage
        self.repairs = repairs
        self.report = report
        do throws(StorageError) {
            let directory = storage.directory
            let file = FileLock(try directory.openFile("lock", O_RDONLY))
            // A shared lock excludes writers, and needs no write permission.
            lock = BoundedLock(
                file, .shared, byte: IndexSession.LockByte.write, patience: directory.patience, holderIsNoted: true)
        } catch let error where error.isAbsence || error.isReadOnly {
            lock = nil
        }
    }

    var directory: CacheDirectory { storage.directory }
    var objects: ObjectStore { directory.objects }

    func run() throws(StorageError) -> Verification {
        // Collected before the first write, because opening the writer removes them.
        let leftovers = storage.session.leftovers
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
            result.entries += page.count
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

    func add(_ finding: CacheFinding) {
        result.add(finding)
        report(finding)
    }

    /// Checks the items again under the write lock, in slices. `look` returns the fault of an item if it persists, and
    /// repairs it if the verifier repairs. Only then may it change the index.
    func secondLook<Item>(
        _ items: [Item], _ look: (Item, Connection) throws(StorageError) -> CacheFinding?
    ) throws(StorageError) {
        var next = 0
        while next < items.count {
            let first = next
            let (found, end) = try underLock { connection throws(StorageError) in
                let start = ContinuousClock.now
                var (found, end): ([CacheFinding], Int) = ([], first)
                repeat {
                    if let finding = try look(items[end], connection) { found.append(finding) }
                    end += 1
                } while end < items.count && start.duration(to: .now) <= Self.slice
                return (found, end)
            }
            found.forEach(add)
            next = end
        }
    }

    private func underLock<Value: Sendable>(
        _ body: (Connection) throws(StorageError) -> Value
    ) throws(StorageError) -> Value {
        if repairs { return try storage.writer.perform(body) }
        try lock?.acquire()
        defer { lock?.release() }
        return try storage.read { connection throws(StorageError) in try body(connection) }
    }

    /// Calls `look` with each page of what a method of the connection finds, from a row on.
    private func forEachPage<Item: Sendable>(
        _ read: (Connection) -> (_ first: Int64, _ count: Int) throws(StorageError) -> RowPage<Item>,
        look: (RowPage<Item>) throws(StorageError) -> Void
    ) throws(StorageError) {
        var next: Int64? = .min
        while let first = next {
            let page = try storage.read { connection throws(StorageError) in try read(connection)(first, Self.page) }
            next = page.next
            try look(page)
        }
    }
}

/// The checks of the index against itself.
extension Verifier {
    private func checkIndex() throws(StorageError) {
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
        if repairs, let first = remaining.first { throw .corruptIndex(path: directory.index, detail: first) }
        for complaint in complaints { add(CacheFinding(.damagedIndex, complaint, isRepaired: repairs)) }
    }

    private func checkEntries() throws(StorageError) {
        try forEachPage(Connection.brokenEntries) { page throws(StorageError) in
            result.entries += page.seen
            try settle(broken: page.found.map(\.row))
        }
        try checkTimes()
        try checkTags()
    }

    private func settle(broken rows: [Int64]) throws(StorageError) {
        try secondLook(rows) { row, connection throws(StorageError) in
            guard let broken = try connection.brokenEntry(row: row) else { return nil }
            if repairs {
                try connection.remove(row: row, from: directory)
                storage.noteRemoval(of: row, .damaged)
            }
            return CacheFinding(
                broken.kind, entries: [EntryName(broken.key)], "the entry \(broken.detail)", isRepaired: repairs)
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
        add(CacheFinding(.brokenRow, "tags of entries that do not exist", isRepaired: repairs))
    }

    private func checkTimes() throws(StorageError) {
        try forEachPage(Connection.timesWithoutEntries) { page throws(StorageError) in
            try secondLook(page.found) { row, connection throws(StorageError) in
                guard try connection.timesWithoutEntries(from: row, count: 1).found.first == row else { return nil }
                if repairs { try connection.removeTimes(row: row) }
                return CacheFinding(
                    .brokenRow, "times of an entry that does not exist (row \(row))", isRepaired: repairs)
            }
        }
    }

    /// Checks for rows of objects that name no file: another program has written them, or the disk has damaged them.
    private func checkObjectRows() throws(StorageError) {
        try forEachPage(Connection.unusableObjects) { page throws(StorageError) in
            let users = try storage.read { connection throws(StorageError) in
                try connection.entries(ofObjects: Set(page.found))
            }
            try secondLook(page.found) { row, connection throws(StorageError) in
                guard try connection.unusableObjects(from: row, count: 1).found.first == row else { return nil }
                let entries = users[row] ?? []
                if repairs {
                    for entry in entries {
                        try connection.removeEntry(row: entry.row)
                        storage.noteRemoval(of: entry.row, .damaged)
                    }
                    try connection.forgetObject(row: row)
                }
                return CacheFinding(
                    .brokenRow, entries: entries.prefix(10).map { EntryName($0.key) },
                    "an object with an invalid hash, extension or size (row \(row))", isRepaired: repairs)
            }
        }
    }

    private func checkReferences() throws(StorageError) {
        try forEachPage(Connection.wrongReferences) { page throws(StorageError) in
            try secondLook(page.found) { wrong, connection throws(StorageError) in
                guard try connection.objectRow(wrong.row.row) == wrong.row else { return nil }
                if repairs {
                    guard try connection.correct(wrong) else { return nil }
                    let object = UnusedObject(row: wrong.row.row, object: wrong.row.object)
                    if wrong.counted == 0 { try connection.remove(object, from: directory) }
                }
                return CacheFinding(
                    .wrongCount, path: objects.path(of: wrong.row.object),
                    "\(wrong.counted) entries refer to it, but the index counts \(wrong.stored)", isRepaired: repairs)
            }
        }
    }

    private func checkCounts() throws(StorageError) {
        let found = try storage.read { connection throws(StorageError) in try connection.countDifferences() }
        try secondLook(found) { difference, connection throws(StorageError) in
            if repairs { try connection.apply(difference) }
            return CacheFinding(
                .wrongCount,
                "\(difference.label): off by \(difference.corrections.map { "\($0)" }.joined(separator: ", "))",
                isRepaired: repairs)
        }
    }
}
