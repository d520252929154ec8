/// The queue of one host, and the facts known about the host. Confined to the I/O thread. It calls no other code, so
/// its fields need no checks for overlapping access.
final class HostQueue {
    /// The state of the host's name lookup. Until the name is known, one transfer leads alone: libcurl would start a
    /// thread for each of eight concurrent lookups of the same name.
    enum Lookup: Equatable {
        case unknown
        case led(by: UInt64)
        case known(until: MonotonicTime)
        /// The last lookup failed. Until then, transfers fail without another.
        case failed(until: MonotonicTime)
    }

    /// The scheduler's list that contains the host.
    enum Listing: Equatable {
        case none
        /// Ready to start, with the priority of the host's first transfer.
        case ready(Float)
        /// Waiting for the end of a rest, or for the rate.
        case sleeping
        /// Waiting for a resolver thread.
        case starved
    }

    let name: String
    /// Whether the name is a numeric address, which needs no lookup.
    let isNumeric: Bool
    @exclusivity(unchecked) var active = 0
    @exclusivity(unchecked) var lookup = Lookup.unknown
    /// The number of lookups that have failed in a row.
    @exclusivity(unchecked) var failedLookups = 0
    /// The DNS cache that has the host's name; nil until `Shares` chooses one.
    @exclusivity(unchecked) var names: Share?
    @exclusivity(unchecked) var state: HostState
    /// The present rest, if no transfer waits for its end yet.
    @exclusivity(unchecked) var unawaited: HostRest?
    /// The number of the host's last start, so that hosts of equal priority take turns.
    @exclusivity(unchecked) var turn: UInt64 = 0
    @exclusivity(unchecked) var listing = Listing.none
    /// The stamp of the host's valid entry in the scheduler's lists; entries with another stamp are void.
    @exclusivity(unchecked) var listingStamp = 0

    /// Whether the host has requested a client certificate.
    @exclusivity(unchecked) var wantsCertificate = false
    /// Whether the host has rested once after a response, see `Scheduler.observe`.
    @exclusivity(unchecked) var isObserved = false
    /// Whether a connection of the host was free of stray bytes after such a rest.
    @exclusivity(unchecked) var isProven = false
    /// The time from which connections of the host are reused: never once it has sent bytes after a body.
    @exclusivity(unchecked) var reuseStart = MonotonicTime.distantPast

    @exclusivity(unchecked) private var entries = Heap<Ticket.Entry>()
    @exclusivity(unchecked) private(set) var waiting = 0

    init(name: String, isNumeric: Bool, _ state: HostState) {
        self.name = name
        self.isNumeric = isNumeric
        self.state = state
    }

    /// The time until which the result of the last lookup counts; the earliest time without one.
    var lookupEnd: MonotonicTime {
        switch lookup {
        case .known(let until), .failed(let until): until
        case .unknown, .led: MonotonicTime(nanoseconds: .min)
        }
    }

    /// Returns the error that a waiting transfer ends with, because the last lookup of the name failed, the circuit is open,
    /// or the host rests and the transfer does not wait for that.
    func refusal(of ticket: Ticket? = nil, now: MonotonicTime) -> TransferError? {
        if case .failed(let until) = lookup, until > now { return .resolve(host: name, isRemembered: true) }
        if let left = state.refusal(now: now) { return .circuitOpen(host: name, left: left) }
        guard let ticket, rests(tooLongFor: ticket, now: now) else { return nil }
        return .circuitOpen(host: name, left: now.span(to: state.rest))
    }

    /// Whether the host rests for longer than the transfer waits.
    func rests(tooLongFor ticket: Ticket, now: MonotonicTime) -> Bool {
        state.rest > now && state.rest > now + ticket.patience
    }

    var isBusy: Bool { waiting > 0 || active > 0 }

    /// Whether transfers may share the host's connections, at once or one after another.
    func reusesConnections(now: MonotonicTime) -> Bool { reuseStart <= now }

    /// Gives each transfer a connection of its own for a while.
    func separate(now: MonotonicTime) { reuseStart = max(reuseStart, now + Self.separation) }

    private static let separation = Duration.seconds(10)

    /// The time until which an idle host is kept.
    func keepEnd(now: MonotonicTime) -> MonotonicTime {
        state.isNotable(now: now) ? max(lookupEnd, now + Scheduler.nameLifetime) : lookupEnd
    }

    func enqueue(_ ticket: Ticket) {
        entries.insert(ticket.enter())
        waiting += 1
    }

    func change(_ ticket: Ticket, priority: Float) {
        if let entry = ticket.change(priority: priority) { entries.insert(entry) }
        dropVoid()
    }

    /// Removes a transfer that was not started.
    func withdraw(_ ticket: Ticket) {
        guard ticket.isWaiting else { return }
        ticket.leave()
        waiting -= 1
        dropVoid()
    }

    var first: Ticket? {
        dropVoid()
        return entries.first?.ticket
    }

    func popFirst() -> Ticket? {
        dropVoid()
        guard let ticket = entries.popFirst()?.ticket else { return nil }
        ticket.leave()
        waiting -= 1
        return ticket
    }

    private func dropVoid() { entries.dropVoid(live: waiting) { !$0.isCurrent } }
}

protocol HeapElement {
    func precedes(_ other: Self) -> Bool
}

/// A binary heap. `first` is the element that precedes all others.
struct Heap<Element: HeapElement> {
    private var elements: [Element] = []

    var first: Element? { elements.first }
    var count: Int { elements.count }

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

    /// Removes void elements from the front, and all of them if they outnumber the `live` ones: those of cancelled
    /// transfers must not accumulate behind one that waits for long.
    mutating func dropVoid(live: Int, where isVoid: (Element) -> Bool) {
        while let first, isVoid(first) { _ = popFirst() }
        guard count > 64, count > 2 * live else { return }
        let kept = elements.filter { !isVoid($0) }
        elements.removeAll(keepingCapacity: true)
        for element in kept { insert(element) }
    }
}

/// A transfer's place in the queue of its host. Confined to the I/O thread.
final class Ticket {
    let id: UInt64
    /// The transfer's age; lower is older. It is kept over redirects, so that each hop does not queue behind newer
    /// transfers.
    let order: UInt64
    /// The longest rest of its host for which the transfer waits; it is refused for a longer one.
    let patience: Duration
    @exclusivity(unchecked) private(set) var priority: Float
    /// The stamp of the valid entry in the queue; entries with another stamp are void.
    @exclusivity(unchecked) private(set) var stamp = 0
    @exclusivity(unchecked) private(set) var isWaiting = false
    /// Whether the transfer's place was given to another one during a slow name lookup. It starts again afterwards.
    @exclusivity(unchecked) var isAside = false
    /// The time of the last start.
    @exclusivity(unchecked) var startedAt = MonotonicTime.distantPast
    /// Whether the host had not answered by then, and the transfer holds one of the places for such hosts.
    @exclusivity(unchecked) var isUnproven = false
    /// Whether the host has begun to answer this start.
    @exclusivity(unchecked) var hasBegun = false
    /// The change of the host's rate by the last start, which `Scheduler.refuse` reverts.
    @exclusivity(unchecked) var reservation: (before: MonotonicTime, after: MonotonicTime)?

    init(id: UInt64, order: UInt64, priority: Float, patience: Duration = HostState.longestRest) {
        self.id = id
        self.patience = patience
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

    /// Changes the priority. Returns the new entry of a waiting transfer; nil if the queue does not change.
    func change(priority new: Float) -> Entry? {
        guard new != priority, !new.isNaN else { return nil }
        priority = new
        return isWaiting ? enter() : nil
    }
}
