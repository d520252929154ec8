import Testing

@testable import KFCore

@Suite("Whose turn it is")
struct PrefetchRunTests {
    private func item(_ host: String, _ line: Int = 1) -> PrefetchItem {
        var item = PrefetchItem(line: line, record: [])
        item.source = Result { () throws(KingfisherError) in .network(try RequestURL("http://\(host)/\(line)")) }
        return item
    }

    private func failed(_ item: PrefetchItem, _ error: KingfisherError = .responseError(reason: .noURLResponse))
        -> PrefetchOutcome
    {
        PrefetchOutcome(item: item, ending: .retrieved([PrefetchResult(.failure(error))]))
    }

    @Test("never more in flight than the window, and everything has its turn")
    func window() {
        var run = PrefetchRun(window: 7, maxFailures: nil)
        _ = run.startsReading()
        let items = (1...500).map { PrefetchWish(item: item("h\($0 % 13)", $0)) }
        run.take(.success(PrefetchBlock(missing: items, isLast: true)))
        var flying: [PrefetchWish] = []
        var seen: Set<Int> = []
        while !run.isOver {
            for wish in run.takeOff() {
                #expect(seen.insert(wish.item.line).inserted)
                flying.append(wish)
            }
            #expect(flying.count <= 7 && flying.count == run.inFlight)
            _ = run.land(failed(flying.removeFirst().item))
        }
        #expect(seen.count == 500)
    }

    @Test("a run is over when nothing is read, waits or flies")
    func over() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        let starts = [run.startsReading(), run.startsReading(), run.startsReading()]
        #expect(starts == [true, true, false])
        run.take(.success(PrefetchBlock()))
        #expect(!run.isOver)
        run.take(.success(PrefetchBlock(missing: [PrefetchWish(item: item("a"))])))
        let startsAgain = run.startsReading()
        #expect(startsAgain)
        run.take(.success(PrefetchBlock(isLast: true)))
        let startsAtEnd = run.startsReading()
        #expect(!startsAtEnd && !run.isOver)
        #expect(run.takeOff().count == 1 && run.takeOff().isEmpty)
        #expect(!run.isOver)
        let isCounted = run.land(failed(item("a")))
        #expect(isCounted && run.isOver && run.progress.failed == 1)
    }

    @Test("more failures than allowed stop it, and the first reason stays")
    func maxFailures() {
        var run = PrefetchRun(window: 10, maxFailures: .count(1))
        run.count(failed(item("a")))
        #expect(!run.isStopping)
        run.count(failed(item("a")))
        #expect(run.isStopping && run.report.ending == .tooManyFailures)
        run.stop(.deadline)
        #expect(run.report.ending == .tooManyFailures)
    }

    @Test("a share of failures counts from the hundredth item on")
    func percent() {
        var progress = PrefetchProgress()
        progress.failed = 99
        #expect(!FailureLimit.percent(5).isPassed(by: progress))
        progress.failed = 5
        progress.completed = 95
        #expect(!FailureLimit.percent(5).isPassed(by: progress))
        progress.failed = 6
        #expect(FailureLimit.percent(5).isPassed(by: progress))
        #expect(FailureLimit.count(5).isPassed(by: progress) && !FailureLimit.count(6).isPassed(by: progress))
    }

    @Test("what had not begun when the end came is not counted; what was cut off is")
    func cancelled() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        run.take(.success(PrefetchBlock(missing: (1...2).map { PrefetchWish(item: item("a", $0)) })))
        _ = run.takeOff()
        run.stop(.deadline)
        #expect(run.takeOff().isEmpty)
        let error = KingfisherError.requestError(reason: .taskCancelled)
        let isDrainedCounted = run.land(failed(item("a", 1), error))
        run.cutOff()
        let isCutOffCounted = run.land(failed(item("a", 2), error))
        #expect(!isDrainedCounted && isCutOffCounted)
        #expect(run.progress.failed == 1 && run.isOver)
    }

    private static let locked = KingfisherError.cacheError(reason: .cacheIsLocked(detail: "x"))

    /// A run with one item in flight, and nothing else to come.
    private func runWithOne() -> PrefetchRun {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        _ = run.startsReading()
        var block = PrefetchBlock(missing: [PrefetchWish(item: item("a"))])
        block.isLast = true
        run.take(.success(block))
        _ = run.takeOff()
        return run
    }

    @Test("what could not be stored because the cache was locked has a second turn at the end, and only one")
    func locked() throws {
        var run = runWithOne()
        let isCounted = run.land(failed(item("a"), Self.locked))
        #expect(!isCounted && !run.isOver && !run.isStopping)
        run.retryPostponed()
        let taken = run.takeOff()
        let again = try #require(taken.first?.item)
        #expect(again.isPostponed)
        let isCountedAgain = run.land(failed(again, Self.locked))
        run.retryPostponed()
        #expect(isCountedAgain && run.isOver && run.progress.failed == 1)
        #expect(run.report.ending == .finished)
    }

    @Test("what was postponed when the end came is given out to be counted")
    func postponedAtEnd() {
        var run = runWithOne()
        _ = run.land(failed(item("a"), Self.locked))
        run.stop(.deadline)
        run.retryPostponed()
        let dropped = run.dropPostponed()
        #expect(dropped.map(\.error) == [Self.locked] && run.isOver)
    }

    @Test("a failing cache ends it")
    func cache() {
        var run = PrefetchRun(window: 10, maxFailures: nil)
        let error = KingfisherError.cacheError(reason: .diskIsFull(detail: "x"))
        run.count(failed(item("a"), error))
        #expect(run.report.ending == .failed(error))
    }
}
