import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("Lines of hosts")
struct HostLinesTests {
    /// Debug builds play a tenth of what a release build does.
    private static let scale = { isDebug() ? 1 : 10 }()

    private static func isDebug() -> Bool {
        var isDebug = false
        assert(
            {
                isDebug = true
                return true
            }())
        return isDebug
    }

    // MARK: Simulated runs

    @Test("A sorted list takes as long as a shuffled one") func sorted() throws {
        let hosts = (0..<10).map { "h\($0)" }
        let latencies = Dictionary(uniqueKeysWithValues: hosts.map { ($0, 0.03) })
        let count = 120 * Self.scale
        var sorted = try LineSimulation(latencies, hosts.flatMap { Array(repeating: $0, count: count) })
        var shuffled = try LineSimulation(latencies, (0..<10 * count).map { hosts[$0 % 10] })
        let times = (sorted: sorted.run(), shuffled: shuffled.run())
        #expect(sorted.ended == 10 * count && shuffled.ended == 10 * count)
        #expect(times.sorted <= 1.15 * times.shuffled, "\(times)")
    }

    @Test("A quick host does not wait for the lines of a slow one") func slowFirst() throws {
        var run = try LineSimulation(
            ["slow": 0.5, "quick": 0.01],
            Array(repeating: "slow", count: 20_000) + Array(repeating: "quick", count: 100))
        #expect(run.run(until: "quick") <= 0.5)
    }

    @Test("Many hosts share the places") func many() throws {
        let hosts = (0..<200).map { "h\($0)" }
        let latencies = Dictionary(uniqueKeysWithValues: hosts.map { ($0, 0.02 + 0.0005 * Double($0.count)) })
        let count = 50 * Self.scale
        var run = try LineSimulation(latencies, hosts.flatMap { Array(repeating: $0, count: count) })
        let ideal = 200 * Double(count) * 0.0215 / 64
        #expect(run.run() <= 1.3 * ideal && run.ended == 200 * count, "\(run.time) s, ideal \(ideal) s")
    }

    @Test("Twenty slow hosts leave room to a quick one") func manySlow() throws {
        var latencies = Dictionary(uniqueKeysWithValues: (0..<20).map { ("slow\($0)", 0.5) })
        latencies["quick"] = 0.01
        let slow = (0..<20).flatMap { Array(repeating: "slow\($0)", count: 300) }
        var run = try LineSimulation(latencies, slow + Array(repeating: "quick", count: 100))
        // All places are busy when the quick host is read: it gets the first ones that are free.
        #expect(run.run(until: "quick") <= 1.1)
    }

    // MARK: Open circuits

    private static let refused = KingfisherError.responseError(reason: .circuitOpen(host: "a", secondsLeft: 60))

    private func item(_ host: String, _ position: Int = 1) -> PrefetchItem {
        let url = try? RequestURL("http://\(host)/\(position)")
        var item = PrefetchItem(.init(line: position, source: url.map { .network($0) }))
        item.position = position
        return item
    }

    private func outcome(_ item: PrefetchItem, _ error: KingfisherError = refused, attempts: Int = 0) -> PrefetchOutcome
    {
        PrefetchOutcome(item: item, ending: .retrieved([PrefetchResult(.failure(error))]), attempts: attempts)
    }

    /// A run in which items of these hosts are in flight.
    private func run(_ hosts: [String], isLast: Bool = true, asksOnlyHosts: Bool = true) -> (
        PrefetchRun, [PrefetchItem]
    ) {
        var configuration = ImagePrefetcher.Configuration()
        (configuration.maxConcurrentDownloads, configuration.maxPerHost) = (.max, .max)
        var run = PrefetchRun(configuration, window: 100, asksOnlyHosts: asksOnlyHosts)
        _ = run.startsReading()
        run.take(PrefetchBlock(items: hosts.enumerated().map { item($1, $0 + 1) }, isLast: isLast))
        let flying = started(&run)
        return (run, flying)
    }

    private func started(_ run: inout PrefetchRun) -> [PrefetchItem] {
        while let items = run.toLookUp() {
            run.take(PrefetchFindings(missing: items.map { PrefetchWish(item: $0) }, isLookedUp: true))
        }
        return run.takeOff().map(\.item).sorted { $0.position < $1.position }
    }

    @Test("What an open circuit refuses waits while the run has other work") func aside() throws {
        var (run, flying) = run(["a", "b"])
        let start = ContinuousClock.now
        let first = run.land(outcome(flying[0]), now: start)
        let resumes = run.resume(now: start)
        #expect(first == nil && !resumes && run.wake == start + .seconds(60))
        let resumesLater = run.resume(now: start + .seconds(60))
        let again = started(&run)
        #expect(!resumesLater && again.map(\.position) == [1])
        // It is set aside only once.
        #expect(run.land(outcome(again[0]), now: start + .seconds(61))?.error == Self.refused)
        #expect(run.land(outcome(flying[1])) == nil)
    }

    @Test("What was set aside fails when nothing else is left") func nothingElse() throws {
        var (run, flying) = run(["a", "a"])
        for item in flying {
            let counted = run.land(outcome(item))
            #expect(counted == nil && !run.isOver)
        }
        let resumes = run.resume(now: .now)
        #expect(resumes)
        for item in started(&run) {
            if let counted = run.land(outcome(item)) { run.count(counted) }
        }
        #expect(run.isOver && run.progress.failed == 2)
    }

    @Test("A pipe that waits holds what was set aside for a moment only") func pipe() throws {
        var (run, flying) = run(["a"], isLast: false)
        _ = run.startsReading()
        let start = ContinuousClock.now
        _ = run.land(outcome(flying[0]), now: start)
        let resumes = run.resume(now: start)
        #expect(!resumes && run.wake == start + .milliseconds(100))
        let resumesLater = run.resume(now: start + .milliseconds(100))
        #expect(resumesLater && started(&run).count == 1)
    }

    @Test("An early end leaves what was set aside untried") func early() throws {
        var (run, flying) = run(["a", "b"])
        _ = run.land(outcome(flying[0]))
        run.stop(.deadline)
        let dropped = run.dropRest()
        #expect(dropped.map(\.item.position) == [1] && dropped[0].error?.isCancellation == true)
    }

    @Test("An item that was asked for, or has other sources, is not set aside", arguments: [true, false])
    func counted(asksOnlyHosts: Bool) throws {
        var (run, flying) = run(["a", "b"], asksOnlyHosts: asksOnlyHosts)
        let counted = run.land(outcome(flying[0], attempts: asksOnlyHosts ? 1 : 0))
        #expect(counted != nil)
    }

    @Test("Large records that wait stop the reading") func large() throws {
        var lines = HostLines(window: 10, perHost: nil)
        let record = [UInt8](repeating: 0x78, count: 1 << 20)
        var count = 0
        while lines.wantsItems, count < 100 {
            count += 1
            var large = PrefetchItem(.init(line: count, record: record))
            large.position = count
            lines.add([large])
            lines.lookedUp(lines.toLookUp(missingShare: 1).map { PrefetchWish(item: $0) })
        }
        #expect(count == 64)
        #expect(lines.dropAll().map(\.position) == Array(1...64) && lines.isEmpty && lines.wantsItems)
    }
}
