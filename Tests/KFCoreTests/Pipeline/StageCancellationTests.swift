import Glibc
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// Two calls wait in the same stage, which the test holds. One of them is cancelled.
@Suite("Cancellation in each stage", .bounded)
struct StageCancellationTests {
    enum Stage: CaseIterable {
        case modifying, opening, openingForced, lookingUp, waitingForRoom, downloading, readingProvider, deciding,
            resting, arrived, processing
        case storing
    }

    /// A retrieval that stays in a stage until it is released.
    private struct Held {
        let fixture: ManagerFixture
        /// What the first call asks for, and the second.
        var sources: [Source]
        var options = ManagerFixture.options()
        /// Returns when the calls are in the stage.
        let reached: @Sendable () async -> Bool
        let release: @Sendable () -> Void
        /// Whether the stage waits; true where the calls would wait for ever.
        var waits: @Sendable () -> Bool = { true }
        /// The code of the other call's error; nil if it gets the image.
        var code: Int?

        init(
            _ fixture: ManagerFixture, source: Source? = nil, _ reached: @escaping @Sendable () async -> Bool,
            release: @escaping @Sendable () -> Void
        ) throws {
            self.fixture = fixture
            let source = try source ?? .network(RequestURL("http://h/a.png"))
            sources = [source, source]
            self.reached = reached
            self.release = release
        }
    }

    private let body: [UInt8]

    init() throws { body = try ManagerFixture.fixture("png/rgb-colour-key.png") }

    @Test("A cancelled call does not stop another one in its stage", arguments: Stage.allCases)
    func cancelled(_ stage: Stage) async throws {
        let held = try await hold(stage)
        let manager = held.fixture.manager
        let calls = held.sources.map { source in
            Task { try await manager.retrieveImage(with: source, options: held.options) }
        }
        #expect(await held.reached())
        calls[0].cancel()
        // The stage is released only afterwards: the call has not waited for it.
        let error = await #expect(throws: KingfisherError.self) { try await calls[0].value }
        #expect(error?.isCancellation == true && held.waits())
        held.release()
        switch await calls[1].result {
        case .success(let image): #expect(held.code == nil && image.way == .fetched)
        case .failure(let error): #expect(held.code == (error as? KingfisherError)?.errorCode)
        }
        await manager.background.wait()
        #expect(await eventually { manager.downloader.work.waiterCount == 0 })
    }

    private func hold(_ stage: Stage) async throws -> Held {
        switch stage {
        case .modifying: try holdModifier()
        case .opening: try await holdOpening(false)
        case .openingForced: try await holdOpening(true)
        case .lookingUp: try await holdLookUp()
        case .waitingForRoom: try holdRoom()
        case .downloading: try holdTransfer()
        case .readingProvider: try holdProvider()
        case .deciding: try holdDecision()
        case .resting: try holdRest()
        case .arrived: try await holdWorkers()
        case .processing: try await holdProcessor()
        case .storing: try await holdStore()
        }
    }

    // MARK: Stages

