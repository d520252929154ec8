/// A hash table of transfers by number, with linear probing. Confined to the I/O thread.
///
/// A dictionary took 2,000 instructions per transfer, most of them for a hash that resists attacks. These numbers come
/// from this process alone.
struct TransferTable {
    /// The slots, a power of two. Each transfer is in the first slot that was free, from its number's slot on.
    private var slots: [Transfer?] = Array(repeating: nil, count: 64)
    private(set) var count = 0

    var all: [Transfer] { slots.compactMap { $0 } }

    subscript(id: UInt64) -> Transfer? { find(id).flatMap { slots[$0] } }

    /// Inserts a transfer whose number is not in the table.
    mutating func insert(_ transfer: Transfer) {
        if 2 * (count + 1) > slots.count {
            let old = slots
            slots = Array(repeating: nil, count: 2 * old.count)
            for case let transfer? in old { place(transfer) }
        }
        place(transfer)
        count += 1
    }

    mutating func remove(_ id: UInt64) {
        guard var gap = find(id) else { return }
        slots[gap] = nil
        count -= 1
        // Move up the transfers behind the gap that probing would no longer find.
        var at = gap
        while true {
            at = next(at)
            guard let transfer = slots[at] else { return }
            let home = slot(of: transfer.ticket.id)
            guard (at &- home) & (slots.count - 1) >= (at &- gap) & (slots.count - 1) else { continue }
            slots.swapAt(gap, at)
            gap = at
        }
    }

    private mutating func place(_ transfer: Transfer) {
        var at = slot(of: transfer.ticket.id)
        while slots[at] != nil { at = next(at) }
        slots[at] = transfer
    }

    private func find(_ id: UInt64) -> Int? {
        var at = slot(of: id)
        while let transfer = slots[at] {
            if transfer.ticket.id == id { return at }
            at = next(at)
        }
        return nil
    }

    private func slot(of id: UInt64) -> Int {
        Int(truncatingIfNeeded: (id &* 0x9e37_79b9_7f4a_7c15) >> 32) & (slots.count - 1)
    }

    private func next(_ slot: Int) -> Int { (slot + 1) & (slots.count - 1) }
}
