import KFImaging
import Support
import Synchronization
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images in memory", .bounded)
struct MemoryHitTests {
    /// Counts how often it encodes.
    private final class CountingSerializer: CacheSerializer {
        let identifier = "counting"
        private let encoded = Atomic(0)

        var count: Int { encoded.load(ordering: .relaxed) }

        func data(
            for image: Image, original: ImageFormat?
        ) throws(ImagingError) -> (bytes: [UInt8], format: ImageFormat) {
            encoded.add(1, ordering: .relaxed)
            return try DefaultCacheSerializer().data(for: image, original: original)
        }
    }

    private let fixture: ManagerFixture
    private let source: Source
    private let bytes: [UInt8]
    private var manager: KingfisherManager { fixture.manager }
    private var cost: Int { manager.cache.memory.totals.cost }

    init() throws {
        fixture = try ManagerFixture()
        bytes = try ManagerFixture.fixture("jpeg/landscape-420.jpg")
        source = .provider(CountingProvider("key", bytes))
    }

    /// Where the pixels of an image are.
    private func address(_ image: Image) -> UInt {
        image.bitmap.withUnsafeRows { rows in UInt(bitPattern: rows.row(0)) }
    }

    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.memoryCacheExpiration = nil
            change(&$0)
        }
    }

    private func hit(_ options: KingfisherOptions) async throws -> RetrieveImageResult {
        let result = try await manager.retrieveImage(with: source, options: options)
        #expect(result.way == .memory)
        return result
    }

    @Test("A processed image in memory is not encoded again")
    func processed() async throws {
        let serializer = CountingSerializer()
        let options = try ManagerFixture.resized { $0.cacheSerializer = serializer }
        let made = try await manager.retrieveImage(with: source, options: options)
        let stored = try await made.data()
        for _ in 0..<3 {
            let hit = try await hit(options)
            #expect(try await hit.data() == stored)
            #expect(try await hit.image().width == 20)
        }
        #expect(serializer.count == 1)
    }

    @Test(
        "A use extends the expiry in memory as the option says",
        arguments: [
            (.none, 60, .disk), (.cacheTime, 60, .memory), (.cacheTime, 101, .disk),
            (.expirationTime(.seconds(1000)), 900, .memory), (.expirationTime(.seconds(10)), 20, .disk),
        ] as [(ExpirationExtending, Int64, RetrievalWay)])
    func extending(_ extending: ExpirationExtending, after seconds: Int64, way: RetrievalWay) async throws {
        let options = options {
            $0.memoryCacheExpiration = .seconds(100)
            $0.memoryCacheAccessExtendingExpiration = extending
        }
        _ = try await manager.retrieveImage(with: source, options: options)
        fixture.advance(seconds: 60)
        _ = try await hit(options)
        fixture.advance(seconds: seconds)
        #expect(try await manager.retrieveImage(with: source, options: options).way == way)
    }

    @Test("An unprocessed image in memory is decoded once")
    func unprocessed() async throws {
        _ = try await manager.retrieveImage(with: source, options: options())
        #expect(cost == bytes.count)
        let first = try await hit(options()).image()
        #expect(cost == bytes.count + first.cost)
        let second = try await hit(options())
        #expect(address(try await second.image()) == address(first))
        #expect(try await second.data() == bytes)
        manager.cache.clearMemoryCache()
        #expect(cost == 0)
    }

    @Test("Pixels that do not fit into memory evict nothing")
    func tooLarge() async throws {
        var configuration = ImageCache.Configuration(directory: nil)
        configuration.memoryCostLimit = bytes.count + 100
        let manager = KingfisherManager(cache: ImageCache(configuration))
        let options = options()
        _ = try await manager.retrieveImage(with: source, options: options)
        for _ in 0..<2 {
            let hit = try await manager.retrieveImage(with: source, options: options)
            #expect(hit.way == .memory)
            #expect(try await hit.image().width > 0)
            #expect(manager.cache.memory.totals == (1, bytes.count))
        }
        // A processed image is kept without its pixels where those do not fit.
        let processed = self.options { $0.processor = BlackWhiteProcessor() }
        let made = try await manager.retrieveImage(with: source, options: processed)
        let encoded = try await made.data()
        if encoded.count <= bytes.count + 100 {
            #expect(try await manager.retrieveImage(with: source, options: processed).way == .memory)
        }
    }

    @Test("A removed image does not return when it is decoded")
    func removed() async throws {
        _ = try await manager.retrieveImage(with: source, options: options())
        let hit = try await hit(options())
        manager.cache.clearMemoryCache()
        #expect(try await hit.image().width > 0)
        #expect(cost == 0)
    }

    @Test("A stored image keeps its encoded form in memory")
    func stored() async throws {
        let image = try ImageDecoder.decode(bytes)
        _ = await manager.cache.store(image, original: bytes, forKey: "own")
        let own = Source.provider(CountingProvider("own", []))
        let hit = try await manager.retrieveImage(with: own, options: options())
        #expect(hit.way == .memory)
        #expect(try await hit.data() == bytes)
        #expect(address(try await hit.image()) == address(image))
    }

    @Test("A cancelled task gets no image from memory")
    func cancelled() async throws {
        _ = try await manager.retrieveImage(with: source, options: options())
        let (manager, source, options) = (manager, source, options())
        let task = Task {
            _ = try? await Task.sleep(for: .seconds(60))
            return try await manager.retrieveImage(with: source, options: options)
        }
        task.cancel()
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await task.value }
    }

    @Test("A result and its image have one-line descriptions")
    func descriptions() async throws {
        let result = try await manager.retrieveImage(with: source, options: options())
        #expect(!"\(result)".contains("\n") && "\(result)".hasPrefix("counting: fetched, jpeg, "))
        let image = try await result.image()
        #expect("\(image)" == "Image(\(image.width)×\(image.height), jpeg)")
        #expect("\(image.bitmap)" == "Bitmap(\(image.width)×\(image.height), rgb, 8 bits)")
    }
}
