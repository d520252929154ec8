import KFNetwork
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

/// Lets those who wait go on once it is opened.
private final class Gate: Sendable {
    private let stream: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() { (stream, end) = AsyncStream.makeStream() }

    func open() { end.finish() }

    /// Returns early when the task is cancelled.
    func wait() async { for await _ in stream {} }
}

private struct Own: Error, Equatable { let number: Int }

/// Gives its bytes once it may.
private struct SlowProvider: ImageDataProvider {
    let cacheKey = "slow"
    let name = "slow"
    let begun: Gate
    let gate: Gate
    let bytes: [UInt8]?
    var wasCancelled = SharedValue(false)

    func data() async throws -> [UInt8] {
        begun.open()
        await gate.wait()
        if Task.isCancelled {
            wasCancelled.value = true
            throw CancellationError()
        }
        guard let bytes else { throw Own(number: 7) }
        return bytes
    }
}

private struct WaitingStrategy: RetryStrategy {
    let begun: Gate
    let gate: Gate
    var wasCancelled = SharedValue(false)

    func decide(_ context: RetryContext) async -> RetryDecision {
        begun.open()
        await gate.wait()
        if Task.isCancelled { wasCancelled.value = true }
        return context.retriedCount < 2 ? .retry(after: .zero) : .stop
    }
}

@Suite("Programs' own answers that take their time", .bounded)
struct WaitingAnswersTests {
    private let begun = Gate()
    private let gate = Gate()

    private func eventually(_ isTrue: () -> Bool) async {
        for _ in 0..<10_000 where !isTrue() { _ = try? await Task.sleep(for: .milliseconds(1)) }
        #expect(isTrue())
    }

    @Test("A retry strategy may wait, and the image is asked for again only then")
    func strategy() async throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { _, number in number < 2 ? .init(status: 503) : .init(body: body) }
        let fixture = try ManagerFixture(transport: transport)
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        async let result = fixture.manager.retrieveImage(
            with: .network(RequestURL("http://h/a.png")),
            options: ManagerFixture.options { $0.retryStrategy = strategy })
        await begun.wait()
        #expect(transport.requests.count == 1)
        gate.open()
        #expect(try await result.attempts == 3)
        #expect(transport.requests.count == 3)
    }

    @Test("A call that is cancelled while its strategy waits ends, and the strategy's task is cancelled")
    func cancelledStrategy() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport { _, _ in .init(status: 503) })
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        let url = try RequestURL("http://h/a.png")
        let call = Task {
            try await fixture.manager.retrieveImage(
                with: .network(url), options: ManagerFixture.options { $0.retryStrategy = strategy })
        }
        await begun.wait()
        call.cancel()
        let error = await #expect(throws: KingfisherError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        await eventually { strategy.wasCancelled.value }
    }

    @Test("A prefetch that is ended early does not wait for a strategy")
    func endedEarly() async throws {
        let fixture = try ManagerFixture(transport: ScriptedTransport { _, _ in .init(status: 503) })
        let strategy = WaitingStrategy(begun: begun, gate: gate)
        let options = ManagerFixture.options { $0.retryStrategy = strategy }
        let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: [options])
        let list = fixture.directory.url.appendingPathComponent("list").path
        try fixture.directory.write("list", "http://h/a.png\n")
        let lists = try PrefetchLists(paths: [list])
        async let report = prefetcher.prefetch(lists) { _ in }
        await begun.wait()
        prefetcher.finishEarly(lists)
        _ = await report
        await eventually { strategy.wasCancelled.value }
    }

    @Test("Only so many providers are asked at once")
    func manyProviders() async throws {
        struct Counted: ImageDataProvider {
            let cacheKey: String
            let name = "counted"
            let counts: SharedValue<(now: Int, most: Int, begun: Int)>
            let gate: Gate

            func data() async throws -> [UInt8] {
                counts.change { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.begun + 1) }
                await gate.wait()
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
            await eventually { counts.value.begun == 64 }
            gate.open()
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(failures == 200)
        #expect(counts.value.most == 64)
    }

    @Test("A provider may wait; all who want the image get it from one reading")
    func provider() async throws {
        let fixture = try ManagerFixture()
        let provider = SlowProvider(begun: begun, gate: gate, bytes: try ManagerFixture.fixture("png/rgb.png"))
        async let first = fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        await begun.wait()
        gate.open()
        #expect(try await first.way == .fetched)
        #expect(
            try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options()).way
                == .disk)
    }

    @Test("What a provider throws is kept")
    func ownError() async throws {
        let fixture = try ManagerFixture()
        let provider = SlowProvider(begun: begun, gate: gate, bytes: nil)
        gate.open()
        let error = await #expect(throws: KingfisherError.self) {
            try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        }
        guard case .sourceError(reason: .dataProviderError(_, let own)) = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(own?.error as? Own == Own(number: 7))
        #expect(error?.errorCode == 5003)
    }

    @Test("A provider whose image nobody wants any more is cancelled")
    func cancelledProvider() async throws {
        let fixture = try ManagerFixture()
        let provider = SlowProvider(begun: begun, gate: gate, bytes: nil)
        let call = Task {
            try await fixture.manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        }
        await begun.wait()
        call.cancel()
        let error = await #expect(throws: KingfisherError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        await eventually { provider.wasCancelled.value }
    }
}
