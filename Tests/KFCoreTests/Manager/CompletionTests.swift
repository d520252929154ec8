import Glibc
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// When a retrieval completes that stores in two places, each of which may be the slow one.
@Suite("The completion of a retrieval", .bounded)
struct CompletionTests {
    /// The stores in the order in which they end.
    enum Order: CaseIterable, Sendable {
        case targetFirst, originalFirst, together
    }

    struct Case: Sendable {
        let waits: Bool
        let keepsOriginal: Bool
        let order: Order
    }

    private static let cases = [false, true].flatMap { waits in
        [false, true].flatMap { keeps in
            Order.allCases.map { Case(waits: waits, keepsOriginal: keeps, order: $0) }
        }
    }

    private static let url = "http://h/a.png"
    private static let identifier = "resize:20x10,none"
    private let fixture: ManagerFixture
    private let originals: ImageCache
    private let originalsPath: String

    init() throws {
        let transport = ScriptedTransport(.init(body: try ManagerFixture.fixture("png/rgb.png")))
        fixture = try ManagerFixture(transport: transport)
        originalsPath = fixture.directory.path("originals").path
        var configuration = ImageCache.Configuration(directory: originalsPath)
        configuration.lockTimeout = .seconds(60)
        originals = ImageCache(configuration)
    }

    /// While this is held, nothing is stored in the cache at this path.
    private func hold(_ root: String) throws -> FileLock {
        let lock = FileLock(try FileDescriptor.open("\(root)/v1/lock", O_RDWR))
        try lock.acquire(.exclusive, byte: Int64(0))
        return lock
    }

    /// Waits until the image is on the disk; false after a minute: other tests may occupy the workers that make it.
    private func arrives(_ identifier: String, in cache: ImageCache) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            if try await !cache.entries(forKey: Self.url).filter({ $0.name.identifier == identifier }).isEmpty {
                return true
            }
            try await Task.sleep(for: .milliseconds(1))
        }
        return false
    }

    @Test(
        "A retrieval completes once, and only after the stores it waits for",
        arguments: cases)
    func completes(_ given: Case) async throws {
        let target = fixture.manager.cache
        // Opens both, so that their locks are there.
        _ = try await (target.summary(), originals.summary())
        let targetLock = try hold(fixture.directory.path("cache").path)
        let originalLock = try hold(originalsPath)
        let release = { (lock: FileLock) in lock.release(byte: 0) }

        let count = SharedValue(0)
        var items: KingfisherOptionsInfo = [
            .processor(try ProcessorParser.parse("resize:20x10")), .originalCache(originals), .callbackQueue(.untouch),
        ]
        if given.waits { items.append(.waitForCache) }
        if given.keepsOriginal { items.append(.cacheOriginalImage) }
        let (results, completion) = AsyncStream<Result<RetrieveImageResult, KingfisherError>>.makeStream()
        fixture.manager.retrieveImage(with: .network(try RequestURL(Self.url)), options: items) { result in
            count.value += 1
            completion.yield(result)
        }
        var next = results.makeAsyncIterator()
        var outcome: Result<RetrieveImageResult, KingfisherError>?
        // Nothing can have been stored yet.
        if !given.waits { outcome = await next.next() }

        switch given.order {
        case .targetFirst:
            release(targetLock)
            if !given.keepsOriginal { #expect(try await arrives(Self.identifier, in: target)) }
            release(originalLock)
        case .originalFirst:
            release(originalLock)
            if given.keepsOriginal { #expect(try await arrives("", in: originals)) }
            if given.waits { #expect(count.value == 0) }
            release(targetLock)
        case .together:
            release(targetLock)
            release(originalLock)
        }
        if given.waits { outcome = await next.next() }
        #expect(try outcome?.get().way == .fetched)
        await fixture.manager.shutdown()
        #expect(count.value == 1)
        #expect(try await arrives(Self.identifier, in: target))
        #expect(try await originals.isCached(forKey: Self.url) == given.keepsOriginal)
    }
}
