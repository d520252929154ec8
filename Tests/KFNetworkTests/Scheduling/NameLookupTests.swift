import Testing

@testable import KFNetwork

@Suite("Name lookups")
struct NameLookupTests {
    private let start = schedulerStart

    /// Makes a transfer that resolves its name and ends.
    private func visit(_ host: String, _ id: UInt64, _ scheduler: inout Scheduler, at time: MonotonicTime) {
        let (ticket, queue) = enqueue(id, at: host, &scheduler, now: time)
        #expect(drain(&scheduler, at: time) == [id])
        scheduler.resolved(ticket, of: queue, now: time)
        scheduler.finish(ticket, of: queue, abandonedLookup: false, now: time)
    }

    private func hasFailed(_ host: HostQueue, now: MonotonicTime) -> Bool {
        host.refusal(now: now) == .resolve(host: host.name, isRemembered: true)
    }

    @Test("A name stays known for its lifetime") func known() {
        var scheduler = Scheduler.make()
        for id in 1...2000 { visit("h\(id)", UInt64(id), &scheduler, at: start) }
        let later = start + (Scheduler.nameLifetime - .seconds(1))
        for id in 2001...2002 as ClosedRange<UInt64> { _ = enqueue(id, at: "h1", &scheduler) }
        #expect(drain(&scheduler, at: later) == [2001, 2002])
        let end = start + Scheduler.nameLifetime
        for id in 2003...2004 as ClosedRange<UInt64> { _ = enqueue(id, at: "h2", &scheduler) }
        #expect(drain(&scheduler, at: end) == [2003])
    }

    @Test("Old names of idle hosts are forgotten") func forgotten() {
        var scheduler = Scheduler.make()
        for id in 1...2000 { visit("h\(id)", UInt64(id), &scheduler, at: start) }
        let end = start + Scheduler.nameLifetime
        for id in 2001...6000 { visit("h\(id)", UInt64(id), &scheduler, at: end) }
        #expect(scheduler.hosts.count <= 4000)
        for id in 1...(3 * Scheduler.keptNames) {
            visit("i\(id)", UInt64(10_000 + id), &scheduler, at: end.advanced(nanoseconds: Int64(id)))
            #expect(scheduler.hosts.count <= 2 * Scheduler.keptNames)
        }
        let newest = enqueue(1, at: "i\(3 * Scheduler.keptNames)", &scheduler)
        #expect(newest.1.lookupEnd > end)
    }

    @Test("An older transfer does not end another lookup") func leader() {
        var scheduler = Scheduler.make(resolvers: 1)
        scheduler.warmUp("h")
        let (first, host) = enqueue(1, at: "h", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.resolved(first, of: host, now: start)
        let (second, _) = enqueue(2, at: "h", &scheduler)
        #expect(drain(&scheduler, at: start) == [2])
        let later = start + Scheduler.nameLifetime
        let third = enqueue(3, at: "h", &scheduler)
        _ = enqueue(4, at: "h", &scheduler)
        #expect(drain(&scheduler, at: later) == [3])
        scheduler.resolved(second, of: host, now: later)
        #expect(drain(&scheduler, at: later).isEmpty)
        scheduler.resolved(third.0, of: host, now: later)
        #expect(drain(&scheduler, at: later) == [4])
        // The one resolver thread is free again.
        _ = enqueue(5, at: "other", &scheduler)
        #expect(drain(&scheduler, at: later) == [5])
    }

    @Test("A failed lookup counts longer after each failure") func failed() {
        var scheduler = Scheduler.make()
        var now = start
        var id: UInt64 = 0
        for seconds in [0.5, 1, 2, 4, 8, 16, 32, 64, 64] {
            id += 1
            let (ticket, host) = enqueue(id, at: "h", &scheduler)
            #expect(drain(&scheduler, at: now) == [id])
            #expect(!hasFailed(host, now: now))
            scheduler.unresolved(ticket, of: host, abandoned: false, now: now)
            scheduler.finish(ticket, of: host, abandonedLookup: false, now: now)
            #expect(hasFailed(host, now: now.advanced(nanoseconds: Int64(clamping: seconds * 1e9) - 1)))
            now = now + .seconds(seconds)
            #expect(!hasFailed(host, now: now))
        }
        let (ticket, host) = enqueue(100, at: "h", &scheduler)
        #expect(drain(&scheduler, at: now) == [100])
        scheduler.resolved(ticket, of: host, now: now)
        #expect(host.failedLookups == 0)
    }

    @Test("Transfers of a host with a failed lookup end at once") func failing() {
        var scheduler = Scheduler.make(rate: 0.01, resolvers: 1)
        let (leader, host) = enqueue(1, at: "h", &scheduler)
        for id in 2...20 as ClosedRange<UInt64> { _ = enqueue(id, at: "h", &scheduler) }
        #expect(drain(&scheduler, at: start) == [1])
        scheduler.unresolved(leader, of: host, abandoned: false, now: start)
        scheduler.finish(leader, of: host, abandonedLookup: false, now: start)
        var ended: [UInt64] = []
        while let ticket = scheduler.next(now: start) {
            #expect(hasFailed(host, now: start))
            ended.append(ticket.id)
            scheduler.refuse(ticket, of: host, now: start)
        }
        #expect(ended == Array(2...20))
        // The one resolver thread is free for another name.
        _ = enqueue(21, at: "other", &scheduler)
        #expect(drain(&scheduler, at: start) == [21])
    }

    @Test("A slow lookup gives its place away") func slow() {
        var scheduler = Scheduler.make(total: 2, rate: 0.01)
        let (first, slow) = enqueue(1, at: "slow", &scheduler)
        _ = enqueue(2, at: "slower", &scheduler)
        #expect(Set(drain(&scheduler, at: start)) == [1, 2])
        for (id, host) in [(3, "1.1.1.1"), (4, "2.2.2.2"), (5, "3.3.3.3")] as [(UInt64, String)] {
            _ = enqueue(id, at: host, &scheduler)
        }
        #expect(scheduler.nextWake == start + Scheduler.slowLookup)
        #expect(drain(&scheduler, at: start + .milliseconds(249)).isEmpty)
        let later = start + Scheduler.slowLookup
        #expect(drain(&scheduler, at: later).count == 2)
        #expect(first.isAside && scheduler.active == 2)
        scheduler.resolved(first, of: slow, now: later)
        scheduler.finish(first, of: slow, abandonedLookup: false, now: later)
        #expect(!first.isAside && scheduler.active == 2)
        // Its place is taken: it waits like the others, and no longer for its rate.
        _ = scheduler.enqueue(first, at: Origin(scheme: "http", host: "slow", port: 80), now: later)
        #expect(drain(&scheduler, at: later).isEmpty)
        #expect(slow.state.earliest <= later)
    }

    @Test("A slow lookup keeps its place while others are free") func undisturbed() {
        var scheduler = Scheduler.make(total: 2)
        let (first, _) = enqueue(1, at: "slow", &scheduler)
        #expect(drain(&scheduler, at: start) == [1])
        _ = enqueue(2, at: "1.1.1.1", &scheduler)
        #expect(drain(&scheduler, at: start + .seconds(5)) == [2])
        #expect(!first.isAside)
    }
}
