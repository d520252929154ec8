/// Transfers that wait for a moment rather than for a place, by their numbers. Confined to the I/O thread.
struct RestQueue {
    private struct Entry: HeapElement {
        let id: UInt64
        let end: MonotonicTime

        func precedes(_ other: Entry) -> Bool { end < other.end }
    }

    private var ends: [UInt64: MonotonicTime] = [:]
    /// An entry that `ends` does not confirm is void. The first entry is never void.
    private var entries = Heap<Entry>()

    var count: Int { ends.count }
    /// With the void ones.
    var entryCount: Int { entries.count }

    /// When the first rest ends.
    var nextEnd: MonotonicTime? { entries.first?.end }

    func contains(_ id: UInt64) -> Bool { ends[id] != nil }

    mutating func insert(_ id: UInt64, until end: MonotonicTime) {
        ends[id] = end
        entries.insert(Entry(id: id, end: end))
        dropVoid()
    }

    /// False for a transfer that does not rest.
    mutating func remove(_ id: UInt64) -> Bool {
        guard ends.removeValue(forKey: id) != nil else { return false }
        dropVoid()
        // Long rests must not gather the entries of transfers that were cancelled meanwhile.
        if entries.count > 64, entries.count > 2 * ends.count { entries.removeAll { [ends] in ends[$0.id] != $0.end } }
        return true
    }

    /// A transfer whose rest is over.
    mutating func popFirst(now: MonotonicTime) -> UInt64? {
        guard let first = entries.first, first.end <= now else { return nil }
        _ = entries.popFirst()
        ends[first.id] = nil
        dropVoid()
        return first.id
    }

    private mutating func dropVoid() {
        while let entry = entries.first, ends[entry.id] != entry.end { _ = entries.popFirst() }
    }
}
