import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

@Suite("The table of shared work", .bounded)
struct WorkTableTests {
    /// Work that records what the table tells it.
    private final class Work: SharedWork {
        let key: WorkKey
        let table: WorkTable
        private let calls = Mutex((abandoned: 0, priorities: [Float]()))

        var abandoned: Int { calls.withLock { $0.abandoned } }
        var priorities: [Float] { calls.withLock { $0.priorities } }

        init(_ key: WorkKey, in table: WorkTable) {
            self.key = key
            self.table = table
        }

        func run(_ turn: inout Turn) {}
        func abandon() { calls.withLock { $0.abandoned += 1 } }
        func change(priority: Float) { calls.withLock { $0.priorities.append(priority) } }
    }

    private final class Waiter: WorkWaiter {
        private struct State {
            var work: (any SharedWork)?
            var isCancelled = false
            var codes: [Int] = []
        }

        let wish: Wish
        private let state = Mutex(State())

        init(
            priority: Float = 0.5, isForced: Bool = false, isRetry: Bool = false, progress: ProgressHandler? = nil
        ) {
            wish = Wish(priority: priority, progress: progress, isForced: isForced, isRetry: isRetry)
        }

        /// The codes of the answers that it was given; 0 is a success.
        var codes: [Int] { state.withLock { $0.codes } }

        func waits(for work: any SharedWork) -> Bool {
            state.withLock { state in
                if state.isCancelled { return false }
                state.work = work
                return true
            }
        }

        func cancel() {
            let work = state.withLock { state in
                state.isCancelled = true
                defer { state.work = nil }
                return state.work
            }
            if let work { work.table.leave(work, self) }
        }

        func arrived(_ answer: Answer, _ turn: inout Turn) {
            let code = WorkTableTests.code(answer)
            state.withLock { state in
                state.work = nil
                state.codes.append(code)
            }
        }
    }

    private static let success = Answer.stored
    private static let failure = Answer.failed(.responseError(reason: .noURLResponse))

    private static func code(_ answer: Answer) -> Int {
        switch answer {
        case .failed(let error): error.errorCode
        default: 0
        }
    }

    private let table = WorkTable()

    private func key(_ name: String = "a") -> WorkKey { WorkKey(named: name) }

    /// The new work; nil when the waiter did not start any.
    private func start(_ waiter: Waiter, _ name: String = "a") -> Work? {
        let work = Work(key(name), in: table)
        if case .started = table.join(work, waiter) { return work }
        return nil
    }

    private func join(_ waiter: Waiter, _ name: String = "a") -> WorkTable.Joining {
        table.join(Work(key(name), in: table), waiter)
    }

    private func deliver(_ answer: Answer, of work: Work, stays: Bool = false) {
        Turn.run { table.deliver(answer, of: work, stays: stays, &$0) }
    }

    private func isJoined(_ joining: WorkTable.Joining) -> Bool {
        if case .joined = joining { return true }
        return false
    }

    @Test("Six concurrent calls share one piece of work")
    func shared() async throws {
        for _ in 0..<200 {
            let waiters = (0..<6).map { _ in Waiter() }
            let works = await withTaskGroup(of: Work?.self) { group in
                for waiter in waiters { group.addTask { start(waiter) } }
                return await group.reduce(into: [Work]()) { works, work in if let work { works.append(work) } }
            }
            #expect(works.count == 1)
            let work = try #require(works.first)
            deliver(Self.success, of: work)
            #expect(waiters.map(\.codes) == Array(repeating: [0], count: 6))
        }
    }

    @Test("A waiter that leaves does not stop the other")
    func leaving() throws {
        let (a, b) = (Waiter(), Waiter())
        let work = try #require(start(a))
        #expect(isJoined(join(b)))
        a.cancel()
        #expect(work.abandoned == 0 && table.isWanted(work))
        deliver(Self.success, of: work)
        #expect(a.codes.isEmpty && b.codes == [0])
    }

    @Test("Work without waiters is abandoned once")
    func abandoned() throws {
        let (a, b) = (Waiter(), Waiter())
        let work = try #require(start(a))
        #expect(isJoined(join(b)))
        a.cancel()
        b.cancel()
        a.cancel()
        table.leave(work, b)
        #expect(work.abandoned == 1 && !table.isWanted(work))
        let c = Waiter()
        let next = try #require(start(c))
        #expect(next !== work)
        // The abandoned work ends late, and does not touch the new one.
        deliver(Self.failure, of: work)
        #expect(a.codes.isEmpty && b.codes.isEmpty && c.codes.isEmpty)
        #expect(isJoined(join(Waiter())))
        deliver(Self.success, of: next)
        #expect(c.codes == [0])
    }

