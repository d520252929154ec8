import Testing

@testable import KFNetwork

@Suite("Which transfer starts when")
struct SchedulerTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func scheduler(
        total: Int = 64, perHost: Int = 8, interval: Duration? = nil, resolvers: Int = 96
    ) -> Scheduler {
        Scheduler(.init(total: total, perHost: perHost, interval: interval, resolvers: resolvers))
    }

    private func origin(_ host: String) -> Origin { Origin(scheme: "http", host: host, port: 80) }

    private func ticket(_ id: UInt64, _ priority: Float = 0.5) -> Ticket {
        Ticket(id: id, order: id, priority: priority)
    }

    private func drain(_ scheduler: inout Scheduler, at time: MonotonicTime) -> [UInt64] {
        var ids: [UInt64] = []
        while let ticket = scheduler.next(now: time) { ids.append(ticket.id) }
        return ids
    }

    @Test func higherPriorityFirstThenOrder() {
        var scheduler = scheduler(perHost: 3)
        for (id, priority) in [(1, 0.5), (2, 0.9), (3, 0.5), (4, 0.7)] as [(UInt64, Float)] {
            _ = scheduler.enqueue(ticket(id, priority), at: origin("1.1.1.1"), now: start)
        }
        #expect(drain(&scheduler, at: start) == [2, 4, 1])
        #expect(scheduler.waiting == 1)
    }

    @Test func whatIsRefusedCostsNoTurn() {
        var scheduler = scheduler(perHost: 1, interval: .seconds(10))
        let tickets = (1...3).map { ticket(UInt64($0)) }
        var hosts: [HostQueue] = []
        for ticket in tickets { hosts.append(scheduler.enqueue(ticket, at: origin("1.1.1.1"), now: start)) }
        #expect(scheduler.next(now: start)?.id == 1)
        #expect(scheduler.next(now: start) == nil)
        scheduler.refuse(tickets[0], of: hosts[0], now: start)
        #expect(scheduler.active == 0)
        #expect(scheduler.next(now: start)?.id == 2)
        // A pause that the server asked for meanwhile stays.
        scheduler.pause("1.1.1.1", until: start + .seconds(30), now: start)
        scheduler.refuse(tickets[1], of: hosts[1], now: start)
        #expect(scheduler.next(now: start + .seconds(29)) == nil)
        #expect(scheduler.next(now: start + .seconds(30))?.id == 3)
    }

    @Test func hostsTakeTurns() {
        var scheduler = scheduler()
        for id in 1...4 { _ = scheduler.enqueue(ticket(UInt64(id)), at: origin("1.1.1.1"), now: start) }
        for id in 5...6 { _ = scheduler.enqueue(ticket(UInt64(id)), at: origin("2.2.2.2"), now: start) }
        #expect(drain(&scheduler, at: start) == [1, 5, 2, 6, 3, 4])
    }

    @Test func limitsHold() {
        var scheduler = scheduler(total: 3, perHost: 2)
        var hosts: [HostQueue] = []
        let tickets = (1...6).map { ticket(UInt64($0)) }
        for ticket in tickets {
            hosts.append(scheduler.enqueue(ticket, at: origin(ticket.id <= 3 ? "1.1.1.1" : "2.2.2.2"), now: start))
        }
        #expect(drain(&scheduler, at: start) == [1, 4, 2])
        scheduler.finish(tickets[3], of: hosts[3], abandonedLookup: false, now: start)
        #expect(drain(&scheduler, at: start) == [5])
        scheduler.finish(tickets[0], of: hosts[0], abandonedLookup: false, now: start)
        #expect(drain(&scheduler, at: start) == [3])
    }

    @Test func nameIsLookedUpOnce() {
        var scheduler = scheduler()
        let tickets = (1...4).map { ticket(UInt64($0)) }
        var host: HostQueue!
        for ticket in tickets { host = scheduler.enqueue(ticket, at: origin("h"), now: start) }
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.resolved(tickets[0], of: host, now: start)
        #expect(drain(&scheduler, at: start) == [2, 3, 4])
    }

    @Test func nextLeadsWhenTheLeaderFails() {
        var scheduler = scheduler()
        let tickets = (1...2).map { ticket(UInt64($0)) }
        var host: HostQueue!
        for ticket in tickets { host = scheduler.enqueue(ticket, at: origin("h"), now: start) }
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.finish(tickets[0], of: host, abandonedLookup: false, now: start)
        #expect(drain(&scheduler, at: start) == [2])
    }

    @Test func abandonedLookupsKeepTheirThread() {
        var scheduler = scheduler(resolvers: 1)
        let (first, second) = (ticket(1), ticket(2))
        let host = scheduler.enqueue(first, at: origin("hangs"), now: start)
        #expect(drain(&scheduler, at: start) == [1])
        _ = scheduler.enqueue(second, at: origin("other"), now: start)
        #expect(drain(&scheduler, at: start).isEmpty)
        scheduler.finish(first, of: host, abandonedLookup: true, now: start)
        #expect(drain(&scheduler, at: start).isEmpty)
        #expect(scheduler.nextWake == start + ResolverBudget.afterlife)
        #expect(drain(&scheduler, at: start + ResolverBudget.afterlife) == [2])
    }

    @Test func rateSpacesStarts() {
        var scheduler = scheduler(interval: .milliseconds(100))
        for id in 1...3 { _ = scheduler.enqueue(ticket(UInt64(id)), at: origin("1.1.1.1"), now: start) }
        #expect(drain(&scheduler, at: start) == [1])
        #expect(scheduler.nextWake == start + .milliseconds(100))
        #expect(drain(&scheduler, at: start + .milliseconds(99)).isEmpty)
        #expect(drain(&scheduler, at: start + .milliseconds(100)) == [2])
    }

    @Test func pausedHostWaitsAndOthersDoNot() {
        var scheduler = scheduler()
        scheduler.pause("1.1.1.1", until: start + .seconds(5), now: start)
        _ = scheduler.enqueue(ticket(1), at: origin("1.1.1.1"), now: start)
        _ = scheduler.enqueue(ticket(2), at: origin("2.2.2.2"), now: start)
        #expect(drain(&scheduler, at: start) == [2])
        #expect(drain(&scheduler, at: start + .seconds(5)) == [1])
    }

    @Test func priorityChangesWhileWaiting() {
        var scheduler = scheduler(perHost: 1)
        let tickets = (1...3).map { ticket(UInt64($0)) }
        var host: HostQueue!
        for ticket in tickets { host = scheduler.enqueue(ticket, at: origin("1.1.1.1"), now: start) }
        scheduler.change(tickets[2], of: host, priority: 1, now: start)
        #expect(drain(&scheduler, at: start) == [3])
    }

    @Test func withdrawnNeverStarts() {
        var scheduler = scheduler()
        let tickets = (1...3).map { ticket(UInt64($0)) }
        var host: HostQueue!
        for ticket in tickets { host = scheduler.enqueue(ticket, at: origin("1.1.1.1"), now: start) }
        scheduler.withdraw(tickets[1], from: host)
        scheduler.withdraw(tickets[1], from: host)
        #expect(drain(&scheduler, at: start) == [1, 3])
        #expect(scheduler.waiting == 0)
    }

    @Test func idleHostsAreForgotten() {
        var scheduler = scheduler()
        for id in 1...2000 {
            let ticket = ticket(UInt64(id))
            let host = scheduler.enqueue(ticket, at: origin("h\(id)"), now: start)
            #expect(drain(&scheduler, at: start) == [UInt64(id)])
            scheduler.finish(ticket, of: host, abandonedLookup: false, now: start)
        }
        #expect(scheduler.hosts.count <= Scheduler.keptHosts)
    }

    @Test func hostRestsOnceAfterItsFirstResponse() {
        var scheduler = scheduler(perHost: 1)
        let tickets = (1...3).map { ticket(UInt64($0)) }
        var host: HostQueue!
        for one in tickets { host = scheduler.enqueue(one, at: origin("1.1.1.1"), now: start) }
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.finish(tickets[0], of: host, abandonedLookup: false, now: start)
        scheduler.observe(host, now: start)
        #expect(drain(&scheduler, at: start).isEmpty)
        #expect(scheduler.nextWake == start + Scheduler.observation)
        let later = start + Scheduler.observation
        #expect(drain(&scheduler, at: later) == [2])
        scheduler.finish(tickets[1], of: host, abandonedLookup: false, now: later)
        scheduler.observe(host, now: later)
        #expect(drain(&scheduler, at: later) == [3])
    }
}
