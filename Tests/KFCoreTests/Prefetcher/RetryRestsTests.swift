import Testing

@testable import KFCore

@Suite("Waiting before another try")
struct RetryRestsTests {
    private let cancelled = KingfisherError.requestError(reason: .taskCancelled)

    @Test("a rest takes its time")
    func rest() async throws {
        let start = ContinuousClock.now
        try await RetryRests().rest(for: .milliseconds(20))
        #expect(start.duration(to: .now) >= .milliseconds(20))
    }

    @Test("when nothing more is to start, rests end at once, those that begin later too")
    func over() async throws {
        let rests = RetryRests()
        let resting = (0..<8).map { _ in Task { try await rests.rest(for: .seconds(3600)) } }
        for _ in 0..<100 { await Task.yield() }
        rests.end()
        for rest in resting { await #expect(throws: cancelled) { try await rest.value } }
        await #expect(throws: cancelled) { try await rests.rest(for: .seconds(3600)) }
    }

    @Test("who is cancelled rests no longer")
    func cancelling() async throws {
        let rests = RetryRests()
        let resting = Task { try await rests.rest(for: .seconds(3600)) }
        for _ in 0..<100 { await Task.yield() }
        resting.cancel()
        await #expect(throws: cancelled) { try await resting.value }
    }
}