    private func holdModifier() throws -> Held {
        let gate = StopSignal()
        let asked = SharedValue(0)
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(body: body)))
        var held = try Held(fixture) {
            await eventually { asked.value == 2 }
        } release: {
            gate.give()
        }
        held.options.request.modifier = AnyModifier { request in
            asked.change { $0 += 1 }
            _ = await gate.wait()
            return request
        }
        return held
    }

    /// Another process sets the index aside, and the cache cannot be opened meanwhile.
    private func holdOpening(_ isForced: Bool) async throws -> Held {
        let transport = ScriptedTransport(.init(body: body))
        let fixture = try ManagerFixture(transport: transport)
        do {
            let neighbour = ImageCache(
                ImageCache.Configuration(directory: fixture.directory.url.appendingPathComponent("cache").path))
            _ = try await neighbour.isCached(forKey: "a")
            await neighbour.close()
        }
        let lock = try self.lock(of: fixture)
        #expect(try await eventually { try lock.tryAcquire(.exclusive, byte: 1) })
        var held = try Held(fixture) {
            await others()
            return transport.requests.isEmpty
        } release: {
            lock.release(byte: 1)
        }
        held.sources[0] = .network(try RequestURL("http://h/b.png"))
        held.options.forceRefresh = isForced
        // After the limit of its wait, a call goes on without a cache.
        held.waits = { transport.requests.isEmpty }
        return held
    }

    private func lock(of fixture: ManagerFixture) throws -> FileLock {
        let path = fixture.directory.url.appendingPathComponent("cache/v1/lock").path
        return FileLock(FileDescriptor(taking: open(path, O_RDWR | O_CLOEXEC), path: path))
    }

    private func holdLookUp() async throws -> Held {
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(body: body)))
        let blocked = await BlockedWorkers(isOfLookUps: true)
        return try Held(fixture) {
            await others()
            return true
        } release: {
            blocked.release()
        }
    }

    /// The engine starts no transfer while too many bodies wait to be stored.
    private func holdRoom() throws -> Held {
        let server = try FaultServer { [body] _ in [.reply(body: body)] }
        let fixture = try ManagerFixture()
        let downloader = fixture.manager.downloader
        downloader.changePressure(isHeld: true)
        return try Held(fixture, source: .network(RequestURL(server.url("/a.png")))) {
            let waits = await eventually { downloader.work.waiterCount == 2 }
            return waits && server.requests.isEmpty
        } release: {
            downloader.changePressure(isHeld: false)
        }
    }

    private func holdTransfer() throws -> Held {
        let transport = ScriptedTransport(.init(body: body))
        transport.close()
        let fixture = try ManagerFixture(transport: transport)
        return try Held(fixture) {
            await transport.requested(1)
            return await eventually { fixture.manager.downloader.work.waiterCount == 2 }
        } release: {
            transport.open()
        }
    }

    private func holdProvider() throws -> Held {
        let gate = StopSignal()
        let provider = CountingProvider("a", body, gate: gate)
        let fixture = try ManagerFixture()
        return try Held(fixture, source: .provider(provider)) {
            await eventually { provider.count == 1 && fixture.manager.downloader.work.waiterCount == 2 }
        } release: {
            gate.give()
        }
    }

    private struct Strategy: RetryStrategy {
        let decisions = SharedValue(0)
        let rests = SharedValue(0)
        let delay: Duration
        var gate: StopSignal?

        func decide(_ context: RetryContext) async -> RetryDecision {
            decisions.change { $0 += 1 }
            _ = await gate?.wait()
            return .retry(after: delay)
        }

        func willRetry(_ context: RetryContext, after delay: Duration) { rests.change { $0 += 1 } }
    }

    /// The first request of both calls fails.
    private func failing() throws -> (ManagerFixture, ScriptedTransport) {
        let transport = ScriptedTransport { [body] _, number in number == 0 ? .init(status: 503) : .init(body: body) }
        transport.close()
        return (try ManagerFixture(transport: transport), transport)
    }

    private func holdDecision() throws -> Held {
        let (fixture, transport) = try failing()
        let gate = StopSignal()
        let strategy = Strategy(delay: .zero, gate: gate)
        var held = try Held(fixture) {
            let joined = await eventually { fixture.manager.downloader.work.waiterCount == 2 }
            transport.open()
            return await eventually { strategy.decisions.value == 2 } && joined
        } release: {
            gate.give()
        }
        held.options.retryStrategy = strategy
        return held
    }

    private func holdRest() throws -> Held {
        let (fixture, transport) = try failing()
        let strategy = Strategy(delay: .seconds(3600))
        var held = try Held(fixture) {
            let joined = await eventually { fixture.manager.downloader.work.waiterCount == 2 }
            transport.open()
            return await eventually { strategy.rests.value == 2 } && joined
        } release: {
            fixture.manager.downloader.drain()
        }
        held.options.retryStrategy = strategy
        held.code = 1003
        return held
    }

    private func holdWorkers() async throws -> Held {
        let transport = ManualTransport()
        let fixture = try ManagerFixture(transport: transport)
        let workers = await BlockedWorkers()
        return try Held(fixture) { [body] in
            let waits = await eventually {
                fixture.manager.downloader.work.waiterCount == 2 && transport.open.count == 1
            }
            transport.finish(transport.open, body: body)
            return waits
        } release: {
            workers.release()
        }
    }

    private func holdProcessor() async throws -> Held {
        let fixture = try ManagerFixture(transport: ScriptedTransport(.init(body: body)))
        let processor = await CountingProcessor(closed: "held")
        var held = try Held(fixture) {
            // The worker that processes the image for one call delivers the download to the other one afterwards.
            await eventually { processor.count == 1 }
        } release: {
            processor.open()
        }
        held.options.processor = processor
        return held
    }

    /// Another process holds the cache's write lock.
    private func holdStore() async throws -> Held {
        let transport = ManualTransport()
        let fixture = try ManagerFixture(transport: transport)
        _ = try await fixture.manager.cache.isCached(forKey: "a")
        let lock = try self.lock(of: fixture)
        #expect(try lock.tryAcquire(.exclusive, byte: 0))
        let work = fixture.manager.downloader.work
        return try Held(fixture) { [body] in
            let waits = await eventually { work.waiterCount == 2 && transport.open.count == 1 }
            transport.finish(transport.open, body: body)
            // The image has been delivered to both.
            return await eventually { work.waiterCount == 0 } && waits
        } release: {
            lock.release(byte: 0)
        }
    }
}
