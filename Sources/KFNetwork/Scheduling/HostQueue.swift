/// What waits for one host, and what is known of it. Confined to the I/O thread, and calls out nowhere: its fields need no
/// check for overlapping access.
final class HostQueue {
    /// The state of the host's name. Until it is known, one transfer goes ahead alone: libcurl would start a thread
    /// for each of eight that look up the same name at once.
    enum Lookup: Equatable {
        case unknown
        case led(by: UInt64)
        case known(until: MonotonicTime)
    }

    /// Which of the scheduler's lists it is on.
    enum Listing: Equatable {
        case none
        /// With the priority of its first transfer.
        case ready(Float)
        case sleeping
        /// Waits for a resolver thread.
        case starved
    }

    let name: String
    /// A numeric host needs no lookup.
    let isNumeric: Bool
    @exclusivity(unchecked) var active = 0
    @exclusivity(unchecked) var lookup = Lookup.unknown
    /// The scheduler's `nameGeneration` when it was last served.
    @exclusivity(unchecked) var nameGeneration = 0
    /// Nothing starts before: the rate, or a pause that the server asked for.
    @exclusivity(unchecked) var notBefore = MonotonicTime(nanoseconds: 0)
    /// When it was last served, so that hosts of equal priority take turns.
    @exclusivity(unchecked) var turn: UInt64 = 0
    @exclusivity(unchecked) var listing = Listing.none
    /// An entry of the scheduler's lists with another stamp is void.
    @exclusivity(unchecked) var listingStamp = 0

    /// The host asked for the client's certificate.
    @exclusivity(unchecked) var wantsCertificate = false
    /// The host has rested once after a response, see `Scheduler.observe`.
    @exclusivity(unchecked) var isObserved = false
    /// A connection of the host that had rested for as long held no stray bytes.
    @exclusivity(unchecked) var isProven = false
    /// The host has sent bytes after a body. None of its connections is used twice.
    @exclusivity(unchecked) var sendsExcess = false

    @exclusivity(unchecked) private var entries = Heap<Ticket.Entry>()
    @exclusivity(unchecked) private(set) var waiting = 0

    init(name: String, isNumeric: Bool) {
        self.name = name
        self.isNumeric = isNumeric
    }

    func enqueue(_ ticket: Ticket) {
        entries.insert(ticket.enter())
        waiting += 1
    }

    func change(_ ticket: Ticket, priority: Float) {
        if let entry = ticket.change(priority: priority) { entries.insert(entry) }
        compact()
    }

    /// The transfer left the queue without being started.
    func withdraw(_ ticket: Ticket) {
        guard ticket.isWaiting else { return }
        ticket.leave()
        waiting -= 1
        compact()
    }

    var first: Ticket? {
        dropStale()
        return entries.first?.ticket
    }

    func popFirst() -> Ticket? {
        dropStale()
        guard let ticket = entries.popFirst()?.ticket else { return nil }
        ticket.leave()
        waiting -= 1
        return ticket
    }

    private func dropStale() {
        while let entry = entries.first, !entry.isCurrent { _ = entries.popFirst() }
    }

    /// A host that is paused for long must not gather the entries of transfers that were cancelled meanwhile.
    private func compact() {
        if entries.count > 64, entries.count > 2 * waiting { entries.removeAll { !$0.isCurrent } }
    }
}

protocol HeapElement {
    func precedes(_ other: Self) -> Bool
}

/// A binary heap: the element that comes before all others is first.
struct Heap<Element: HeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var count: Int { elements.count }
    var isEmpty: Bool { elements.isEmpty }

    mutating func insert(_ element: Element) {
        elements.append(element)
        elements.withUnsafeMutableBufferPointer { elements in
            var child = elements.count - 1
            while child > 0 {
                let parent = (child - 1) / 2
                guard elements[child].precedes(elements[parent]) else { return }
                elements.swapAt(child, parent)
                child = parent
            }
        }
    }

    mutating func popFirst() -> Element? {
        guard !elements.isEmpty else { return nil }
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        elements.withUnsafeMutableBufferPointer { elements in
            var parent = 0
            while true {
                var best = parent
                let child = 2 * parent + 1
                if child < elements.count, elements[child].precedes(elements[best]) { best = child }
                if child + 1 < elements.count, elements[child + 1].precedes(elements[best]) {
                    best = child + 1
                }
                guard best != parent else { return }
                elements.swapAt(best, parent)
                parent = best
            }
        }
        return first
    }

    mutating func removeAll(where isGone: (Element) -> Bool) {
        let kept = elements.filter { !isGone($0) }
        guard kept.count != elements.count else { return }
        elements.removeAll(keepingCapacity: true)
        for element in kept { insert(element) }
    }
}

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
