import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

private struct Own: Error, Equatable { let number: Int }

/// Gives its bytes once it may.
private struct SlowProvider: ImageDataProvider {
    let cacheKey = "slow"
    let name = "slow"
    let begun: StopSignal
    let gate: StopSignal
    let bytes: [UInt8]?
    var wasCancelled = SharedValue(false)

    func data() async throws -> [UInt8] {
        begun.give()
        _ = await gate.wait()
        if Task.isCancelled {
            wasCancelled.value = true
            throw CancellationError()
        }
        guard let bytes else { throw Own(number: 7) }
        return bytes
    }
}

private struct WaitingStrategy: RetryStrategy {
    let begun: StopSignal
    let gate: StopSignal
    var wasCancelled = SharedValue(false)

    func decide(_ context: RetryContext) async -> RetryDecision {
        begun.give()
        _ = await gate.wait()
        if Task.isCancelled { wasCancelled.value = true }
        return context.retriedCount < 2 ? .retry(after: .zero) : .stop
    }
}

@Suite("Asynchronous strategies and providers", .bounded)
struct WaitingAnswersTests {
    private let begun = StopSignal()
    private let gate = StopSignal()

    @Test("An image is requested again only after the strategy decides")
    func strategy() async throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { _, number in number < 2 ? .init(status: 503) : .init(body: body) }
        let fixture = try ManagerFixture(transport: transport)
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        async let result = fixture.manager.retrieveImage(
            with: .network(RequestURL("http://h/a.png")),
            options: ManagerFixture.options { $0.retryStrategy = strategy })
        _ = await begun.wait()
        #expect(transport.requests.count == 1)
        gate.give()
        #expect(try await result.attempts == 3)
        #expect(transport.requests.count == 3)
    }

    @Test("Cancelling a call cancels its strategy")
    func cancelledStrategy() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport { _, _ in .init(status: 503) })
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        let url = try RequestURL("http://h/a.png")
        let call = Task {
            try await fixture.manager.retrieveImage(
                with: .network(url), options: ManagerFixture.options { $0.retryStrategy = strategy })
        }
        _ = await begun.wait()
        call.cancel()
        let error = await #expect(throws: KingfisherError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        #expect(await eventually { strategy.wasCancelled.value })
    }

    @Test("A prefetch that ends early does not wait for a strategy")
    func endedEarly() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport { _, _ in .init(status: 503) })
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        let options = ManagerFixture.options { $0.retryStrategy = strategy }
        let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: [options])
        let list = fixture.directory.url.appendingPathComponent("list").path
        try fixture.directory.write("list", "http://h/a.png\n")
        let lists = try PrefetchLists(paths: [list])
        async let report = prefetcher.prefetch(lists) { _ in }
        _ = await begun.wait()
        prefetcher.finishEarly(lists)
        _ = await report
        #expect(await eventually { strategy.wasCancelled.value })
    }

    @Test("At most 64 providers are read at once")
    func manyProviders() async throws {
        struct Counted: ImageDataProvider {
            let cacheKey: String
            let name = "counted"
            let counts: SharedValue<(now: Int, most: Int, begun: Int)>
            let gate: StopSignal

            func data() async throws -> [UInt8] {
                counts.change { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.begun + 1) }
                _ = await gate.wait()
                counts.change { $0.now -= 1 }
                throw Own(number: 1)
            }
        }
        let fixture = try ManagerFixture()
        let counts = SharedValue((now: 0, most: 0, begun: 0))
        let failures = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask { [gate] in
                    let source = Source.provider(Counted(cacheKey: "\(number)", counts: counts, gate: gate))
                    let options = ManagerFixture.options()
                    return (try? await fixture.manager.retrieveImage(with: source, options: options)) == nil
                }
            }
            #expect(await eventually { counts.value.begun == 64 })
            gate.give()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 200)
        #expect(counts.value.most == 64)
    }

    @Test("A provider's own error is kept")
    func ownError() async throws {
        let fixture = try ManagerFixture()
        let provider = SlowProvider(begun: begun, gate: gate, bytes: nil)
        gate.give()
        let error = await #expect(throws: KingfisherError.self) {
            try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        }
        guard case .sourceError(reason: .dataProviderError(_, let own)) = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(own?.error as? Own == Own(number: 7))
        #expect(error?.errorCode == 5003)
    }

    @Test("A provider without callers is cancelled")
    func cancelledProvider() async throws {
        let fixture = try ManagerFixture()
        let provider = SlowProvider(begun: begun, gate: gate, bytes: nil)
        let call = Task {
            try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        }
        _ = await begun.wait()
        call.cancel()
        let error = await #expect(throws: KingfisherError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        #expect(await eventually { provider.wasCancelled.value })
    }
}
