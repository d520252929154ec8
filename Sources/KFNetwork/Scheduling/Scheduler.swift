/// Decides which transfer starts when: the highest priority first, and hosts of equal priority in turn.
///
/// It keeps the limits over all hosts and per host. It has no clock: callers pass the time. Confined to the I/O thread.
struct Scheduler {
    struct Limits {
        var total: Int
        var perHost: Int
        /// The least time between two starts to one host.
        var interval: Duration?
        var resolvers: Int
    }

    /// The lifetime of a resolved name. libcurl keeps it for 60 s; with 50 s, concurrent transfers do not find it gone.
    static let nameLifetime = Duration.seconds(50)
    /// The number of hosts at which idle hosts, kept for their resolved names, are removed.
    static let keptHosts = 256
    /// The number of hosts that share one DNS cache, see `NameCache`.
    static let hostsPerGeneration = 256

    /// The time for which a host rests after its first response. A faulty server sends stray bytes soon after the body.
    /// The next request follows the body within 0.1 ms, and libcurl would take later stray bytes for its response.
    static let observation = Duration.milliseconds(20)
    static let observationSpan: Int64 = 20_000_000

    private struct Listed {
        let host: HostQueue
        let stamp: Int
        let priority: Float
        let turn: UInt64
        let time: MonotonicTime

        var isCurrent: Bool { host.listingStamp == stamp }
    }

    private struct Ready: HeapElement {
        let listed: Listed

        func precedes(_ other: Ready) -> Bool {
            listed.priority != other.listed.priority
                ? listed.priority > other.listed.priority : listed.turn < other.listed.turn
        }
    }

    private struct Sleeping: HeapElement {
        let listed: Listed

        func precedes(_ other: Sleeping) -> Bool { listed.time < other.listed.time }
    }

    private let limits: Limits
    private var hosts: [String: HostQueue] = [:]
    /// The host of the last queued transfer, because neighbours in a list usually share their host.
    private var latest: (origin: Origin, host: HostQueue)?
    private var sweepAt = keptHosts
    private var ready = Heap<Ready>()
    private var sleeping = Heap<Sleeping>()
    private var starved: [HostQueue] = []
    private var resolvers: ResolverBudget
    private var turns: UInt64 = 0
    private(set) var active = 0
    private(set) var waiting = 0
    /// The number of the DNS cache for the transfer that `next` returned last.
    private(set) var nameGeneration = 1
    private var hostsInGeneration = 0

    init(_ limits: Limits) {
        self.limits = limits
        resolvers = ResolverBudget(limit: limits.resolvers)
    }

    var hostCount: Int { hosts.count }

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
        guard active < limits.total, waiting > 0 else { return nil }
        wake(now: now)
        while let listed = ready.popFirst()?.listed {
            guard listed.isCurrent else { continue }
            let host = listed.host
            guard let first = host.first, first.priority == listed.priority else {
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
            countName(of: host)
            if let interval = limits.interval {
                let before = host.notBefore
                host.notBefore = max(before, now + interval)
                first.reservation = (before, host.notBefore)
            }
            list(host, now: now)
            return first
        }
        return nil
    }

    /// Records that the host's name is resolved, so that its other transfers may start.
    mutating func resolved(_ ticket: Ticket, of host: HostQueue, now: MonotonicTime) {
        if host.lookup == .led(by: ticket.id) { resolvers.release(abandoned: false, now: now) }
        host.lookup = .known(until: now + Self.nameLifetime)
        listIfNeeded(host, now: now)
    }

    /// Ends a started transfer. `abandonedLookup`: it ended while its name was still being looked up.
    mutating func finish(_ ticket: Ticket, of host: HostQueue, abandonedLookup: Bool, now: MonotonicTime) {
        active -= 1
        host.active -= 1
        if host.lookup == .led(by: ticket.id) {
            resolvers.release(abandoned: abandonedLookup, now: now)
            host.lookup = .unknown
        }
        listIfNeeded(host, now: now)
    }

