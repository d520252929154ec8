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
