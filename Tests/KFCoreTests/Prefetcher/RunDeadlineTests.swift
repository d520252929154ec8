import Testing

@testable import KFCore

@Suite("The deadline of a run")
struct RunDeadlineTests {
    @Test("the deadline comes first, then the cut-off, then nothing")
    func phases() async {
        let limit = RunDeadline(.zero, grace: .zero)
        #expect(await limit.next() == .deadline)
        #expect(await limit.next(after: .deadline) == .cutOff)
        #expect(await limit.next(after: .cutOff) == nil)
    }

    @Test("a run without a deadline has no limit, and one without grace has no cut-off")
    func none() async {
        #expect(await RunDeadline(nil, grace: .zero).next() == nil)
        let limit = RunDeadline(.zero, grace: nil)
        #expect(await limit.next() == .deadline)
        #expect(await limit.next(after: .deadline) == nil)
    }

    @Test("a cancelled wait reports nothing")
    func cancelled() async {
        let wait = Task { await RunDeadline(.seconds(3600), grace: nil).next() }
        wait.cancel()
        #expect(await wait.value == nil)
    }
}
