import KFNetwork
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Alternatives and retries", .bounded)
struct AlternativeTests {
    private static let bad = "http://bad/a.png"

    /// Hosts whose name begins with "bad" refuse.
    private func fixture() throws -> (ManagerFixture, ScriptedTransport) {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { request, _ in
            request.url.hasPrefix("http://bad") ? .init(status: 404) : .init(body: body)
        }
        return (try ManagerFixture(transport: transport), transport)
    }

    private func source(_ url: String) throws -> Source { .network(try RequestURL(url)) }

    @Test("An alternative source is used when the first one fails")
    func alternative() async throws {
        let (fixture, _) = try fixture()
        let result = try await fixture.manager.retrieveImage(
            with: source(Self.bad), options: [.alternativeSources([source("http://good/b.png")])])
        #expect(result.originalSource.name == Self.bad)
        #expect(result.source.name == "http://good/b.png")
    }

    @Test("An image for failures is delivered with the error")
    func onFailureImage() async throws {
        let (fixture, _) = try fixture()
        let image = Image(try Bitmap(width: 3, height: 2, format: .rgb))
        let options: KingfisherOptionsInfo = [.onFailureImage(image)]
        let result = try await fixture.manager.retrieveImage(with: source(Self.bad), options: options)
        #expect(result.way == .onFailure && result.cacheType == .none)
        #expect(result.failure?.errorCode == 2002 && result.facts.width == 3)
        #expect(try await result.image() == image)
        #expect(try await result.data().starts(with: [0x89, 0x50, 0x4e, 0x47]))
        #expect(try await !fixture.manager.cache.isCached(forKey: Self.bad))
        let good = try await fixture.manager.retrieveImage(with: source("http://good/b.png"), options: options)
        #expect(good.way == .fetched && good.failure == nil)
    }

    @Test("Each of 1,000 alternatives is tried once and reported in order")
    func thousandAlternatives() async throws {
        /// Gives no bytes, and counts how often it was asked for them.
        final class Failing: ImageDataProvider {
            let cacheKey: String
            let name = "failing"
            private let asked = Mutex(0)

            init(_ key: String) { cacheKey = key }

            var count: Int { asked.withLock { $0 } }

            func data() throws(KingfisherError) -> [UInt8] {
                asked.withLock { $0 += 1 }
                throw .sourceError(reason: .dataProviderError(detail: cacheKey))
            }
        }
        let manager = try ManagerFixture(disk: false).manager
        let workers = (0..<8).map { worker in (0...1000).map { Failing("\(worker) \($0)") } }
        let errors = await withTaskGroup(of: (Int, KingfisherError?).self) { group in
            for (worker, providers) in workers.enumerated() {
                group.addTask {
                    let sources = providers.map { Source.provider($0) }
                    do throws(KingfisherError) {
                        _ = try await manager.retrieveImage(
                            with: sources[0], options: [.alternativeSources(Array(sources.dropFirst()))])
                        return (worker, nil)
                    } catch {
                        return (worker, error)
                    }
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        for (worker, providers) in workers.enumerated() {
            #expect(providers.allSatisfy { $0.count == 1 })
            let expected = providers.map {
                PropagationError(
                    source: .provider($0), error: .sourceError(reason: .dataProviderError(detail: $0.cacheKey)))
            }
            #expect(errors[worker] == .sourceError(reason: .alternativeSourcesExhausted(expected)))
            #expect(errors[worker]?.errorCode == 5004)
        }
    }

    @Test("A cancelled retrieval starts no alternative")
    func cancelled() async throws {
        let (fixture, transport) = try fixture()
        transport.close()
        let task = Task {
            try await fixture.manager.retrieveImage(
                with: source("http://slow/a.png"), options: [.alternativeSources([source("http://good/b.png")])])
        }
        await transport.requested(1)
        task.cancel()
        let error = await #expect(throws: KingfisherError.self) { try await task.value }
        #expect(error?.isCancellation == true)
        #expect(transport.requests.count == 1)
    }

    @Test("Accumulated retry delays grow until the retries are used up")
    func accumulated() throws {
        let strategy = DelayRetryStrategy(maxRetryCount: 4, retryInterval: .accumulated(3))
        let failing = KingfisherError.responseError(reason: .invalidHTTPStatusCode(503))
        func decision(_ error: KingfisherError, _ count: Int) throws -> RetryDecision {
            strategy.decide(RetryContext(source: try source(Self.bad), error: error, retriedCount: count))
        }
        #expect(
            try (0..<5).map { try decision(failing, $0) } == [
                .retry(after: .seconds(3)), .retry(after: .seconds(6)), .retry(after: .seconds(9)),
                .retry(after: .seconds(12)), .stop,
            ])
        #expect(try decision(.requestError(reason: .taskCancelled), 0) == .stop)
        #expect(try decision(.cacheError(reason: .imageNotExisting(key: "k")), 0) == .stop)
        #expect(try decision(.responseError(reason: .invalidHTTPStatusCode(404)), 0) == .stop)
    }

    @Test("A retry strategy keeps its own data between decisions")
    func userInfo() async throws {
        struct Counting: RetryStrategy {
            let seen = SharedValue<[Int]>([])

            func decide(_ context: RetryContext) -> RetryDecision {
                let count = (context.userInfo.value as? Int ?? 0) + 1
                context.userInfo.value = count
                seen.value.append(count)
                return count < 3 ? .retry(after: .zero) : .stop
            }
        }
        let (fixture, transport) = try fixture()
        let strategy = Counting()
        await #expect(throws: KingfisherError.self) {
            try await fixture.manager.retrieveImage(with: source(Self.bad), options: [.retryStrategy(strategy)])
        }
        #expect(strategy.seen.value == [1, 2, 3])
        #expect(transport.requests.count == 3)
    }
}
