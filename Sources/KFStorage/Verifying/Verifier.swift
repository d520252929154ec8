import Glibc
import Synchronization

/// Checks all of a cache while others go on using it.
///
/// Looking takes no lock: the index is read in snapshots, files are hashed as they lie. What looks wrong is looked at a
/// second time under the write lock, in slices, and only what still is wrong then is reported or repaired. So a file that
/// a running store has put in place and not yet committed is no orphan.
final class Verifier {
    /// The lock is held no longer than this at a time.
    static let slice: Duration = .milliseconds(20)
    /// Rows looked at in one go.
    static let page = 4096

    let storage: DiskStorage
    let repairs: Bool
    private let report: (CacheFinding) -> Void
    private(set) var result = Verification()
    /// Of its own, so that it excludes this process's writer as well; nil where there is no lock file.
    private let lock: BoundedLock?

    init(_ storage: DiskStorage, repairs: Bool, report: @escaping (CacheFinding) -> Void) throws(StorageError) {
        self.storage = storage
        self.repairs = repairs
        self.report = report
        do throws(StorageError) {
            let directory = storage.session.directory
            let file = FileLock(try directory.openFile("lock", O_RDONLY))
            // Shared is enough to keep writers out, and needs no right to write.
            lock = BoundedLock(
                file, .shared, byte: IndexSession.LockByte.write, patience: directory.patience, holderIsNoted: true)
        } catch .system(_, _, ENOENT) {
            lock = nil
        } catch let error where error.isReadOnly {
            lock = nil
        }
    }

    func run() throws(StorageError) -> Verification {
        // Before anything is written: opening the writer sweeps them.
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

    /// Goes through the items under the write lock, in slices. `look` says what is wrong with one still (nil: nothing),
    /// and repairs it when asked to; with that it may change the index.
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
        return try storage.session.reader.withLock { connection throws(StorageError) in try body(connection) }
    }
}

/// What the second look has found.
struct Settled: Sendable {
    let finding: CacheFinding
    let isRepaired: Bool
}
