/// A transfer's place in the queue of its host. Confined to the I/O thread.
final class Ticket {
    let id: UInt64
    /// Lower is older; a transfer keeps it over redirects, so it does not queue behind newer ones at each hop.
    let order: UInt64
    @exclusivity(unchecked) private(set) var priority: Float
    /// An entry of the queue with another stamp is void.
    @exclusivity(unchecked) private(set) var stamp = 0
    @exclusivity(unchecked) private(set) var isWaiting = false
    /// What its last start did to its host: nothing starts there before `after`, in place of `before`.
    @exclusivity(unchecked) var reservation: (before: MonotonicTime, after: MonotonicTime)?

    init(id: UInt64, order: UInt64, priority: Float) {
        self.id = id
        self.order = order
        self.priority = priority.isNaN ? 0 : priority
    }

    struct Entry: HeapElement {
        let ticket: Ticket
        let order: UInt64
        let stamp: Int
        let priority: Float

        var isCurrent: Bool { ticket.isWaiting && ticket.stamp == stamp }

        func precedes(_ other: Entry) -> Bool {
            priority != other.priority ? priority > other.priority : order < other.order
        }
    }

    func enter() -> Entry {
        isWaiting = true
        stamp += 1
        return Entry(ticket: self, order: order, stamp: stamp, priority: priority)
    }

    func leave() { isWaiting = false }

    /// nil when nothing changes for the queue.
    func change(priority new: Float) -> Entry? {
        guard new != priority, !new.isNaN else { return nil }
        priority = new
        return isWaiting ? enter() : nil
    }
}
