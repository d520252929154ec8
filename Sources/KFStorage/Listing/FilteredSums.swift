import Glibc
import KFSystem

extension Connection {
    /// Returns the sums over the entries that a filter selects, in four scans.
    func sums(_ filter: EntryFilter, at now: Timestamp) throws(StorageError) -> FilteredSums {
        let tables = """
            FROM entries e JOIN times t ON t.id = e.id JOIN hosts h ON h.id = e.host JOIN formats f ON f.id = e.format
            JOIN objects o ON o.id = e.object \(try filter.condition(hasTags: hasTags))
            """
        var sums = FilteredSums()
        try forEach(
            matching: filter,
            """
            SELECT h.name, f.name, \(AgeStep.sql("e.created", now: "?16")), count(*), CAST(total(e.size) AS INTEGER),
            count(e.parent), CAST(total(t.expires <= ?16) AS INTEGER) \(tables) GROUP BY e.host, e.format, 3
            """
        ) {
            now.milliseconds.bind(to: $0, at: 16)
        } _: { row in
            let (entries, bytes) = (Int(row.count(3)), row.count(4))
            sums.totals.entries += entries
            sums.totals.bytes = sums.totals.bytes.adding(saturating: bytes)
            sums.totals.variants += Int(row.count(5))
            sums.totals.expired += Int(row.count(6))
            sums.hosts[row.text(0), default: (0, 0)].entries += entries
            sums.formats[row.text(1), default: (0, 0)].entries += entries
            let age = sums.ages[row.int64(2)] ?? (0, 0)
            sums.ages[row.int64(2)] = (age.entries + entries, age.bytes.adding(saturating: bytes))
            return true
        }
        try eachFile(filter, "''", tables) { _, files, bytes in
            (sums.totals.objects, sums.totals.stored) = (files, bytes)
        }
        try eachFile(filter, "h.name", tables) { name, _, bytes in sums.hosts[name]?.bytes = bytes }
        try eachFile(filter, "f.name", tables) { name, _, bytes in sums.formats[name]?.bytes = bytes }
        return sums
    }

    /// Calls `body` with the files of each group of entries and their bytes. A file that several entries share counts once.
    private func eachFile(
        _ filter: EntryFilter, _ group: String, _ tables: String, _ body: (String, Int, Int64) -> Void
    ) throws(StorageError) {
        try forEach(
            matching: filter,
            """
            SELECT name, count(*), CAST(total(size) AS INTEGER)
            FROM (SELECT DISTINCT \(group) AS name, o.id, o.size AS size \(tables)) GROUP BY name
            """
        ) { row in
            body(row.text(0), Int(row.count(1)), row.count(2))
            return true
        }
    }
}

/// The steps of age since the store: under an hour, a day, a week, 30 days, and older. They are counted back from now.
enum AgeStep {
    private static let steps: [(name: String, hours: Int64)] = [("1h", 1), ("1d", 24), ("7d", 168), ("30d", 720)]

    /// Returns the SQL for the step of a time in milliseconds. What is in the future, by a wrong clock, is new.
    static func sql(_ time: String, now: String) -> String {
        steps.map { "(\(now) - (\(time)) >= \($0.hours * Tally.hour))" }.joined(separator: " + ")
    }

    static func shares(_ sums: [Int64: FilteredSums.Sum]) -> [CacheShare] {
        (steps.map(\.name) + ["older"]).enumerated().map { step, name in
            let sum = sums[Int64(step)] ?? (0, 0)
            return CacheShare(name: name, entries: sum.entries, bytes: sum.bytes)
        }
    }
}

/// The sums over the entries that a filter selects, which the index does not keep.
struct FilteredSums {
    typealias Sum = (entries: Int, bytes: Int64)

    var totals = CacheTotals()
    var hosts: [String: Sum] = [:]
    var formats: [String: Sum] = [:]
    /// The sums by the steps of age.
    var ages: [Int64: Sum] = [:]
}

extension DiskStorage {
    /// Returns the totals of the entries that a filter selects, and their shares by host, by format and by age.
    package func summary(
        of filter: EntryFilter
    ) throws(StorageError) -> (totals: CacheTotals, hosts: [CacheShare], formats: [CacheShare], ages: [CacheShare]) {
        // The reads of this process that the index lacks change which entries are selected. If they cannot be written,
        // the index's own times count.
        if filter.needsTimes { bestEffort(settleReads) }
        let now = now()
        let sums = try session.makeReader().sums(filter, at: now)
        return (sums.totals, Self.shares(sums.hosts), Self.shares(sums.formats), AgeStep.shares(sums.ages))
    }

    private static func shares(_ sums: [String: FilteredSums.Sum]) -> [CacheShare] {
        sums.map { CacheShare(name: $0.key, entries: $0.value.entries, bytes: $0.value.bytes) }
            .sorted { ($1.bytes, $0.name) < ($0.bytes, $1.name) }
    }
}

/// The entries of content.
extension Connection {
    private static let entriesByObject = Query("SELECT id FROM entries WHERE object = ?1")

    /// Returns the rows of the objects whose hash begins with these hexadecimal digits, at least 8 of them.
    func objects(hashPrefix digits: String) throws(StorageError) -> [ObjectRow] {
        let first = digits.prefix(16)
        let fill = 16 - first.count
        guard first.count >= 8, let low = UInt64(first + String(repeating: "0", count: fill), radix: 16),
            let high = UInt64(first + String(repeating: "f", count: fill), radix: 16)
        else { return [] }
        // An object may be in one of the rows after that of its hash.
        let last = Int64(bitPattern: high).adding(saturating: EntryKey.probes)
        let start = min(Int64(bitPattern: low), .max - EntryKey.probes)
        return try objects(in: start...last).filter { $0.object.digest.hex.hasPrefix(digits) }
    }

    /// Returns the entries of an object. Scans the table: an index for this rare query is not worth its cost.
    func entries(ofObject row: Int64) throws(StorageError) -> [Entry] {
        try all(Self.entriesByObject, row) { row throws(StorageError) in try taggedEntry(row: row.int64(0)) }
    }
}

extension DiskStorage {
    /// Returns the entries of each object whose SHA-256 begins with these hexadecimal digits, at least 8 of them.
    package func entries(hashPrefix digits: String) throws(StorageError) -> [[Entry]] {
        let reader = try session.makeReader()
        return try reader.objects(hashPrefix: digits).map { (object) throws(StorageError) in
            try reader.entries(ofObject: object.row)
        }
    }

    /// Returns the SHA-256 of a file's bytes: 64 hexadecimal digits.
    package static func sha256(ofFile path: String) throws(StorageError) -> String {
        let file = try FileDescriptor.open(path, O_RDONLY)
        guard try !file.status().isDirectory else { throw .system(call: "read", path: path, errno: EISDIR) }
        return try file.digest().hex
    }
}
