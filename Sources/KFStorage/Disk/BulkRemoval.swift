import Glibc
import KFSystem

/// Removes many entries in short transactions, so that concurrent writers wait little.
///
/// Many victims are removed in two passes. The first removes objects in their own order, which is that of their
/// folders. The second removes the entries that have lost their object, in the entries' order. Between the passes, or
/// after a crash, there are entries without objects: they are misses, and the next eviction begins with them.
///
/// Few victims are removed together with their objects.
struct BulkRemoval {
    /// The longest time that a transaction holds the write lock.
    private static let slice: Duration = .milliseconds(15)
    /// The pause between transactions in microseconds. The release of the lock wakes a waiting process, which needs a
    /// moment to take it.
    private static let pause: UInt32 = 300

    /// The number of items between two looks at the clock.
    private static let timing = 16

    let writer: IndexWriter
    let directory: CacheDirectory
    /// Whether entries that were used since they were found stay.
    let sparesUsed: Bool
    /// The number of victims from which two passes over the index pay off.
    var many = 8192
    /// Receives the row of each entry after its removal.
    var removed: (Int64) -> Void = { _ in }

    /// Removes victims until the objects take no more than `limit` bytes. After each transaction, `note` receives the
    /// removed entries; without it no names are looked up.
    func remove(
        _ victims: some Collection<Victim>, downTo limit: Int64? = nil, _ note: ((EntryName) -> Void)? = nil
    ) throws(StorageError) -> Removal {
        let groups = Self.groups(victims)
        let names = note != nil
        var removal = Removal()
        var left: [Victim] = []
        let atOnce = victims.count < many
        try slices(of: groups) { slice, connection throws(StorageError) in
            let stored = try connection.storedSize()
            return try Self.work(on: slice) { group throws(StorageError) in
                // The size when the transaction began, plus its own changes.
                if let limit, stored.adding(saturating: connection.tally.stored) <= limit { return nil }
                return try removeObject(of: group, atOnce: atOnce, naming: names, connection)
            }
        } each: { (done: Outcome) in
            removal.add(done.removed)
            left += done.dangling
            done.rows.forEach(removed)
            if let note { done.names.forEach(note) }
        }
        left.sort { $0.row < $1.row }
        try slices(of: left) { slice, connection throws(StorageError) in
            try Self.work(on: slice) { victim throws(StorageError) -> (row: Int64, name: EntryName?)? in
                let name = names ? try connection.name(row: victim.row) : nil
                try connection.removeDangling(victim)
                return (victim.row, name)
            }
        } each: { row, name in
            removal.add(entries: 1, bytes: 0)
            removed(row)
            if let note, let name { note(name) }
        }
        return removal
    }

    private struct Outcome: Sendable {
        var removed = Removal()
        var names: [EntryName] = []
        var rows: [Int64] = []
        var dangling: [Victim] = []
    }

    /// Groups the victims that share an object, in the objects' order.
    private static func groups(_ victims: some Collection<Victim>) -> [ArraySlice<Victim>] {
        let sorted = victims.sorted { ($0.object, $0.row) < ($1.object, $1.row) }
        var groups: [ArraySlice<Victim>] = []
        var start = 0
        for index in sorted.indices where index + 1 == sorted.count || sorted[index + 1].object != sorted[index].object
        {
            groups.append(sorted[start...index])
            start = index + 1
        }
        return groups
    }

    private func removeObject(
        of group: ArraySlice<Victim>, atOnce: Bool, naming: Bool, _ connection: Connection
    ) throws(StorageError) -> Outcome {
        var outcome = Outcome()
        var still: [Victim] = []
        for victim in group where try isUnchanged(victim, atOnce: atOnce, connection) { still.append(victim) }
        guard let first = still.first else { return outcome }
        guard let (references, size, object) = try connection.object(row: first.object) else {
            outcome.dangling = still
            return outcome
        }
        if references <= still.count, !atOnce {
            if let file = object.object { try directory.objects.clear(file) }
            try connection.deleteObject(row: object.row, size: size)
            outcome.dangling = still
            outcome.removed.add(entries: 0, bytes: object.object?.size ?? 0)
        } else {
            for victim in still {
                if naming, let name = try connection.name(row: victim.row) { outcome.names.append(name) }
                try connection.remove(row: victim.row, from: directory)
                outcome.rows.append(victim.row)
            }
            let freed = references <= still.count ? object.object?.size ?? 0 : 0
            outcome.removed.add(entries: still.count, bytes: freed)
        }
        return outcome
    }

    /// Returns whether a victim is unchanged since it was found. When there are many, only their access times are read,
    /// because a page holds ten times as many of them. Storing an entry again moves its time too.
    private func isUnchanged(
        _ victim: Victim, atOnce: Bool, _ connection: Connection
    ) throws(StorageError) -> Bool {
        if !atOnce, try connection.accessed(row: victim.row) == victim.accessed { return true }
        guard atOnce || !sparesUsed, let now = try connection.victim(row: victim.row) else { return false }
        return now.object == victim.object && (!sparesUsed || now.accessed == victim.accessed)
    }

    /// The results of a slice, and whether the whole removal is finished.
    private typealias Done<Value> = (values: [Value], isOver: Bool)

    /// Calls `body` for each item until the time of one transaction is used up. A nil from `body` finishes the whole
    /// removal.
    private static func work<Item, Value>(
        on items: ArraySlice<Item>, _ body: (Item) throws(StorageError) -> Value?
    ) throws(StorageError) -> Done<Value> {
        let start = ContinuousClock.now
        var done: [Value] = []
        for item in items {
            guard let value = try body(item) else { return (done, true) }
            done.append(value)
            if done.count % timing == 0, start.duration(to: .now) > slice { break }
        }
        return (done, false)
    }

    /// Calls `body` with the remaining items, in one transaction each time, until all are done.
    private func slices<Item: Sendable, Value: Sendable>(
        of items: [Item], _ body: (ArraySlice<Item>, Connection) throws(StorageError) -> Done<Value>,
        each: (Value) -> Void
    ) throws(StorageError) {
        var next = 0
        while next < items.count {
            if next > 0 { usleep(Self.pause) }
            let first = next
            let done = try writer.perform { connection throws(StorageError) in
                try body(items[first...], connection)
            }
            done.values.forEach(each)
            if done.isOver { return }
            next += done.values.count
        }
    }
}
