import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("The deadline of a run")
struct RunDeadlineTests {
    private func orders(_ deadline: Duration?, grace: Duration?) async -> [PrefetchOrder] {
        var configuration = ImagePrefetcher.Configuration()
        (configuration.deadline, configuration.grace) = (deadline, grace)
        var orders: [PrefetchOrder] = []
        await configuration.waitForDeadline { orders.append($0) }
        return orders
    }

    @Test("the deadline comes first, then the cut-off, then nothing")
    func phases() async {
        #expect(await orders(.zero, grace: .zero) == [.finish(.deadline), .cutOff])
    }

    @Test("a run without a deadline has no limit, and one without grace has no cut-off")
    func none() async {
        #expect(await orders(nil, grace: .zero).isEmpty)
        #expect(await orders(.zero, grace: nil) == [.finish(.deadline)])
    }

    @Test("a cancelled wait reports nothing")
    func cancelled() async {
        let wait = Task { await orders(.seconds(3600), grace: nil) }
        wait.cancel()
        #expect(await wait.value.isEmpty)
    }
}
