import Foundation
import KFCore
import KFFoundation
import Support
import Synchronization
import Testing

/// Lines as a user of Kingfisher writes them, with Foundation's types and against a server.
@Suite("Kingfisher's calls with Foundation's types", .bounded)
struct FoundationCallTests {
    private let directory: TemporaryDirectory
    private let server: FaultServer
    private let manager: KingfisherManager
    private let bytes: Data
    private let url: URL

    init() throws {
        let image = try FixturesDirectory.named("png/rgb.png")
        bytes = try image.data
        directory = try TemporaryDirectory()
        let body = [UInt8](bytes)
        server = try FaultServer { request in
            request.path.hasSuffix("missing.png") ? [.reply("404 Not Found")] : [.reply(body: body)]
        }
        var configuration = ImageCache.Configuration(directory: directory.url.path + "/cache")
        // A busy machine may take longer than images stay in memory.
        let now = Timestamp.now()
        configuration.clock = CacheClock { now }
        manager = KingfisherManager(cache: ImageCache(configuration))
        url = try #require(URL(string: server.url("/a.png")))
    }

    @Test("A URL is retrieved, awaited or called back")
    func retrieving() async throws {
        let result = try await manager.retrieveImage(with: url, options: [.waitForCache])
        #expect(Data(try await result.data()) == bytes)
        #expect(try await result.image().size.width > 0)
        let again = await withCheckedContinuation { continuation in
            manager.retrieveImage(with: url) { continuation.resume(returning: $0) }
        }
        #expect(try again.get().cacheType == .memory)
        let resource = ImageResource(downloadURL: url, cacheKey: "key")
        #expect(try await manager.retrieveImage(with: resource).key == "key")
        #expect(try await manager.downloader.downloadImage(with: url).url.url == url)
        manager.downloader.cancel(url: url)
        await manager.shutdown()
    }

    @Test("A file URL is read")
    func sources() async throws {
        let file = directory.url.appendingPathComponent("a b.png")
        try bytes.write(to: file)
        #expect(Data(try await manager.retrieveImage(with: file).data()) == bytes)
        let provider = try LocalFileImageDataProvider(fileURL: file)
        #expect(try await manager.retrieveImage(with: .provider(provider)).cacheType == .memory)
        for (text, code) in [("ftp://h/a.png", 1002), (directory.url.absoluteString + "none.png", 5003)] {
            let url = try #require(URL(string: text))
            let error = await #expect(throws: KingfisherError.self) { try await manager.retrieveImage(with: url) }
            #expect(error?.errorCode == code)
        }
    }

    @Test("Processors take sizes")
    func sizes() async throws {
        let processor =
            DownsamplingImageProcessor(size: CGSize(width: 40, height: 40))
            |> ResizingImageProcessor(referenceSize: CGSize(width: 20, height: 30), mode: .aspectFit)
            |> CroppingImageProcessor(size: CGSize(width: 10, height: 5), anchor: CGPoint(x: 0, y: 0))
            |> RoundCornerImageProcessor(cornerRadius: 4, targetSize: SizeSpec(CGSize(width: 8, height: 8)))
        let result = try await manager.retrieveImage(with: url, options: [.processor(processor)])
        #expect(try await result.image().size == CGSize(width: 8, height: 8))
        #expect(result.identifier.hasPrefix("downsample:40x40|>resize:20x30,fit|>crop:10x5,anchor=0x0|>round-corner:4"))
    }

    @Test("Data is stored, and dates expire")
    func storing() async throws {
        let cache = manager.cache
        await cache.storeToDisk(bytes, forKey: "a", expiration: .date(Date(timeIntervalSinceNow: 86_400)))
        await cache.store(try Image(data: bytes), original: bytes, forKey: "b")
        for key in ["a", "b"] {
            let path = try #require(try await cache.cachePath(forKey: key))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        }
        await cache.storeToDisk(bytes, forKey: "c", expiration: .date(Date(timeIntervalSinceNow: -86_400)))
        #expect(try await !cache.isCached(forKey: "c"))
        let raw = RawImageDataProvider(data: bytes, cacheKey: "raw")
        #expect(try await manager.retrieveImage(with: .provider(raw)).key == "raw")
        let date = Date(timeIntervalSince1970: 1_700_000_000.25)
        #expect(Timestamp(date).date == date && Timestamp(.distantFuture).date > date)
        #expect(Timestamp(Date(timeIntervalSince1970: 1e300)) == .distantFuture)
    }

    @Test("Errors describe themselves with Kingfisher's codes")
    func errors() async throws {
        let missing = try #require(URL(string: server.url("/missing.png")))
        do {
            _ = try await manager.retrieveImage(with: missing)
            #expect(Bool(false), "there was an image")
        } catch {
            #expect(error.isInvalidResponseStatusCode(404))
            #expect(error.errorDescription == "response 404 Not Found [2002]")
            #expect((error as any Error).localizedDescription == error.errorDescription)
        }
    }

    @Test("Invalid URLs count as failed in a prefetch")
    func prefetching() async throws {
        let urls = try [server.url("/a.png"), server.url("/missing.png"), "ftp://h/a.png"].map {
            try #require(URL(string: $0))
        }
        let counts = await withCheckedContinuation { continuation in
            let prefetcher = ImagePrefetcher(urls: urls, manager: manager) { skipped, failed, completed in
                continuation.resume(returning: [skipped.count, failed.count, completed.count])
            }
            prefetcher.start()
        }
        #expect(counts == [0, 2, 1])
    }
}
