import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The ends of a run", .bounded)
struct RunDeadlineTests {
    private let transport = ManualTransport()
    private let fixture: ManagerFixture
    private let source: Source

    init() throws {
        fixture = try ManagerFixture(transport: transport)
        source = .network(try RequestURL("http://h/a.png"))
    }

    private func run(
        _ change: (inout ImagePrefetcher.Configuration) -> Void, then end: (ImagePrefetcher) -> Void = { _ in }
    ) async -> PrefetchReport {
        var configuration = ImagePrefetcher.Configuration()
        change(&configuration)
        let prefetcher = ImagePrefetcher(manager: fixture.manager, configuration: configuration)
        async let report = prefetcher.prefetch([source])
        #expect(await eventually { !transport.open.isEmpty })
        transport.begin()
        end(prefetcher)
        return await report
    }

    @Test("The grace cuts off what runs at the deadline")
    func deadline() async {
        let clock = HandClock()
        let report = await run {
            ($0.deadline, $0.grace, $0.clock) = (.seconds(1), .seconds(1), clock)
        } then: { _ in
            clock.isOpen.store(true, ordering: .relaxed)
        }
        #expect(report.ending == .deadline && report.progress.cancelled == 1)
    }

    @Test("The grace cuts off what runs at an early end")
    func early() async {
        let report = await run {
            $0.grace = .zero
        } then: {
            $0.finishEarly()
        }
        #expect(report.ending == .finished && report.progress.cancelled == 1)
    }

    @Test("A run without a grace waits for its downloads")
    func unlimited() async throws {
        let body = try ManagerFixture.fixture("png/one-pixel.png")
        let report = await run { _ in
        } then: { prefetcher in
            prefetcher.finishEarly()
            transport.finish(transport.open, body: body)
        }
        #expect(report.ending == .finished && report.progress.completed == 1)
    }

    @Test("A cancelled timer reports nothing")
    func cancelled() async throws {
        let timer = ImagePrefetcher.Configuration().timer(.seconds(3600), .cutOff) { _ in
            Issue.record("it was cancelled")
        }
        timer?.cancel()
        await timer?.value
    }
}

/// A clock whose sleeps end when a test says so.
private final class HandClock: Clock, Sendable {
    let isOpen = Atomic(false)

    var now: ContinuousClock.Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        _ = await eventually { isOpen.load(ordering: .relaxed) }
        try Task.checkCancellation()
    }
}