    @Test("Joining and leaving at once loses no answer")
    func race() async throws {
        for _ in 0..<500 {
            let (a, b) = (Waiter(), Waiter())
            let work = try #require(start(a))
            let late = await withTaskGroup(of: Work?.self) { group in
                group.addTask {
                    a.cancel()
                    return nil
                }
                group.addTask { start(b) }
                return await group.reduce(into: Work?.none) { late, work in late = late ?? work }
            }
            #expect(work.abandoned == (late == nil ? 0 : 1))
            deliver(Self.success, of: late ?? work)
            #expect(a.codes.isEmpty && b.codes == [0])
        }
    }

    @Test("A failure reaches all waiters and is not remembered")
    func failure() throws {
        let (a, b, c) = (Waiter(), Waiter(), Waiter())
        let work = try #require(start(a))
        #expect(isJoined(join(b)))
        deliver(Self.failure, of: work)
        #expect(a.codes == [2005] && b.codes == [2005])
        let next = try #require(start(c))
        deliver(Self.success, of: next)
        #expect(c.codes == [0])
    }

    @Test("The highest priority of the waiters counts")
    func priority() throws {
        let waiters = [0.3, 0.2, 0.9, 0.9].map { Waiter(priority: $0) }
        let work = try #require(start(waiters[0]))
        #expect(isJoined(join(waiters[1])))
        #expect(work.priorities.isEmpty)
        #expect(isJoined(join(waiters[2])))
        #expect(work.priorities == [0.9])
        #expect(isJoined(join(waiters[3])))
        waiters[2].cancel()
        #expect(work.priorities == [0.9])
        waiters[3].cancel()
        #expect(work.priorities == [0.9, 0.3])
        waiters[0].cancel()
        #expect(work.priorities == [0.9, 0.3, 0.2])
    }

    @Test("A late waiter gets the delivered answer")
    func late() throws {
        let (a, forced) = (Waiter(), Waiter(isForced: true))
        let work = try #require(start(a))
        deliver(Self.failure, of: work, stays: true)
        deliver(Self.success, of: work, stays: true)
        #expect(a.codes == [2005], "delivered once")
        guard case .late(let answer) = join(Waiter()) else {
            Issue.record("not late")
            return
        }
        #expect(Self.code(answer) == 2005)
        let anew = try #require(start(forced))
        // The end of the old work leaves the new one in its place.
        table.end(work)
        #expect(isJoined(join(Waiter())))
        deliver(Self.success, of: anew)
        #expect(forced.codes == [0] && a.codes == [2005])
        #expect(start(Waiter()) != nil, "after the end new work begins")
    }

    @Test("Work that ended since a look-up counts as stored")
    func endedSince() throws {
        let before = table.moment
        let key = key("ended")
        let work = Work(key, in: table)
        guard case .started = table.join(work, Waiter(), since: before) else {
            Issue.record("not started")
            return
        }
        deliver(Self.success, of: work, stays: true)
        let between = table.moment
        table.end(work)
        for moment in [before, between] {
            guard case .late(.stored) = table.join(Work(key, in: table), Waiter(), since: moment) else {
                Issue.record("not stored")
                return
            }
        }
        #expect(start(Waiter()) != nil, "other work is not meant")
        for moment in [table.moment, nil] {
            let next = Work(key, in: table)
            guard case .started = table.join(next, Waiter(), since: moment) else {
                Issue.record("not started again")
                return
            }
            deliver(Self.failure, of: next)
        }
    }

