@testable import KFNetwork

let schedulerStart = MonotonicTime(nanoseconds: 1_000_000_000)

extension EngineConfiguration {
    init(total: Int = 64, perHost: Int = 8, rate: Double? = nil, resolvers: Int = 96, failures: Int = 0) {
        self.init()
        (maxConnections, maxPerHost, ratePerHost) = (total, perHost, rate)
        (maxResolverThreads, failuresToOpenCircuit) = (resolvers, failures)
    }
}

extension Scheduler {
    static func make(
        total: Int = 64, perHost: Int = 8, rate: Double? = nil, resolvers: Int = 96, failures: Int = 0
    ) -> Scheduler {
        Scheduler(
            EngineConfiguration(
                total: total, perHost: perHost, rate: rate, resolvers: resolvers, failures: failures))
    }

    /// Lets a host answer so often that it gets all of its places, with transfers of its own.
    mutating func warmUp(_ host: String, perHost: Int = 8, now: MonotonicTime = schedulerStart) {
        for id in 0..<UInt64(perHost) {
            let (ticket, queue) = KFNetworkTests.enqueue(1 << 40 + id, at: host, &self, now: now)
            _ = next(now: now)
            resolved(ticket, of: queue, now: now)
            finish(ticket, of: queue, .answered(), abandonedLookup: false, now: now)
        }
    }
}

func enqueue(
    _ id: UInt64, at host: String, _ scheduler: inout Scheduler, priority: Float = 0.5,
    patience: Duration = HostState.longestRest, now: MonotonicTime = schedulerStart
) -> (Ticket, HostQueue) {
    let ticket = Ticket(id: id, order: id, priority: priority, patience: patience)
    return (ticket, scheduler.enqueue(ticket, at: Origin(scheme: "http", host: host, port: 80), now: now))
}

/// Enqueues transfers of one host, numbered from 1.
func enqueue(
    _ count: UInt64, of host: String, _ scheduler: inout Scheduler
) -> (tickets: [Ticket], host: HostQueue) {
    let entries = (1...count).map { enqueue($0, at: host, &scheduler) }
    return (entries.map(\.0), entries[0].1)
}

/// Starts what may start at that time, in order.
func drain(_ scheduler: inout Scheduler, at time: MonotonicTime) -> [UInt64] {
    var ids: [UInt64] = []
    while let ticket = scheduler.next(now: time) { ids.append(ticket.id) }
    return ids
}
