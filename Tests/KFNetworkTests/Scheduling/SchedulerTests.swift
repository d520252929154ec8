import Testing

@testable import KFNetwork

@Suite("The scheduler of transfers")
struct SchedulerTests {
    private let start = schedulerStart

    @Test("Higher priorities start first") func priority() {
        var scheduler = Scheduler.make(perHost: 3)
        scheduler.warmUp("1.1.1.1")
        for (id, priority) in [(1, 0.5), (2, 0.9), (3, 0.5), (4, 0.7)] as [(UInt64, Float)] {
            _ = enqueue(id, at: "1.1.1.1", &scheduler, priority: priority)
        }
        #expect(drain(&scheduler, at: start) == [2, 4, 1])
        #expect(scheduler.waiting == 1)
    }

    @Test("A refused transfer takes no turn") func refused() {
        var scheduler = Scheduler.make(perHost: 2, rate: 0.1)
        let (tickets, host) = enqueue(4, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.refuse(tickets[0], of: host, now: start)
        #expect(scheduler.active == 0)
        #expect(drain(&scheduler, at: start) == [2])
        let later = start + .seconds(10)
        #expect(drain(&scheduler, at: later) == [3])
        // A rest that the server asked for meanwhile stays.
        scheduler.finish(tickets[1], of: host, .limited(.seconds(30)), abandonedLookup: false, now: later)
        scheduler.refuse(tickets[2], of: host, now: later)
        #expect(drain(&scheduler, at: later + .seconds(29)) == [])
        #expect(drain(&scheduler, at: later + .seconds(30)) == [4])
    }

    @Test("A resting host starts only the transfers that it refuses for that") func avoiding() {
        var scheduler = Scheduler.make()
        scheduler.warmUp("1.1.1.1")
        let (first, host) = enqueue(1, at: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.finish(first, of: host, .limited(.seconds(30)), abandonedLookup: false, now: start)
        let (cancelled, _) = enqueue(2, at: "1.1.1.1", &scheduler, patience: .zero)
        _ = enqueue(3, at: "1.1.1.1", &scheduler)
        scheduler.withdraw(cancelled, from: host)
        let later = start + .seconds(1)
        #expect(drain(&scheduler, at: later) == [])
        let (urgent, _) = enqueue(4, at: "1.1.1.1", &scheduler, priority: 0.9, patience: .zero, now: later)
        #expect(drain(&scheduler, at: later) == [4])
        #expect(host.refusal(of: urgent, now: later) == .circuitOpen(host: "1.1.1.1", left: .seconds(29)))
        scheduler.refuse(urgent, of: host, now: later)
        #expect(drain(&scheduler, at: start + .seconds(30)) == [3])
    }

    @Test(
        "A quota that is used up, or an answer after a refusal, leaves a rest to avoid",
        arguments: [
            [.answered(RequestQuota(left: 0, end: schedulerStart + .seconds(30)))],
            [.limited(.seconds(30)), .answered()],
        ] as [[HostOutcome]])
    func avoidingAnswers(outcomes: [HostOutcome]) {
        var scheduler = Scheduler.make()
        scheduler.warmUp("1.1.1.1")
        let (tickets, host) = enqueue(2, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1, 2])
        for (ticket, outcome) in zip(tickets, outcomes) {
            scheduler.finish(ticket, of: host, outcome, abandonedLookup: false, now: start)
        }
        _ = enqueue(3, at: "1.1.1.1", &scheduler, patience: .seconds(31))
        #expect(drain(&scheduler, at: start) == [])
        let (hasty, _) = enqueue(4, at: "1.1.1.1", &scheduler, priority: 0.9, patience: .seconds(5))
        #expect(drain(&scheduler, at: start) == [4])
        #expect(host.refusal(of: hasty, now: start) == .circuitOpen(host: "1.1.1.1", left: .seconds(30)))
        scheduler.refuse(hasty, of: host, now: start)
        #expect(drain(&scheduler, at: start + .seconds(30)) == [3])
    }

    @Test("Hosts take turns") func turns() {
        var scheduler = Scheduler.make()
        for host in ["1.1.1.1", "2.2.2.2"] { scheduler.warmUp(host) }
        for id in 1...6 as ClosedRange<UInt64> { _ = enqueue(id, at: id <= 4 ? "1.1.1.1" : "2.2.2.2", &scheduler) }
        #expect(drain(&scheduler, at: start) == [1, 5, 2, 6, 3, 4])
    }

    @Test("A host gets two places at first, and one more by each answer") func places() {
        var scheduler = Scheduler.make(perHost: 4)
        let (tickets, host) = enqueue(9, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1, 2])
        for (ended, started) in [(0, [3, 4]), (1, [5, 6]), (2, [7])] as [(Int, [UInt64])] {
            scheduler.finish(tickets[ended], of: host, .answered(), abandonedLookup: false, now: start)
            #expect(drain(&scheduler, at: start) == started)
        }
    }