    @Test("A late waiter's progress handler gets the whole size")
    func lateProgress() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let findings = try body.withUnsafeBytes {
            try ImageInspector(limits: DecodeLimits(), check: .structure).inspect($0)
        }
        let work = try #require(start(Waiter()))
        let image = Body(.memory(body), findings, of: work)
        let reports = Mutex<[Int64]>([])
        let late = Waiter { received, total in reports.withLock { $0 += [received, total ?? -1] } }
        let answer = Answer.body(image)
        Turn.run { answer.joined(by: late).run(&$0) }
        #expect(reports.withLock { $0.isEmpty }, "a provider reports no progress")
        Turn.run { answer.joined(by: late, reportsSize: true).run(&$0) }
        #expect(reports.withLock { $0 } == [Int64](repeating: Int64(body.count), count: 2))
        #expect(late.codes == [0, 0])
    }

    @Test("A forced waiter joins work that has not delivered")
    func forced() throws {
        let (a, forced) = (Waiter(), Waiter(isForced: true))
        let work = try #require(start(a))
        #expect(isJoined(join(forced)))
        deliver(Self.success, of: work)
        #expect(forced.codes == [0])
    }

    @Test("A retry does not take the failure that it follows")
    func retry() throws {
        let (a, retry) = (Waiter(), Waiter(isRetry: true))
        let failed = try #require(start(a))
        deliver(Self.failure, of: failed, stays: true)
        let again = try #require(start(retry))
        table.end(failed)
        deliver(Self.success, of: again, stays: true)
        guard case .late(let answer) = join(Waiter(isRetry: true)) else {
            Issue.record("another request was made")
            return
        }
        #expect(retry.codes == [0] && Self.code(answer) == 0)
    }

    @Test("Delivered work cannot be abandoned")
    func leavingLate() throws {
        let a = Waiter()
        let work = try #require(start(a))
        deliver(Self.success, of: work, stays: true)
        table.leave(work, a)
        #expect(work.abandoned == 0)
        guard case .late = join(Waiter()) else {
            Issue.record("the answer is gone")
            return
        }
    }

    @Test("A waiter cancelled before it joins is not counted")
    func cancelledBefore() throws {
        let (gone, a) = (Waiter(), Waiter())
        gone.cancel()
        guard case .left = join(gone) else {
            Issue.record("it started work")
            return
        }
        let work = try #require(start(a))
        guard case .left = join(gone) else {
            Issue.record("it joined")
            return
        }
        a.cancel()
        #expect(work.abandoned == 1)
        #expect(gone.codes.isEmpty)
    }

    @Test("Progress reaches every waiter with a handler")
    func progress() throws {
        let told = Mutex<[String]>([])
        let handler: @Sendable (String) -> ProgressHandler = { name in
            { received, total in told.withLock { $0.append("\(name) \(received) \(total ?? -1)") } }
        }
        let silent = Waiter()
        let work = try #require(start(silent))
        table.report(1, nil, of: work)
        let waiters = ["a", "b"].map { Waiter(progress: handler($0)) }
        for waiter in waiters { #expect(isJoined(join(waiter))) }
        table.report(2, 4, of: work)
        waiters[0].cancel()
        table.report(3, nil, of: work)
        #expect(told.withLock { $0 } == ["a 2 4", "b 2 4", "b 3 -1"])
    }

    @Test("Cancelling by key abandons only matching work")
    func cancelling() throws {
        let waiters = (0..<4).map { _ in Waiter() }
        let first = try #require(start(waiters[0], "a"))
        #expect(isJoined(join(waiters[1], "a")))
        let other = try #require(start(waiters[2], "b"))
        let delivered = try #require(start(waiters[3], "c"))
        deliver(Self.success, of: delivered, stays: true)
        table.cancel { $0 != key("b") }
        #expect(first.abandoned == 1 && other.abandoned == 0 && delivered.abandoned == 0)
        deliver(Self.success, of: other)
        #expect(waiters.map(\.codes) == [[], [], [0], [0]])
    }

    enum End: CaseIterable { case end, deliverThenEnd, leave }

    @Test("Ended work retains no waiter", arguments: End.allCases)
    func released(_ end: End) {
        weak var weakWork: Work?
        weak var weakWaiter: Waiter?
        func run() {
            let waiter = Waiter { _, _ in }
            guard let work = start(waiter) else {
                Issue.record("not started")
                return
            }
            (weakWork, weakWaiter) = (work, waiter)
            #expect(isJoined(join(Waiter())))
            switch end {
            case .end: deliver(Self.success, of: work)
            case .deliverThenEnd:
                deliver(Self.success, of: work, stays: true)
                table.end(work)
            case .leave: table.cancel { _ in true }
            }
        }
        run()
        #expect(weakWork == nil)
        #expect(weakWaiter == nil)
        table.cancel { _ in
            Issue.record("work is left")
            return false
        }
    }
}
