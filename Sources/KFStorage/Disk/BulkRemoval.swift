import Glibc

/// Removes many entries in short transactions, so that writers beside it wait little.
///
/// Of many, first the objects in their order, which is that of their folders; then, in their own order, the entries that
/// have none any more. Meanwhile, and when the process dies in between, there are entries without objects: they are
/// misses, and the next eviction begins with them. Few go with their objects at once.
struct BulkRemoval {
    /// A transaction holds the lock no longer than this.
    private static let slice: Duration = .milliseconds(15)
    /// In microseconds: whoever waits for the lock is woken by its release, and needs a moment to take it.
    private static let pause: UInt32 = 300

    /// From so many on, it pays to go over the index twice.
    private static let many = 8192

    let writer: IndexWriter
    let directory: CacheDirectory
    /// What was used since it was found stays.
    let sparesUsed: Bool

    struct Result: Sendable {
        var removal = Removal()
        /// Bytes of the objects that are gone: fewer than the entries', where entries share them.
        var freed: Int64 = 0
    }

    /// Removes until `isDone`, which is asked before each object under the lock. `note` is told what has gone, after each
    /// transaction; without it no names are looked up.
    func remove(
        _ victims: some Collection<Victim>, _ note: ((EntryName) -> Void)? = nil,
        until isDone: @escaping @Sendable (Connection) throws(StorageError) -> Bool = { _ in false }
    ) throws(StorageError) -> Result {
        let groups = Self.groups(victims)
        let names = note != nil
        var result = Result()
        var left: [Victim] = []
        let atOnce = victims.count < Self.many
        try slices(of: groups) { group, connection throws(StorageError) in
            if try isDone(connection) { return nil }
            return try removeObject(of: group, atOnce: atOnce, naming: names, connection)
        } each: { (done: Outcome) in
            result.removal.add(done.removed)
            result.freed = result.freed.adding(saturating: done.freed)
            left += done.dangling
            if let note { done.names.forEach(note) }
        }
        left.sort { $0.row < $1.row }
        try slices(of: left) { victim, connection throws(StorageError) -> Gone? in
            let name = names ? try connection.name(row: victim.row) : nil
            // Stored anew by another: then it has an object again.
            if try connection.isDangling(row: victim.row) { _ = try connection.removeEntry(row: victim.row) }
            return Gone(size: victim.size, name: name)
        } each: {
            result.removal.add(entries: 1, bytes: $0.size)
            if let note, let name = $0.name { note(name) }
        }
        return result
    }

    private struct Gone: Sendable {
        let size: Int64
        let name: EntryName?
    }

    private struct Outcome: Sendable {
        var removed = Removal()
        var names: [EntryName] = []
        var dangling: [Victim] = []
        var freed: Int64 = 0
    }

    /// Victims that share an object, in the objects' order.
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
        for victim in group {
            guard let now = try connection.victim(row: victim.row), now.object == victim.object,
                !sparesUsed || now.accessed == victim.accessed
            else { continue }
            still.append(victim)
        }
        guard let first = still.first else { return outcome }
        guard let (references, object) = try connection.object(row: first.object) else {
            outcome.dangling = still
            return outcome
        }
        if references <= still.count, !atOnce {
            try connection.remove(object, from: directory)
            outcome.dangling = still
            outcome.freed = object.object?.size ?? 0
        } else {
            for victim in still {
                if naming, let name = try connection.name(row: victim.row) { outcome.names.append(name) }
                try connection.remove(row: victim.row, from: directory)
                outcome.removed.add(entries: 1, bytes: victim.size)
            }
            if references <= still.count { outcome.freed = object.object?.size ?? 0 }
        }
        return outcome
    }

    /// Does something for each item, as many as fit in a transaction; a nil ends it all.
    private func slices<Item: Sendable, Value: Sendable>(
        of items: [Item], _ body: @Sendable (Item, Connection) throws(StorageError) -> Value?,
        each: (Value) -> Void
    ) throws(StorageError) {
        var next = 0
        while next < items.count {
            if next > 0 { usleep(Self.pause) }
            let first = next
            let (done, isOver) = try writer.perform { connection throws(StorageError) -> ([Value], Bool) in
                let start = ContinuousClock.now
                var done: [Value] = []
                for item in items[first...] {
                    guard let value = try body(item, connection) else { return (done, true) }
                    done.append(value)
                    if start.duration(to: .now) > Self.slice { break }
                }
                return (done, false)
            }
            done.forEach(each)
            if isOver { return }
            next += done.count
        }
    }
}
