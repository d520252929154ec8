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
        entries += count
        if entry.isVariant { variants += count }
        bytes = bytes.adding(saturating: count.multiplied(saturating: entry.size))
        hosts[entry.host, default: Share()].add(entry.size, count)
        formats[entry.format, default: Share()].add(entry.size, count)
        ages[entry.created / Self.hour, default: Share()].add(entry.size, count)
    }

    mutating func addObject(size: Int64, count: Int64) {
        objects += count
        stored = stored.adding(saturating: count.multiplied(saturating: size))
    }

    mutating func addExpiry(_ expires: Int64, count: Int64) { expiries[expires / Self.hour, default: 0] += count }
}

extension Tally.Share {
    fileprivate mutating func add(_ size: Int64, _ count: Int64) {
        entries += count
        bytes = bytes.adding(saturating: count.multiplied(saturating: size))
    }
}
