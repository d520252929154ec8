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

    @Test("The deadline comes before the cut-off")
    func phases() async {
        #expect(await orders(.zero, grace: .zero) == [.finish(.deadline), .cutOff])
    }

    @Test("A run without a deadline has no limit")
    func unlimited() async {
        #expect(await orders(nil, grace: .zero).isEmpty)
        #expect(await orders(.zero, grace: nil) == [.finish(.deadline)])
    }

    @Test("A cancelled wait reports nothing")
    func cancelled() async {
        let wait = Task { await orders(.seconds(3600), grace: nil) }
        wait.cancel()
        #expect(await wait.value.isEmpty)
    }
}
