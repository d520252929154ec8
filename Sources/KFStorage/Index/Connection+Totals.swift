import KFSystem

/// Sums over the whole cache. Sizes are in bytes.
public struct CacheTotals: Sendable, Equatable {
    /// The number of images, including expired ones.
    public var entries = 0
    /// The number of entries made by a processor.
    public var variants = 0
    /// The number of expired entries.
    public var expired = 0
    /// Whether `expired` includes the entries that expired in the current hour. Counting those reads a long table.
    public var isExpiredExact = true
    /// The bytes of all entries; shared content counts once per entry.
    public var bytes: Int64 = 0
    /// The number of files; equal content is stored once.
    public var objects = 0
    /// The bytes of all files.
    public var stored: Int64 = 0
    /// The counts of cache hits and misses.
    public var reads = ReadCounts()

    package init() {}
}

/// The entries with one label: a host, a format, an age or a tag.
public struct CacheShare: Sendable, Equatable {
    /// The host, the format, the age or the tag.
    public let name: String
    /// The number of entries.
    public let entries: Int
    /// The bytes of their images.
    public let bytes: Int64
}

extension Connection {
    private static let sums = Query(
        "SELECT entries, variants, bytes, objects, stored FROM totals")
    private static let expiredHours = Query("SELECT CAST(total(entries) AS INTEGER) FROM expiries WHERE hour < ?1")
    private static let expiredNow = Query(
        """
        SELECT CASE WHEN (SELECT entries FROM expiries WHERE hour = ?1) > 0
        THEN (SELECT count(*) FROM times WHERE expires <= ?2 AND expires >= ?1 * 3600000) ELSE 0 END
        """)
    private static let storedBytes = Query("SELECT stored FROM totals")
    private static let hostShares = Query(
        "SELECT name, entries, bytes FROM hosts WHERE entries > 0 ORDER BY bytes DESC, name")
    private static let formatShares = Query(
        "SELECT name, entries, bytes FROM formats WHERE entries > 0 ORDER BY bytes DESC, name")

    /// The number of rows that take two or three milliseconds to read.
    private static let shortTable = 65_536

    /// Returns the sums. `exactly` also counts entries that expired in the current hour, which takes tens of
    /// milliseconds with a million entries.
    func totals(at now: Timestamp, exactly: Bool) throws(StorageError) -> CacheTotals {
        let sums = try first(Self.sums) { row in
            var totals = CacheTotals()
            (totals.entries, totals.variants, totals.bytes) = (Int(row.count(0)), Int(row.count(1)), row.count(2))
            (totals.objects, totals.stored) = (Int(row.count(3)), row.count(4))
            return totals
        }
        guard var totals = sums else { throw sumsAreMissing }
        let hour = now.milliseconds / 3_600_000
        totals.expired = try first(Self.expiredHours, hour) { Int($0.count(0)) } ?? 0
        // Only the current hour's entries must be counted one by one, and no index finds them.
        guard exactly || totals.entries <= Self.shortTable else {
            totals.isExpiredExact = false
            return totals
        }
        totals.expired += try first(Self.expiredNow, hour, now.milliseconds) { Int($0.count(0)) } ?? 0
        return totals
    }

    /// Returns the bytes of all objects, including the changes of this transaction.
    func storedSize() throws(StorageError) -> Int64 {
        guard let stored = try first(Self.storedBytes, read: { $0.int64(0) }) else { throw sumsAreMissing }
        return stored.adding(saturating: tally.stored)
    }

    private var sumsAreMissing: StorageError { .corruptIndex(path: path, detail: "its sums are missing") }

    func hosts() throws(StorageError) -> [CacheShare] { try shares(Self.hostShares) }

    func formats() throws(StorageError) -> [CacheShare] { try shares(Self.formatShares) }

    func shares(_ query: Query) throws(StorageError) -> [CacheShare] {
        try all(query) { CacheShare(name: $0.text(0), entries: Int($0.count(1)), bytes: $0.count(2)) }
    }
}

extension Connection {
    private static let addTotals = Query(
        """
        UPDATE totals SET entries = entries + ?1, variants = variants + ?2, bytes = bytes + ?3,
            objects = objects + ?4, stored = stored + ?5
        """)

    /// Adds this transaction's changes to the sums. Must be called before every commit.
    func writeTally() throws(StorageError) {
        guard tally != Tally() else { return }
        let done = tally
        tally = Tally()
        try run(Self.addTotals, done.entries, done.variants, done.bytes, done.objects, done.stored)
        for (host, share) in done.hosts { try run(Self.addHost, share.entries, share.bytes, host) }
        for (format, share) in done.formats { try run(Self.addFormat, share.entries, share.bytes, format) }
        for (hour, share) in done.ages { try run(Self.addAge, share.entries, share.bytes, hour) }
        for (hour, entries) in done.expiries { try run(Self.addExpiry, entries, hour) }
    }
}
