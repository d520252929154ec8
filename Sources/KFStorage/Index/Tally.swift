import KFSystem

/// The changes of a transaction to the sums that the index keeps.
///
/// The sums are written once per transaction instead of by a trigger per row. Seven small updates per entry were a
/// third of a store's time in SQLite, and more than half of a removal's.
struct Tally: Equatable {
    struct Share: Equatable {
        var entries: Int64 = 0
        var bytes: Int64 = 0
    }

    var entries: Int64 = 0
    var variants: Int64 = 0
    var bytes: Int64 = 0
    var objects: Int64 = 0
    /// The bytes of the objects.
    var stored: Int64 = 0
    /// The entries by the rows of `hosts` and of `formats`.
    var hosts: [Int64: Share] = [:]
    var formats: [Int64: Share] = [:]
    /// The entries by the hour of creation and by the hour of expiry.
    var ages: [Int64: Share] = [:]
    var expiries: [Int64: Int64] = [:]

    static let hour: Int64 = 3_600_000

    /// The properties of an entry that the sums depend on.
    struct Facts {
        let isVariant: Bool
        let host: Int64
        let format: Int64
        let size: Int64
        let created: Int64
    }

    /// Adds an entry (`count` is 1) or subtracts one (`count` is -1).
    mutating func add(_ entry: Facts, count: Int64) {
        add(entry, count: count, bytes: count.multiplied(saturating: entry.size))
    }

    /// Adds new entries and their expiries. Neighbours with the same labels and hours, as most are, are summed first,
    /// because each sum is found by a hash.
    mutating func add(_ rows: [EntryRow]) {
        var rest = rows[...]
        while let first = rest.first {
            let same = rest.prefix { $0.isCounted(with: first) }
            var bytes: Int64 = 0
            for row in same { bytes = bytes.adding(saturating: row.entry.object.size) }
            add(first.facts, count: Int64(same.count), bytes: bytes)
            addExpiry(first.entry.expires.milliseconds, count: Int64(same.count))
            rest = rest.dropFirst(same.count)
        }
    }

    private mutating func add(_ entry: Facts, count: Int64, bytes: Int64) {
        entries += count
        if entry.isVariant { variants += count }
        self.bytes = self.bytes.adding(saturating: bytes)
        hosts[entry.host, default: Share()].add(bytes, count)
        formats[entry.format, default: Share()].add(bytes, count)
        ages[entry.created / Self.hour, default: Share()].add(bytes, count)
    }

    mutating func addObject(size: Int64, count: Int64) {
        objects += count
        stored = stored.adding(saturating: count.multiplied(saturating: size))
    }

    mutating func addExpiry(_ expires: Int64, count: Int64) { expiries[expires / Self.hour, default: 0] += count }
}

extension Tally.Share {
    fileprivate mutating func add(_ bytes: Int64, _ count: Int64) {
        entries += count
        self.bytes = self.bytes.adding(saturating: bytes)
    }
}
