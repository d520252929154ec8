import Glibc
import KFSystem

/// Removes many entries in short transactions, so that concurrent writers wait little.
///
/// Many victims are removed in two passes. The first removes objects in the order of their folders, from both halves in
/// turn. The second removes the entries that have lost their object, in the entries' order. Between the passes, or after
/// a crash, there are entries without objects: they are misses, and the next eviction begins with them.
///
/// Few victims are removed together with their objects.
struct BulkRemoval {
    /// The longest time that a transaction holds the write lock.
    private static let slice: Duration = .milliseconds(15)
    /// The pause between transactions in microseconds. The release of the lock wakes a waiting process, which needs a
    /// moment to take it.
    private static let pause: UInt32 = 300

    /// The number of objects, or of entries, between two looks at the clock.
    private static let step = 4 * Connection.together

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
        let atOnce = victims.count < many
        let groups = atOnce ? Self.groups(victims) : Self.halves(Self.groups(victims))
        let names = note != nil
        var removal = Removal()
        var left: [Victim] = []
        let finish = { (done: Outcome) in
            removal.add(done.removed)
            left += done.dangling
            done.rows.forEach(removed)
            if let note { done.names.forEach(note) }
        }
        try slices(of: groups) { groups, stored, connection throws(StorageError) in
            // The size when the transaction began, plus its own changes.
            let present = stored.adding(saturating: connection.tally.stored)
            let excess = limit.map { present.subtracting(saturating: $0) }
            if let excess, excess <= 0 { return nil }
            guard atOnce, let group = groups.first else {
                return try removeObjects(of: groups, freeing: excess ?? .max, naming: names, connection)
            }
            return (try removeObject(of: group, naming: names, connection), 1)
        } each: {
            finish($0)
        }
        left.sort { $0.row < $1.row }
        try slices(of: left) { left, _, connection throws(StorageError) in
            let some = left.prefix(Self.step)
            var outcome = Outcome()
            if names { for victim in some { try name(victim, connection, in: &outcome) } }
            try connection.removeDangling(some)
            outcome.removed.add(entries: some.count, bytes: 0)
            outcome.rows = some.map(\.row)
            return (outcome, some.count)
        } each: {
            finish($0)
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

    /// Takes groups from the first half of the objects and from the second in turn, so that each statement is about
    /// files of two folders: two threads that remove files of one folder wait for each other.
    private static func halves(_ groups: [ArraySlice<Victim>]) -> [ArraySlice<Victim>] {
        let (size, middle) = (Self.step / 2, groups.count / 2)
        var mixed: [ArraySlice<Victim>] = []
        mixed.reserveCapacity(groups.count)
        for start in stride(from: 0, to: groups.count - middle, by: size) {
            mixed += groups[..<middle].dropFirst(start).prefix(size)
            mixed += groups[middle...].dropFirst(start).prefix(size)
        }
        return mixed
    }

    /// Removes the objects of the first groups, and leaves the entries dangling that have lost theirs. Ends when that
    /// frees so many bytes.
    private func removeObjects(
        of groups: ArraySlice<ArraySlice<Victim>>, freeing most: Int64, naming: Bool, _ connection: Connection
    ) throws(StorageError) -> (value: Outcome, count: Int) {
        var outcome = Outcome()
        let some = groups.prefix(Self.step)
        // Only the access times are read, because a page holds ten times as many of them as of entries. Storing an entry
        // again moves its time too.
        let times = try connection.accessTimes(rows: some.joined().map(\.row))
        var objects = try connection.objects(rows: some.compactMap(\.first?.object))[...]
        var cleared: [(row: Int64, size: Int64)] = []
        var files: [StoredObject] = []
        var (count, freed) = (0, Int64(0))
        for group in some where freed < most {
            count += 1
            var still: [Victim] = []
            for victim in group {
                if times[victim.row] == victim.accessed {
                    still.append(victim)
                } else if !sparesUsed, try has(victim, connection) {
                    still.append(victim)
                }
            }
            guard let row = still.first?.object else { continue }
            objects = objects.drop { $0.unused.row < row }
            guard let object = objects.first, object.unused.row == row else {
                outcome.dangling += still
                continue
            }
            guard object.references <= still.count else {
                try remove(still, of: object, naming: naming, connection, &outcome)
                continue
            }
            if let file = object.unused.object { files.append(file) }
            cleared.append((row, object.size))
            freed = freed.adding(saturating: object.size)
            outcome.dangling += still
            outcome.removed.add(entries: 0, bytes: object.unused.object?.size ?? 0)
        }
        try directory.objects.clear(files) { () throws(StorageError) in try connection.deleteObjects(cleared) }
        return (outcome, count)
    }

    /// Removes the unchanged victims of an object together with it.
    private func removeObject(
        of group: ArraySlice<Victim>, naming: Bool, _ connection: Connection
    ) throws(StorageError) -> Outcome {
        var outcome = Outcome()
        var still: [Victim] = []
        for victim in group where try has(victim, connection) { still.append(victim) }
        guard let first = still.first else { return outcome }
        guard let object = try connection.object(row: first.object) else {
            outcome.dangling = still
            return outcome
        }
        try remove(still, of: object, naming: naming, connection, &outcome)
        return outcome
    }

    /// Removes entries of an object, and the object if it has no others.
    private func remove(
        _ victims: [Victim], of object: Connection.CountedObject, naming: Bool, _ connection: Connection,
        _ outcome: inout Outcome
    ) throws(StorageError) {
        for victim in victims {
            if naming { try name(victim, connection, in: &outcome) }
            try connection.remove(row: victim.row, from: directory)
            outcome.rows.append(victim.row)
        }
        let freed = object.references <= victims.count ? object.unused.object?.size ?? 0 : 0
        outcome.removed.add(entries: victims.count, bytes: freed)
    }

    private func name(_ victim: Victim, _ connection: Connection, in outcome: inout Outcome) throws(StorageError) {
        if let name = try connection.name(row: victim.row) { outcome.names.append(name) }
    }

    /// Returns whether a victim has the object with which it was found, and was not used since, if that spares it.
    private func has(_ victim: Victim, _ connection: Connection) throws(StorageError) -> Bool {
        guard let now = try connection.victim(row: victim.row) else { return false }
        return now.object == victim.object && (!sparesUsed || now.accessed == victim.accessed)
    }

    /// Calls `body` with the remaining items until all are done, in each transaction as often as its time allows. `body`
    /// returns how many it has handled, or nil to finish the whole removal. `stored`: the bytes of all objects when the
    /// transaction began.
    private func slices<Item: Sendable>(
        of items: [Item],
        _ body: (ArraySlice<Item>, _ stored: Int64, Connection) throws(StorageError) -> (value: Outcome, count: Int)?,
        each: (Outcome) -> Void
    ) throws(StorageError) {
        var left = items[...]
        while !left.isEmpty {
            if left.startIndex > 0 { usleep(Self.pause) }
            let items = left
            let (done, rest) = try writer.perform {
                connection throws(StorageError) -> ([Outcome], ArraySlice<Item>) in
                let start = ContinuousClock.now
                let stored = try connection.storedSize()
                var (done, rest) = ([Outcome](), items)
                repeat {
                    guard let (value, count) = try body(rest, stored, connection) else { return (done, []) }
                    done.append(value)
                    rest.removeFirst(count)
                } while !rest.isEmpty && start.duration(to: .now) < Self.slice
                return (done, rest)
            }
            done.forEach(each)
            left = rest
        }
    }
}
