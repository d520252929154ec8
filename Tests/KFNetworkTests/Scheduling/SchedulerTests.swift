import Testing

@testable import KFNetwork

@Suite("The scheduler of transfers")
struct SchedulerTests {
    private let start = schedulerStart

    @Test("Higher priorities start first") func priority() {
        var scheduler = Scheduler.make(perHost: 3)
        for (id, priority) in [(1, 0.5), (2, 0.9), (3, 0.5), (4, 0.7)] as [(UInt64, Float)] {
            _ = enqueue(id, at: "1.1.1.1", &scheduler, priority: priority)
        }
        #expect(drain(&scheduler, at: start) == [2, 4, 1])
        #expect(scheduler.waiting == 1)
    }

    @Test("A refused transfer takes no turn") func refused() {
        var scheduler = Scheduler.make(perHost: 1, interval: .seconds(10))
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.refuse(tickets[0], of: host, now: start)
        #expect(scheduler.active == 0)
        #expect(drain(&scheduler, at: start) == [2])
        // A pause that the server asked for meanwhile stays.
        scheduler.pause("1.1.1.1", until: start + .seconds(30), now: start)
        scheduler.refuse(tickets[1], of: host, now: start)
        #expect(drain(&scheduler, at: start + .seconds(29)) == [])
        #expect(drain(&scheduler, at: start + .seconds(30)) == [3])
    }

    @Test("Hosts take turns") func turns() {
        var scheduler = Scheduler.make()
        for id in 1...6 as ClosedRange<UInt64> { _ = enqueue(id, at: id <= 4 ? "1.1.1.1" : "2.2.2.2", &scheduler) }
        #expect(drain(&scheduler, at: start) == [1, 5, 2, 6, 3, 4])
    }

    @Test("The limits of hosts and transfers hold") func limits() {
        var scheduler = Scheduler.make(total: 3, perHost: 2)
        let entries = (1...6).map { enqueue($0, at: $0 <= 3 ? "1.1.1.1" : "2.2.2.2", &scheduler) }
        #expect(drain(&scheduler, at: start) == [1, 4, 2])
        for (ended, next) in [(3, 5), (0, 3)] as [(Int, UInt64)] {
            scheduler.finish(entries[ended].0, of: entries[ended].1, abandonedLookup: false, now: start)
            #expect(drain(&scheduler, at: start) == [next])
        }
    }

    @Test("Only one transfer looks up a name") func oneLookup() {
        var scheduler = Scheduler.make()
        let (tickets, host) = enqueue(4, of: "h", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.resolved(tickets[0], of: host, now: start)
        #expect(drain(&scheduler, at: start) == [2, 3, 4])
    }

    @Test("The next transfer looks up a name after a failure") func nextLeader() {
        var scheduler = Scheduler.make()
        let (tickets, host) = enqueue(2, of: "h", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.finish(tickets[0], of: host, abandonedLookup: false, now: start)
        #expect(drain(&scheduler, at: start) == [2])
    }

    @Test("An abandoned lookup keeps its thread for a while") func abandonedLookup() {
        var scheduler = Scheduler.make(resolvers: 1)
        let (first, host) = enqueue(1, at: "hangs", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        _ = enqueue(2, at: "other", &scheduler)
        #expect(drain(&scheduler, at: start).isEmpty)
        scheduler.finish(first, of: host, abandonedLookup: true, now: start)
        #expect(drain(&scheduler, at: start).isEmpty)
        #expect(scheduler.nextWake == start + ResolverBudget.afterlife)
        #expect(drain(&scheduler, at: start + ResolverBudget.afterlife) == [2])
    }

    @Test("A rate spaces the starts") func rate() {
        var scheduler = Scheduler.make(interval: .milliseconds(100))
        _ = enqueue(3, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        #expect(scheduler.nextWake == start + .milliseconds(100))
        #expect(drain(&scheduler, at: start + .milliseconds(99)).isEmpty)
        #expect(drain(&scheduler, at: start + .milliseconds(100)) == [2])
    }

    @Test("A paused host does not delay others") func paused() {
        var scheduler = Scheduler.make()
        scheduler.pause("1.1.1.1", until: start + .seconds(5), now: start)
        _ = enqueue(1, at: "1.1.1.1", &scheduler)
        _ = enqueue(2, at: "2.2.2.2", &scheduler)
        #expect(drain(&scheduler, at: start) == [2])
        #expect(drain(&scheduler, at: start + .seconds(5)) == [1])
    }

    @Test("A priority can change while a transfer waits") func changedPriority() {
        var scheduler = Scheduler.make(perHost: 1)
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
        scheduler.change(tickets[2], of: host, priority: 1, now: start)
        #expect(drain(&scheduler, at: start) == [3])
    }

    @Test("A withdrawn transfer never starts") func withdrawn() {
        var scheduler = Scheduler.make()
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
        for _ in 0..<2 { scheduler.withdraw(tickets[1], from: host) }
        #expect(drain(&scheduler, at: start) == [1, 3])
        #expect(scheduler.waiting == 0)
    }

    @Test("Idle hosts are forgotten") func forgottenHosts() {
        var scheduler = Scheduler.make()
        for id in 1...2000 as ClosedRange<UInt64> {
            let (ticket, host) = enqueue(id, at: "h\(id)", &scheduler)
            #expect(drain(&scheduler, at: start) == [id])
            scheduler.finish(ticket, of: host, abandonedLookup: false, now: start)
        }
        #expect(scheduler.hosts.count <= Scheduler.keptHosts)
    }

    @Test("A host rests once after its first response") func firstResponse() {
        var scheduler = Scheduler.make(perHost: 1)
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
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