    /// Returns the place of a transfer that `next` returned but that does not start. It does not count towards the
    /// rate.
    mutating func refuse(_ ticket: Ticket, of host: HostQueue, now: MonotonicTime) {
        if let reservation = ticket.reservation, host.notBefore == reservation.after {
            host.notBefore = reservation.before
            // The host's entry still has the later time.
            if host.listing == .sleeping { list(host, now: now) }
        }
        ticket.reservation = nil
        finish(ticket, of: host, abandonedLookup: false, now: now)
    }

    /// Lets the host rest once, when its first reusable connection has become idle.
    mutating func observe(_ host: HostQueue, now: MonotonicTime) {
        guard !host.isObserved else { return }
        host.isObserved = true
        host.notBefore = max(host.notBefore, now + Self.observation)
        list(host, now: now)
    }

    mutating func pause(_ name: String, until: MonotonicTime, now: MonotonicTime) {
        let host = host(named: name, now: now) { IPAddress(name) != nil }
        host.notBefore = max(host.notBefore, until)
        list(host, now: now)
    }

    /// The time at which `next` may return a transfer without another call before; nil if none waits.
    var nextWake: MonotonicTime? {
        guard waiting > 0, active < limits.total else { return nil }
        let wake = sleeping.first?.listed.time
        guard !starved.isEmpty, let release = resolvers.nextRelease else { return wake }
        return wake.map { min($0, release) } ?? release
    }

    private mutating func host(named name: String, now: MonotonicTime, isNumeric: () -> Bool) -> HostQueue {
        if let known = hosts[name] { return known }
        if hosts.count >= sweepAt {
            latest = nil
            hosts = hosts.filter { $0.value.waiting > 0 || $0.value.active > 0 || $0.value.notBefore > now }
            sweepAt = max(Self.keptHosts, 2 * hosts.count)
        }
        let host = HostQueue(name: name, isNumeric: isNumeric())
        hosts[name] = host
        return host
    }

    private mutating func wake(now: MonotonicTime) {
        while let listed = sleeping.first?.listed, listed.time <= now || !listed.isCurrent {
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
        if host.isNumeric { return true }
        if case .known(let until) = host.lookup, until > now, host.nameGeneration == nameGeneration { return true }
        guard resolvers.take(now: now) else { return false }
        host.lookup = .led(by: ticket.id)
        return true
    }

    private mutating func countName(of host: HostQueue) {
        guard host.nameGeneration != nameGeneration else { return }
        if hostsInGeneration == Self.hostsPerGeneration {
            nameGeneration += 1
            hostsInGeneration = 0
        }
        hostsInGeneration += 1
        host.nameGeneration = nameGeneration
    }

    private mutating func listIfNeeded(_ host: HostQueue, now: MonotonicTime) {
        switch host.listing {
        case .none: list(host, now: now)
        case .ready(let priority): if host.first?.priority != priority { list(host, now: now) }
        case .sleeping, .starved: break
        }
    }

    /// Puts the host on the list where it belongs now. Its earlier entries become void.
    private mutating func list(_ host: HostQueue, now: MonotonicTime) {
        host.listingStamp += 1
        host.listing = .none
        guard let first = host.first, host.active < limits.perHost else { return }
        if case .led = host.lookup { return }
        let isReady = host.notBefore <= now
        let entry = Listed(
            host: host, stamp: host.listingStamp, priority: first.priority, turn: host.turn, time: host.notBefore)
        if isReady {
            host.listing = .ready(first.priority)
            ready.insert(Ready(listed: entry))
            if ready.count > 64, ready.count > 2 * hosts.count { ready.removeAll { !$0.listed.isCurrent } }
        } else {
            host.listing = .sleeping
            sleeping.insert(Sleeping(listed: entry))
        }
    }
}
