import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Variants of one image", .bounded)
struct VariantRetrievalTests {
    private static let chains = [
        "resize:20x", "resize:30x", "resize:50x|>blur:3", "crop:40x40", "crop:40x40|>blur:2",
        "crop:40x40|>resize:10x10", "blur:4",
    ]

    private func options(_ chain: String, _ change: (inout KingfisherOptions) -> Void = { _ in }) throws
        -> KingfisherOptions
    {
        var options = KingfisherOptions()
        options.processor = try ProcessorParser.parse(chain)
        options.cacheOriginalImage = true
        change(&options)
        return options
    }

    @Test(
        "Variants equal the images that are made one by one",
        arguments: [
            "jpeg/orientation-6.jpg", "png/grey-alpha.png", "png/animated.png", "gif/animated-loop-3.gif",
            "webp/animated.webp",
        ])
    func together(_ name: String) async throws {
        let together = try ManagerFixture()
        let alone = try ManagerFixture()
        let bytes = try ManagerFixture.fixture(name)
        let provider = CountingProvider("key", bytes)
        let all = try Self.chains.map { try options($0) }
        let results = await together.manager.retrieveVariants(of: .provider(provider), options: all)
        #expect(results.count == Self.chains.count)
        for (options, result) in zip(all, results) {
            let result = try result.get()
            #expect(result.way == .fetched && result.identifier == options.identifier)
            let single = try await alone.manager.retrieveImage(
                with: .provider(CountingProvider("key", bytes)), options: options)
            #expect(try await result.data() == single.data(), "\(options.identifier)")
            #expect(result.facts == single.facts)
        }
        #expect(provider.count == 1)
        let again = await together.manager.retrieveVariants(of: .provider(provider), options: all)
        for result in again { #expect([.memory, .disk].contains(try result.get().way)) }
        #expect(provider.count == 1)
    }

    @Test("Variants are made of an original in memory")
    func memory() async throws {
        let fixture = try ManagerFixture()
        let provider = CountingProvider("key", try ManagerFixture.fixture("png/rgba.png"))
        let original = try await fixture.manager.retrieveImage(with: .provider(provider), options: options(""))
        let results = await fixture.manager.retrieveVariants(
            of: .provider(provider), options: try ["resize:10x10", "resize:20x20"].map { try options($0) })
        #expect(original.way == .fetched && provider.count == 1)
        #expect(try results.map { try $0.get().facts.width } == [10, 20])
        for result in results { #expect(try result.get().way == .derived) }
    }

    @Test("A variant that fails leaves the others")
    func mixed() async throws {
        let fixture = try ManagerFixture()
        let bytes = try ManagerFixture.fixture("png/rgba.png")
        let jpeg = FormatIndicatedCacheSerializer(format: .jpeg)
        let results = await fixture.manager.retrieveVariants(
            of: .provider(CountingProvider("key", bytes)),
            options: [
                try options("resize:10x10"), try options("resize:20x20") { $0.cacheSerializer = jpeg },
                KingfisherOptions(), try options("resize:30x30") { $0.onlyLoadFirstFrame = true },
            ])
        #expect(try results[0].get().facts.width == 10)
        #expect(throws: KingfisherError.self) { try results[1].get() }
        #expect(try await results[2].get().data() == bytes)
        #expect(try results[3].get().facts.width == 30)
    }

    @Test("A failing source fails all variants at once")
    func failing() async throws {
        let fixture = try ManagerFixture()
        let provider = CountingProvider("bad", [1, 2, 3])
        let results = await fixture.manager.retrieveVariants(
            of: .provider(provider), options: try ["resize:10x10", "blur:2"].map { try options($0) })
        #expect(results.count == 2)
        for result in results { #expect(throws: KingfisherError.self) { try result.get() } }
        #expect(provider.count == 1)
    }
}
