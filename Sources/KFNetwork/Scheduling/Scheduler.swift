/// Decides which transfer starts when: the highest priority first, and hosts of equal priority in turn.
///
/// It keeps the limits over all hosts and per host. It has no clock: callers pass the time. Confined to the I/O thread.
struct Scheduler {
    /// The lifetime of a resolved name. libcurl keeps it for 60 s; with 50 s, concurrent transfers do not find it gone.
    static let nameLifetime = Duration.seconds(50)
    /// The number of hosts at which idle hosts without a resolved name are removed.
    static let keptHosts = 256
    /// The greatest number of idle hosts that are kept for their names and for what they have shown, less than 1 KiB each.
    static let keptNames = 16_384
    /// The time after which a name lookup gives its place to another transfer, if none is free. A dead name server
    /// holds a lookup for 10 s and more.
    static let slowLookup = Duration.milliseconds(250)
    /// The time for which the first failed lookup is remembered. Each further failure doubles it, because libcurl does
    /// not tell an unknown name from a name server's transient failure. Half a second is the shortest delay of the default
    /// retry strategy, so that each retry of an image can look the name up again.
    static let failedNameLifetime = Duration.milliseconds(500)
    /// The number of times that `failedNameLifetime` doubles, to 64 s.
    static let failedNameDoublings = 7

    /// The nanoseconds for which a host rests after its first response. A faulty server sends stray bytes soon after the body.
    /// The next request follows the body within 0.1 ms, and libcurl would take later stray bytes for its response.
    static let observation: Int64 = 20_000_000

    private struct Listed: HeapElement {
        let host: HostQueue
        let stamp: Int
        let priority: Float
        let turn: UInt64
        /// The time at which the host is ready; the earliest time once it is.
        let time: MonotonicTime

        var isCurrent: Bool { host.listingStamp == stamp }

        func precedes(_ other: Listed) -> Bool {
            if time != other.time { return time < other.time }
            return priority != other.priority ? priority > other.priority : turn < other.turn
        }
    }

    /// A name lookup that holds a place.
    private struct LookingUp: HeapElement {
        let ticket: Ticket
        let host: HostQueue
        let slowAt: MonotonicTime

        var isCurrent: Bool { host.lookup == .led(by: ticket.id) && !ticket.isAside }

        func precedes(_ other: LookingUp) -> Bool { slowAt < other.slowAt }
    }

    private let limits: EngineConfiguration
    /// The greatest number of active transfers.
    private let most: Int
    private(set) var hosts: [String: HostQueue] = [:]
    /// The host of the last queued transfer, because neighbours in a list usually share their host.
    private var latest: (origin: Origin, host: HostQueue)?
    private var sweepAt = keptHosts
    /// The hosts that may start a transfer: those that have answered, and the others.
    private var ready = Heap<Listed>()
    private var unproven = Heap<Listed>()
    private var sleeping = Heap<Listed>()
    private var starved: [HostQueue] = []
    private var resolvers: ResolverBudget
    /// The name lookups by age; the first is current.
    private var lookingUp = Heap<LookingUp>()
    private var turns: UInt64 = 0
    private(set) var active = 0
    /// The number of places that hold transfers of hosts without an answer.
    private var activeUnproven = 0
    private(set) var waiting = 0

    init(_ limits: EngineConfiguration) {
        self.limits = limits
        most = max(1, limits.maxConnections)
        resolvers = ResolverBudget(limit: limits.maxResolverThreads)
    }

    mutating func enqueue(_ ticket: Ticket, at origin: Origin, now: MonotonicTime) -> HostQueue {
        let host: HostQueue
        if let latest, latest.origin == origin {
            host = latest.host
        } else {
            host = self.host(named: origin.authority, now: now) { IPAddress(origin.host) != nil }
            latest = (origin, host)
        }
        host.enqueue(ticket)
        waiting += 1
        listIfNeeded(host, now: now)
        return host
    }

    mutating func withdraw(_ ticket: Ticket, from host: HostQueue) {
        guard ticket.isWaiting else { return }
        host.withdraw(ticket)
        waiting -= 1
    }

    mutating func change(_ ticket: Ticket, of host: HostQueue?, priority: Float, now: MonotonicTime) {
        guard let host else { return _ = ticket.change(priority: priority) }
        host.change(ticket, priority: priority)
        listIfNeeded(host, now: now)
    }

