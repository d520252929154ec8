/// The resting transfers, by number, with the time at which each is queued again. Confined to the I/O thread.
struct RestQueue {
    struct Entry: HeapElement {
        let id: UInt64
        let end: MonotonicTime

        func precedes(_ other: Entry) -> Bool { end < other.end }
    }

    private(set) var ends: [UInt64: MonotonicTime] = [:]
    /// The entries by time. An entry that `ends` does not confirm is void; the first entry is never void.
    private(set) var entries = Heap<Entry>()

    var nextEnd: MonotonicTime? { entries.first?.end }

    func contains(_ id: UInt64) -> Bool { ends[id] != nil }

    mutating func insert(_ id: UInt64, until end: MonotonicTime) {
        ends[id] = end
        entries.insert(Entry(id: id, end: end))
        dropVoid()
    }

    /// Removes a transfer. Returns false if it does not rest.
    mutating func remove(_ id: UInt64) -> Bool {
        guard ends.removeValue(forKey: id) != nil else { return false }
        dropVoid()
        return true
    }

    /// Removes and returns a transfer whose rest is over.
    mutating func popFirst(now: MonotonicTime) -> UInt64? {
        guard let first = entries.first, first.end <= now else { return nil }
        _ = entries.popFirst()
        ends[first.id] = nil
        dropVoid()
        return first.id
    }

    private mutating func dropVoid() {
        entries.dropVoid(live: ends.count) { [ends] in ends[$0.id] != $0.end }
    }
}