    @Test("Hosts without an answer get half of the places while others wait") func unproven() {
        var scheduler = Scheduler.make(total: 8)
        scheduler.warmUp("1.1.1.1")
        for id in 0..<8 as Range<UInt64> { _ = enqueue(100 + id, at: "2.2.2.\(id)", &scheduler) }
        for id in 0..<8 as Range<UInt64> { _ = enqueue(id, at: "1.1.1.1", &scheduler) }
        let started = drain(&scheduler, at: start)
        #expect(started.count == 8 && started.filter { $0 >= 100 }.count == 4)
        // Alone they get all of them.
        var alone = Scheduler.make(total: 8)
        for id in 0..<8 as Range<UInt64> { _ = enqueue(id, at: "2.2.2.\(id)", &alone) }
        #expect(drain(&alone, at: start).count == 8)
    }

    @Test("The limits of hosts and transfers hold") func limits() {
        var scheduler = Scheduler.make(total: 3, perHost: 2)
        for host in ["1.1.1.1", "2.2.2.2"] { scheduler.warmUp(host) }
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
        #expect(drain(&scheduler, at: start) == [2])
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
        var scheduler = Scheduler.make(rate: 10)
        _ = enqueue(3, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        #expect(scheduler.nextWake == start + .milliseconds(100))
        #expect(drain(&scheduler, at: start + .milliseconds(99)).isEmpty)
        #expect(drain(&scheduler, at: start + .milliseconds(100)) == [2])
    }

    @Test("A resting host does not delay others") func resting() {
        var scheduler = Scheduler.make()
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1, 2])
        let rest = scheduler.finish(
            tickets[0], of: host, .limited(.seconds(5)), abandonedLookup: false, now: start)
        #expect(rest == .retryAfter(.seconds(5)))
        scheduler.finish(tickets[1], of: host, abandonedLookup: false, now: start)
        _ = enqueue(4, at: "2.2.2.2", &scheduler)
        #expect(drain(&scheduler, at: start + .milliseconds(4999)) == [4])
        #expect(drain(&scheduler, at: start + .seconds(5)) == [3])
    }

    @Test("An open circuit lets waiting transfers fail") func refusing() {
        var scheduler = Scheduler.make(failures: 2)
        let (tickets, host) = enqueue(5, of: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start) == [1, 2])
        for ticket in tickets[..<2] {
            scheduler.finish(ticket, of: host, .failed(hasAnswered: true), abandonedLookup: false, now: start)
        }
        #expect(host.refusal(now: start) == .circuitOpen(host: "1.1.1.1", left: .seconds(60)))
        while let ticket = scheduler.next(now: start) { scheduler.refuse(ticket, of: host, now: start) }
        #expect(scheduler.waiting == 0)
        // One transfer tries the half-open circuit, and the others wait for its result.
        let later = start + .seconds(60)
        for id in 10...13 as ClosedRange<UInt64> { _ = enqueue(id, at: "1.1.1.1", &scheduler, now: later) }
        #expect(host.refusal(now: later) == nil)
        #expect(drain(&scheduler, at: later) == [10])
    }

    @Test("A priority can change while a transfer waits") func changedPriority() {
        var scheduler = Scheduler.make(perHost: 1)
        let (tickets, host) = enqueue(3, of: "1.1.1.1", &scheduler)
        scheduler.change(tickets[2], of: host, priority: 1, now: start)
        #expect(drain(&scheduler, at: start) == [3])
    }

    @Test("A withdrawn transfer never starts") func withdrawn() {
        var scheduler = Scheduler.make()
        scheduler.warmUp("1.1.1.1")
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
        let later = start.advanced(nanoseconds: Scheduler.observation)
        #expect(scheduler.nextWake == later)
        #expect(drain(&scheduler, at: later) == [2])
        scheduler.finish(tickets[1], of: host, abandonedLookup: false, now: later)
        scheduler.observe(host, now: later)
        #expect(drain(&scheduler, at: later) == [3])
    }
}