    /// Removes and returns the next transfer to start, and counts it as active.
    mutating func next(now: MonotonicTime) -> Ticket? {
        guard waiting > 0 else { return nil }
        if active >= most { setAside(now: now) }
        guard active < most else { return nil }
        wake(now: now)
        while let listed = popReady() {
            let host = listed.host
            // The transfer that put a resting host on the list may be gone, or behind another one.
            guard let first = host.first, first.priority == listed.priority,
                host.state.rest <= now || host.refusal(of: first, now: now) != nil
            else {
                list(host, now: now)
                continue
            }
            guard lead(host, with: first, now: now) else {
                host.listing = .starved
                starved.append(host)
                continue
            }
            _ = host.popFirst()
            waiting -= 1
            host.active += 1
            active += 1
            turns += 1
            host.turn = turns
            first.startedAt = now
            first.hasBegun = false
            first.isUnproven = !host.state.hasAnswered
            if first.isUnproven { activeUnproven += 1 }
            first.reservation = host.state.started(first.id, now: now)
            list(host, now: now)
            return first
        }
        return nil
    }

    /// Removes and returns the host whose turn it is. Hosts that have never answered get at most half of the places while
    /// another host waits, so that silent ones delay no others.
    private mutating func popReady() -> Listed? {
        ready.dropVoid(live: hosts.count) { !$0.isCurrent }
        unproven.dropVoid(live: hosts.count) { !$0.isCurrent }
        guard let other = unproven.first else { return ready.popFirst() }
        guard let first = ready.first else { return unproven.popFirst() }
        return 2 * activeUnproven < most && other.precedes(first) ? unproven.popFirst() : ready.popFirst()
    }

    /// Records that the host's name is resolved, so that its other transfers may start.
    mutating func resolved(_ ticket: Ticket, of host: HostQueue, now: MonotonicTime) {
        // A transfer of another connection does not know the name.
        guard host.lookup == .led(by: ticket.id) else { return }
        endLookup(of: host, .known(until: now + Self.nameLifetime), abandoned: false, now: now)
        host.failedLookups = 0
        listIfNeeded(host, now: now)
    }

    /// Records that the host's name cannot be resolved. Its other transfers fail too for a while, see
    /// `HostQueue.refusal`. The host was not asked, so the start does not count towards the rate. `abandoned`: the
    /// lookup took too long and still runs.
    mutating func unresolved(_ ticket: Ticket, of host: HostQueue, abandoned: Bool, now: MonotonicTime) {
        guard host.lookup == .led(by: ticket.id) else { return }
        let span = Self.failedNameLifetime * (1 << min(host.failedLookups, Self.failedNameDoublings))
        host.failedLookups += 1
        endLookup(of: host, .failed(until: now + span), abandoned: abandoned, now: now)
        returnTurn(of: ticket, to: host, now: now)
        listIfNeeded(host, now: now)
    }

    /// Records that the host has begun to send an image. A long body must not keep its other images waiting.
    mutating func begins(_ ticket: Ticket, of host: HostQueue, now: MonotonicTime) {
        ticket.hasBegun = true
        host.state.begins()
        list(host, now: now)
    }

    /// Ends a started transfer. `abandonedLookup`: it ended while its name was still being looked up. Returns the rest of
    /// the host that begins with it.
    @discardableResult
    mutating func finish(
        _ ticket: Ticket, of host: HostQueue, _ outcome: HostOutcome = .unknown, abandonedLookup: Bool,
        now: MonotonicTime
    ) -> HostRest? {
        if host.lookup == .led(by: ticket.id) {
            endLookup(of: host, .unknown, abandoned: abandonedLookup, now: now)
        }
        if ticket.isAside {
            ticket.isAside = false
            returnTurn(of: ticket, to: host, now: now)
        } else {
            active -= 1
        }
        host.active -= 1
        release(ticket)
        let wasSettled = host.state.isSettled
        let rest = host.state.ended(
            ticket.id, outcome, startedAt: ticket.startedAt, hasBegun: ticket.hasBegun, now: now)
        switch outcome {
        case .answered where wasSettled && rest == nil, .unknown where wasSettled: listIfNeeded(host, now: now)
        default: list(host, now: now)
        }
        return rest
    }

    private mutating func release(_ ticket: Ticket) {
        if ticket.isUnproven { activeUnproven -= 1 }
        ticket.isUnproven = false
    }

    /// Returns the place of a transfer that `next` returned but that does not start. It does not count towards the
    /// rate.
    mutating func refuse(_ ticket: Ticket, of host: HostQueue, now: MonotonicTime) {
        returnTurn(of: ticket, to: host, now: now)
        finish(ticket, of: host, abandonedLookup: false, now: now)
    }

    private mutating func returnTurn(of ticket: Ticket, to host: HostQueue, now: MonotonicTime) {
        // The host's entry still has the later time.
        if let turn = ticket.reservation, host.state.giveBack(turn), host.listing == .sleeping { list(host, now: now) }
        ticket.reservation = nil
    }

