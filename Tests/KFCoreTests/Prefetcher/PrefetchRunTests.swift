import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

extension PrefetchRun {
    fileprivate init(window: Int, maxFailures: FailureLimit?, maxItemsAhead: Int? = nil) {
        var configuration = ImagePrefetcher.Configuration()
        (configuration.maxConcurrentDownloads, configuration.maxPerHost) = (.max, .max)
        (configuration.maxFailures, configuration.maxItemsAhead) = (maxFailures, maxItemsAhead)
        self.init(configuration, window: window)
    }

    /// Takes items that were read, and looks up those that it wants: all are missing.
    fileprivate mutating func read(_ items: [PrefetchItem], isLast: Bool = false) {
        take(PrefetchBlock(items: items, isLast: isLast))
        lookUp()
    }

    fileprivate mutating func lookUp() {
        while let items = toLookUp() {
            take(PrefetchFindings(missing: items.map { PrefetchWish(item: $0) }, isLookedUp: true))
        }
    }
}

@Suite("The bookkeeping of a run")
struct PrefetchRunTests {
    private func item(_ host: String, _ line: Int = 1) -> PrefetchItem {
        let url = try? RequestURL("http://\(host)/\(line)")
        return PrefetchItem(.init(line: line, source: url.map { .network($0) }))
    }

    private func failed(_ item: PrefetchItem, _ error: KingfisherError = .responseError(reason: .noURLResponse))
        -> PrefetchOutcome
    {
        PrefetchOutcome(item: item, ending: .retrieved([PrefetchResult(.failure(error))]))
    }

    @Test("Items in flight never exceed the window")
    func window() {
        var run = PrefetchRun(window: 7, maxFailures: nil)
        _ = run.startsReading()
        run.read((1...500).map { item("h\($0 % 13)", $0) }, isLast: true)
        var flying: [PrefetchWish] = []
        var seen: Set<Int> = []
        while !run.isOver {
            for wish in run.takeOff() {
                #expect(seen.insert(wish.item.line).inserted)
                flying.append(wish)
            }
            #expect(flying.count <= 7 && flying.count == run.inFlight)
            _ = run.land(failed(flying.removeFirst().item))
            run.lookUp()
        }
        #expect(seen.count == 500)
    }

    @Test("A run is over when no item is read, waits or flies")
    func over() throws {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        let starts = [run.startsReading(), run.startsReading(), run.startsReading()]
        #expect(starts == [true, true, false])
        run.take(PrefetchBlock())
        #expect(!run.isOver)
        run.read([item("a")])
        let startsAgain = run.startsReading()
        #expect(startsAgain)
        run.take(PrefetchBlock(isLast: true))
        let startsAtEnd = run.startsReading()
        #expect(!startsAtEnd && !run.isOver)
        #expect(run.takeOff().count == 1 && run.takeOff().isEmpty)
        #expect(!run.isOver)
        if let counted = run.land(failed(item("a"))) { run.count(counted) }
        #expect(run.isOver && run.progress.failed == 1)
    }

    @Test("Too many failures stop a run, and the first reason stays")
    func maxFailures() {
        var run = PrefetchRun(window: 10, maxFailures: .count(2))
        run.count(failed(item("a")))
        #expect(!run.isFinishing)
        run.count(failed(item("a")))
        #expect(run.isFinishing && run.report.ending == .tooManyFailures)
        run.stop(.deadline)
        #expect(run.report.ending == .tooManyFailures)
    }

    @Test("A share of failures counts after a hundred items")
    func percent() {
        var progress = PrefetchProgress()
        progress.failed = 99
        #expect(!FailureLimit.percent(5).isReached(by: progress))
        progress.failed = 5
        progress.completed = 95
        #expect(!FailureLimit.percent(5).isReached(by: progress))
        progress.failed = 6
        #expect(FailureLimit.percent(5).isReached(by: progress))
        #expect(FailureLimit.count(6).isReached(by: progress) && !FailureLimit.count(7).isReached(by: progress))
        #expect(!FailureLimit.count(0).isReached(by: PrefetchProgress()))
    }

