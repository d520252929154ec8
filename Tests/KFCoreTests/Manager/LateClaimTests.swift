import Foundation
import KFNetwork
import KFStorage
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Flights and their transfers", .bounded)
struct LateClaimTests {
    private let first: ManagerFixture
    private let second: KingfisherManager
    private let transport: ScriptedTransport
    private let source: Source
    private let options = ManagerFixture.options()

    init() throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        transport = ScriptedTransport(.init(body: body))
        first = try ManagerFixture(transport: transport)
        second = try Self.neighbour(of: first, ScriptedTransport(.init(body: body)))
        source = .network(try RequestURL("http://example.com/a.png"))
    }

    /// What another process has: a cache of its own in the same directory.
    private static func neighbour(
        of fixture: ManagerFixture, _ transport: any Transport
    ) throws -> KingfisherManager {
        var configuration = ImageCache.Configuration(
            directory: fixture.directory.url.appendingPathComponent("cache").path)
        let time = fixture.time
        configuration.clock = CacheClock { time.value }
        return KingfisherManager(
            cache: ImageCache(configuration), downloader: ImageDownloader(.init(), transport: transport))
    }

    @Test("A queued transfer lets another process fetch the image")
    func queued() async throws {
        transport.close()
        let waiting = Task { [first, source, options] in
            try await first.manager.retrieveImage(with: source, options: options)
        }
        await transport.requested(1)
        #expect(try await second.retrieveImage(with: source, options: options).way == .fetched)
        transport.open()
        let result = try await waiting.value
        #expect(result.way == .disk && result.attempts == 0)
    }

    /// Whether the flight of a key ends in bounded time: the task that held its image last may end after
    /// the result has been delivered.
    private func enters(_ storage: DiskStorage, _ key: EntryKey) async throws -> Bool {
        try await eventually { try storage.enterFlight(key) != nil }
    }

    @Test("A flight ends when its image is stored")
    func ends() async throws {
        let key = EntryKey(key: source.cacheKey)
        let neighbour = try #require(try second.cache.storage())
        _ = try await first.manager.retrieveImage(with: source, options: options)
        #expect(try await enters(neighbour, key))
        let processed = try ManagerFixture.resized()
        _ = try await first.manager.retrieveImage(
            with: .network(try RequestURL("http://example.com/b.png")), options: processed)
        #expect(try await enters(neighbour, EntryKey(key: "http://example.com/b.png")))
    }

    @Test("A forced refresh fetches although another process stored the image")
    func forced() async throws {
        transport.close()
        let waiting = Task { [first, source] in
            try await first.manager.retrieveImage(
                with: source, options: ManagerFixture.options { $0.forceRefresh = true })
        }
        await transport.requested(1)
        _ = try await second.retrieveImage(with: source, options: options)
        transport.open()
        #expect(try await waiting.value.way == .fetched)
    }

    @Test("A call between two retries lets another process fetch")
    func resting() async throws {
        let failing = ScriptedTransport(.init(status: 503))
        let manager = try Self.neighbour(of: first, failing)
        let asked = Mutex(false)
        struct Rest: RetryStrategy {
            let told: @Sendable () -> Void
            func decide(_ context: RetryContext) -> RetryDecision {
                told()
                return .retry(after: .seconds(3600))
            }
        }
        var options = options
        options.retryStrategy = Rest { asked.withLock { $0 = true } }
        let resting = Task { [source, options] in try await manager.retrieveImage(with: source, options: options) }
        #expect(await eventually { asked.withLock { $0 } })
        #expect(try await second.retrieveImage(with: source, options: self.options).way == .fetched)
        resting.cancel()
        await #expect(throws: KingfisherError.self) { try await resting.value }
    }

    @Test("Unrelated commits of another process cost one look-up")
    func unrelated() async throws {
        transport.close()
        let waiting = Task { [first, source, options] in
            try await first.manager.retrieveImage(with: source, options: options)
        }
        await transport.requested(1)
        _ = try await second.retrieveImage(
            with: .network(try RequestURL("http://example.com/other.png")), options: options)
        transport.open()
        let result = try await waiting.value
        #expect(result.way == .fetched && result.attempts == 1)
    }

    @Test("A call fetches after another process's flight failed")
    func joined() async throws {
        let storage = try #require(try second.cache.storage())
        let key = EntryKey(key: source.cacheKey)
        var hold = try storage.enterFlight(key)
        #expect(hold != nil)
        let waiting = Task { [first, source, options] in
            try await first.manager.retrieveImage(with: source, options: options)
        }
        await transport.refused(1)
        hold = nil
        #expect(try await waiting.value.way == .fetched)
        #expect(transport.requests.count == 1)
    }
}