    /// Lets the host rest once, when its first reusable connection has become idle.
    mutating func observe(_ host: HostQueue, now: MonotonicTime) {
        guard !host.isObserved else { return }
        host.isObserved = true
        host.state.observe(until: now.advanced(nanoseconds: Self.observation))
        list(host, now: now)
    }

    /// The time at which `next` may return a transfer without another call before; nil if none waits.
    var nextWake: MonotonicTime? {
        guard waiting > 0 else { return nil }
        guard active < most else { return lookingUp.first?.slowAt }
        let wake = sleeping.first?.time
        guard !starved.isEmpty, let release = resolvers.nextRelease else { return wake }
        return wake.map { min($0, release) } ?? release
    }

    private mutating func host(named name: String, now: MonotonicTime, isNumeric: () -> Bool) -> HostQueue {
        if let known = hosts[name] { return known }
        if hosts.count >= sweepAt {
            latest = nil
            removeIdleHosts(now: now)
            sweepAt = max(Self.keptHosts, 2 * hosts.count)
        }
        let host = HostQueue(name: name, isNumeric: isNumeric(), HostState(limits, of: name))
        hosts[name] = host
        return host
    }

    private mutating func removeIdleHosts(now: MonotonicTime) {
        hosts = hosts.filter { $0.value.isBusy || $0.value.keepEnd(now: now) > now }
        let ends = hosts.values.compactMap { $0.isBusy ? nil : $0.keepEnd(now: now) }
        guard ends.count > Self.keptNames else { return }
        // To half of them, so that the sorting is rare.
        let limit = ends.sorted()[ends.count - Self.keptNames / 2]
        hosts = hosts.filter { $0.value.isBusy || $0.value.keepEnd(now: now) >= limit }
    }

    /// Takes the places of the lookups that are slow, for other transfers.
    private mutating func setAside(now: MonotonicTime) {
        while let first = lookingUp.first, first.slowAt <= now {
            _ = lookingUp.popFirst()
            if first.isCurrent {
                first.ticket.isAside = true
                active -= 1
                release(first.ticket)
            }
        }
        dropEndedLookups()
    }

    private mutating func endLookup(
        of host: HostQueue, _ result: HostQueue.Lookup, abandoned: Bool, now: MonotonicTime
    ) {
        resolvers.release(abandoned: abandoned, now: now)
        host.lookup = result
        dropEndedLookups()
    }

    private mutating func dropEndedLookups() {
        lookingUp.dropVoid(live: resolvers.live) { !$0.isCurrent }
    }

    private mutating func wake(now: MonotonicTime) {
        while let listed = sleeping.first, listed.time <= now || !listed.isCurrent {
            _ = sleeping.popFirst()
            if listed.isCurrent { list(listed.host, now: now) }
        }
        guard !starved.isEmpty, resolvers.canTake(now: now) else { return }
        let hosts = starved
        starved = []
        for host in hosts where host.listing == .starved { list(host, now: now) }
    }

    /// Makes the transfer lead its host's name lookup if one is needed. Returns false if no resolver thread is free.
    private mutating func lead(_ host: HostQueue, with ticket: Ticket, now: MonotonicTime) -> Bool {
        if host.isNumeric || host.lookupEnd > now || host.refusal(of: ticket, now: now) != nil { return true }
        guard resolvers.take(now: now) else { return false }
        host.lookup = .led(by: ticket.id)
        host.names = nil
        lookingUp.insert(LookingUp(ticket: ticket, host: host, slowAt: now + Self.slowLookup))
        return true
    }

    private mutating func listIfNeeded(_ host: HostQueue, now: MonotonicTime) {
        switch host.listing {
        case .none: list(host, now: now)
        case .ready(let priority): if host.first?.priority != priority { list(host, now: now) }
        case .sleeping:
            if let first = host.first, host.rests(tooLongFor: first, now: now) { list(host, now: now) }
        case .starved: break
        }
    }

    /// Puts the host on the list where it belongs now. Its earlier entries become void.
    private mutating func list(_ host: HostQueue, now: MonotonicTime) {
        host.listingStamp += 1
        host.listing = .none
        guard let first = host.first else { return }
        if case .led = host.lookup { return }
        var time: MonotonicTime?
        var isUnproven = !host.state.hasAnswered
        switch host.state.admission(active: host.active, now: now) {
        case .full: return
        case .now: break
        case .refused: isUnproven = false
        case .at where host.rests(tooLongFor: first, now: now): isUnproven = false
        case .at(let start): time = start
        }
        let entry = Listed(
            host: host, stamp: host.listingStamp, priority: first.priority, turn: host.turn,
            time: time ?? .distantPast)
        if time != nil {
            host.listing = .sleeping
            sleeping.insert(entry)
        } else {
            host.listing = .ready(first.priority)
            if isUnproven { unproven.insert(entry) } else { ready.insert(entry) }
        }
    }
}
