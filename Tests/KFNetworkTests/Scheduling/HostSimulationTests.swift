import Testing

@testable import KFNetwork

/// Runs over model hosts. The bounds are those that a run of the command is to keep, without its name lookups.
@Suite("Simulated hosts")
struct HostSimulationTests {
    private static let host = "10.0.0.1"
    private static let other = "10.0.0.2"

    private func run(_ model: any HostModel, _ count: Int, retries: Int = 2) -> HostSimulation {
        var simulation = HostSimulation([Self.host: model], retries: retries)
        simulation.add(count, of: Self.host)
        simulation.run()
        return simulation
    }

    @Test("A failing host gets few requests", arguments: [0, 2]) func failing(retries: Int) {
        let tally = run(Status(status: 500), 3000, retries: retries)[Self.host]
        #expect(tally.requests <= 12 && tally.failed == 3000 && tally.refused >= 2980, "\(tally)")
    }

    @Test("A silent host gets few requests in two rounds") func silent() {
        let simulation = run(Silent(), 200, retries: 0)
        // The first of two ends at the same time frees a place for the fifth.
        #expect(simulation[Self.host].requests <= 5 && simulation.time <= 3.1, "\(simulation.time) s")
    }

    @Test("A refusing host gets few requests", arguments: [503, 429]) func refusing(status: Int) {
        let model: any HostModel = status == 503 ? Status(status: 503) : Window(most: 0, span: 10)
        let simulation = run(model, 3000)
        let tally = simulation[Self.host]
        #expect(tally.requests <= (status == 503 ? 12 : 300) && tally.failed == 3000, "\(tally) \(simulation.time)")
    }

    @Test("A redirect's dead target costs its own images alone") func dead() {
        var simulation = HostSimulation([
            Self.host: Redirecting(first: 700, target: Self.other), Self.other: Dead(),
        ])
        simulation.add(1200, of: Self.host)
        simulation.run()
        let tally = simulation[Self.host]
        #expect(tally.done == 500 && tally.requests == 1200 && simulation[Self.other].requests <= 12, "\(tally)")
    }

    @Test("Silent hosts hardly delay others") func silentAmongQuick() {
        let quick = (0..<9).map { "10.1.0.\($0)" }
        let silent = (0..<8).map { "10.2.0.\($0)" }
        func end(_ withSilent: Bool) -> (time: Double, requests: Int) {
            var hosts: [String: any HostModel] = [:]
            for host in quick { hosts[host] = Fixed(latency: 0.03) }
            for host in silent { hosts[host] = Silent() }
            var simulation = HostSimulation(hosts, timeout: 2)
            if withSilent { for host in silent { simulation.add(100, of: host) } }
            for host in quick { simulation.add(300, of: host) }
            simulation.run()
            #expect(quick.allSatisfy { simulation[$0].done == 300 })
            return (quick.map { simulation[$0].last }.max() ?? 0, silent.map { simulation[$0].requests }.max() ?? 0)
        }
        let (alone, among) = (end(false), end(true))
        #expect(among.time <= alone.time + 2 && among.requests <= 6, "\(alone) \(among)")
    }

    @Test("Two thousand silent hosts leave places to others") func manySilent() {
        var hosts: [String: any HostModel] = [Self.host: Fixed(latency: 0.03)]
        for number in 0..<2000 { hosts["10.3.\(number / 250).\(number % 250)"] = Silent() }
        var simulation = HostSimulation(hosts, timeout: 2)
        for host in hosts.keys.sorted().reversed() where host != Self.host { simulation.add(3, of: host) }
        simulation.add(1200, of: Self.host)
        simulation.run()
        #expect(simulation[Self.host].done == 1200 && simulation[Self.host].last < 8, "\(simulation[Self.host])")
    }

    @Test(
        "Limited hosts lose no image",
        arguments: [
            (LimitReq(rate: 50, burst: 20), 500, 13), (LimitReq(rate: 50, burst: 20, latency: 0.03), 500, 13),
            (LimitReq(rate: 50, burst: 20, retryAfter: 1), 500, 13),
            (LimitReq(rate: 50, burst: 20, latency: 0.03, retryAfter: 1), 500, 13.5),
            (Window(most: 100, span: 10), 500, 50), (ConnectionLimit(most: 4), 2000, 40),
            (LimitReq(rate: 5, burst: 5, latency: 0.03), 100, 30), (LimitReq(rate: 2, burst: 0, latency: 0.03), 40, 40),
            (LimitReq(rate: 500, burst: 50, latency: 0.005, retryAfter: 1), 5000, 16),
        ] as [(any HostModel, Int, Double)])
    func limited(model: any HostModel, count: Int, seconds: Double) {
        let simulation = run(model, count)
        let tally = simulation[Self.host]
        #expect(tally.done == count && tally.requests <= count * 13 / 10 + 5, "\(tally)")
        #expect(simulation.time <= seconds, "\(simulation.time) s")
    }

    @Test("One URL that is always refused does not slow its host") func alwaysRefused() {
        struct Picky: HostModel {
            func ask(_ path: Int, now: Double, active: Int) -> (after: Double, answer: ModelAnswer) {
                (0.01, path == 0 ? .limited(retryAfter: nil) : .image)
            }
        }
        let tally = run(Picky(), 3000)[Self.host]
        #expect(tally.done == 2999 && tally.requests <= 3020 && tally.last < 60, "\(tally)")
    }

    @Test("A host that comes back is found by one request") func flapping() {
        var simulation = HostSimulation([Self.host: Flapping(down: 65, period: 1000)])
        simulation.add(100, of: Self.host)
        // The first of them finds the circuit half open, fails, and the others are refused.
        simulation.add(50, of: Self.host, at: 61)
        simulation.add(50, of: Self.host, at: 125)
        simulation.run()
        let tally = simulation[Self.host]
        #expect(tally.done == 50 && tally.refused == 138 && tally.requests == 62, "\(tally)")
    }

    @Test("Ten thousand images of two hundred hosts share the places") func many() {
        var hosts: [String: any HostModel] = [:]
        for number in 0..<200 { hosts["10.5.0.\(number)"] = Fixed(latency: 0.02 + 0.001 * Double(number)) }
        var simulation = HostSimulation(hosts, timeout: 5)
        for host in hosts.keys.sorted() { simulation.add(50, of: host) }
        simulation.run()
        // Each place serves one image after the other; the hosts answer within 0.12 s on average.
        let ideal = 200.0 * 50.0 * 0.12 / 64.0
        #expect(simulation.time < 1.6 * ideal, "\(simulation.time) s, ideal \(ideal) s")
    }
}