    @Test("Unstarted items of an ended run count as not tried")
    func cancelled() throws {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        run.read((1...2).map { item("a", $0) })
        _ = run.takeOff()
        run.stop(.deadline)
        #expect(run.takeOff().isEmpty)
        let error = KingfisherError.requestError(reason: .taskCancelled)
        if let drained = run.land(failed(item("a", 1), error)) { run.count(drained) }
        #expect(run.progress.notTried == 1 && run.progress.cancelled == 0)
        run.cutOff()
        if let cutOff = run.land(failed(item("a", 2), error)) { run.count(cutOff) }
        #expect(run.progress.notTried == 1 && run.progress.cancelled == 1 && run.progress.failed == 0)
        #expect(run.progress.finished == 2)
    }

    @Test("An ended run reads on and counts the rest")
    func rest() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        run.take(PrefetchBlock(items: (1...3).map { item("a", $0) }))
        let lookingUp = run.toLookUp() ?? []
        _ = run.startsReading()
        run.stop(.deadline)
        #expect(lookingUp.count == 3 && run.dropRest().isEmpty && !run.isOver)
        let waiting = run.take(PrefetchFindings(missing: lookingUp.map { PrefetchWish(item: $0) }))
        #expect(waiting.map(\.item.line) == [1, 2, 3])
        // What was being read when the end came, and what is read from then on.
        let late = run.take(PrefetchBlock(items: [item("a", 4)]))
        let reads = [run.startsReading(), run.startsReading()]
        #expect(late.map(\.item.line) == [4] && reads == [true, false])
        let untried = run.take(PrefetchBlock(items: [item("a", 5), item("a", 6)]))
        #expect(untried.map(\.item.line) == [5, 6])
        _ = run.startsReading()
        run.take(PrefetchBlock(isLast: true, unreadLists: 1))
        #expect(run.isOver && run.report.unreadLists == 1)
    }

    @Test("A failed look-up leaves its items to be counted")
    func lookUp() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        let problem = KingfisherError.cacheError(reason: .diskIsFull(detail: "x"))
        run.take(PrefetchBlock(items: [item("a", 1), item("a", 2)]))
        let left = run.take(PrefetchFindings(untried: run.toLookUp() ?? [], problem: problem))
        #expect(left.map(\.item.line) == [1, 2] && run.report.ending == .failed(problem))
    }

    @Test("The outlook follows the look-ups ahead")
    func outlook() {
        var run = PrefetchRun(window: 10_000, maxFailures: nil)
        #expect(run.progress.outlook.transfers(unread: 100) == 100, "all may be missing at first")
        func take(missing: Int, cached: Int) {
            _ = run.startsReading()
            run.take(PrefetchBlock(items: (0..<missing + cached).map { item("a", $0) }))
            while let items = run.toLookUp() {
                let ended = items.prefix(missing == 0 ? items.count : 0).map {
                    PrefetchOutcome(item: $0, ending: .skipped([]))
                }
                let missing = items.dropFirst(ended.count).map { PrefetchWish(item: $0) }
                run.take(PrefetchFindings(ended: ended, missing: missing, isLookedUp: true))
            }
        }
        for _ in 0..<20 { take(missing: 0, cached: 256) }
        #expect(run.progress.outlook.transfers(unread: 5000) < 1)
        // From here on nothing is cached: five blocks are enough to see it.
        for _ in 0..<4 {
            take(missing: 256, cached: 0)
            for _ in 0..<2 {
                for wish in run.takeOff() { _ = run.land(failed(wish.item)) }
            }
        }
        take(missing: 256, cached: 0)
        let expected = run.progress.outlook.transfers(unread: 5000)
        #expect(expected > 256 + 3500 && expected <= 256 + 5000, "\(expected)")
    }

    private static let locked = KingfisherError.cacheError(reason: .cacheIsLocked(detail: "x"))

    /// A run with one item in flight, and nothing else to come.
    private func runWithOne() -> PrefetchRun {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        run.read([item("a")], isLast: true)
        _ = run.takeOff()
        return run
    }

    @Test("An item that met a locked cache gets one second try")
    func locked() throws {
        var run = runWithOne()
        let counted = run.land(failed(item("a"), Self.locked))
        #expect(counted == nil && !run.isOver && !run.isFinishing)
        let resumes = run.resume(now: .now)
        run.lookUp()
        let taken = run.takeOff()
        let again = try #require(taken.first?.item)
        #expect(resumes && again.wasPostponed)
        if let countedAgain = run.land(failed(again, Self.locked)) { run.count(countedAgain) }
        let resumesAgain = run.resume(now: .now)
        #expect(!resumesAgain && run.isOver && run.progress.failed == 1)
        #expect(run.report.ending == .finished)
    }

    @Test("Postponed items of an ended run are counted")
    func postponedAtEnd() {
        var run = runWithOne()
        _ = run.land(failed(item("a"), Self.locked))
        run.stop(.deadline)
        _ = run.resume(now: .now)
        let dropped = run.dropRest()
        #expect(dropped.map(\.error) == [Self.locked] && run.isOver)
    }

    @Test("A failing cache ends the run")
    func cache() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        let error = KingfisherError.cacheError(reason: .diskIsFull(detail: "x"))
        run.count(failed(item("a"), error))
        #expect(run.report.ending == .failed(error))
    }

    private func block(_ positions: ClosedRange<Int>, record: Int = 0) -> PrefetchBlock {
        PrefetchBlock(
            items: positions.map { position in
                var item = PrefetchItem(.init(line: position, record: Array(repeating: 0x78, count: record)))
                item.position = position
                return item
            })
    }

    private func end(_ wish: PrefetchWish, _ run: inout PrefetchRun) {
        if let outcome = run.land(failed(wish.item)) { run.count(outcome) }
    }

    @Test("Reading waits for the first unfinished item")
    func ahead() {
        var run = PrefetchRun(window: 1000, maxFailures: nil, maxItemsAhead: 10)
        func reads(_ run: inout PrefetchRun) -> Bool { run.startsReading() }
        #expect(reads(&run))
        run.take(block(1...10))
        run.lookUp()
        let flying = run.takeOff()
        #expect(flying.count == 10 && !reads(&run))
        for wish in flying.dropFirst() { end(wish, &run) }
        #expect(!reads(&run))
        end(flying[0], &run)
        #expect(reads(&run))
        run.take(block(11...12))
        #expect(reads(&run))
    }

    @Test("Large records limit the reading ahead")
    func aheadBytes() {
        var run = PrefetchRun(window: 1000, maxFailures: nil, maxItemsAhead: 1000)
        var first: PrefetchWish?
        var last = 0
        for _ in 0..<200 where run.startsReading() {
            last += 1
            run.take(block(last...last, record: 1 << 20))
            run.lookUp()
            for wish in run.takeOff() {
                if first == nil { first = wish } else { end(wish, &run) }
            }
        }
        #expect(last == 64)
        if let first { end(first, &run) }
        let goesOn = run.startsReading()
        #expect(goesOn)
    }

    @Test("A postponed item that holds reading up is retried early")
    func aheadPostponed() {
        var run = PrefetchRun(window: 1000, maxFailures: nil, maxItemsAhead: 2)
        _ = run.startsReading()
        run.take(block(1...2))
        run.lookUp()
        let locked = KingfisherError.cacheError(reason: .cacheIsLocked(detail: "x"))
        for wish in run.takeOff() {
            let error = wish.item.position == 1 ? locked : .responseError(reason: .noURLResponse)
            if let outcome = run.land(failed(wish.item, error)) { run.count(outcome) }
        }
        let isHeldUp = !run.startsReading()
        #expect(isHeldUp && run.takeOff().isEmpty && !run.isOver)
        let resumes = run.resume(now: .now)
        run.lookUp()
        #expect(resumes && run.takeOff().map(\.item.position) == [1])
    }
}
