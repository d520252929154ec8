import KFNetwork
import KFTerms
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images that are left out, in the library", .bounded)
struct ImageFilterTests {
    @Test(
        "X-Robots-Tag is read as img2dataset reads it",
        arguments: [
            (["noai"], nil, true), (["NOINDEX , nofollow"], nil, true), (["nofollow"], nil, false), ([], nil, false),
            (["nofollow", "noimageai"], nil, true), (["bot: noai"], nil, false), (["bot: noai"], "bot", true),
            (["Bot:noai"], "bOT", true), (["bot: nofollow, noai"], "bot", true), (["other: noai"], "bot", false),
            (["noai"], "bot", true), (["noindexing"], nil, false), (["noai, bot: nofollow"], nil, true),
            (["unavailable_after: 25 Jun 2030"], nil, false), (["max-snippet: -1, noindex"], nil, true),
            ([""], nil, false), ([":"], nil, false), ([",,:,"], "", false), (["none"], nil, false),
        ] as [([String], String?, Bool)])
    func robots(_ values: [String], _ agent: String?, _ optsOut: Bool) {
        let lines = HeaderLines(values.map { ("x-robots-tag", $0) })
        #expect((OptOut(agent: agent).header(in: lines) != nil) == optsOut)
    }

    @Test("An unknown measure refuses only whole images")
    func unknown() {
        var filter = ImageFilter()
        (filter.minWidth, filter.formats) = (100, [.png, .svg])
        #expect(filter.refusal(of: ImageMeasures(format: .svg, bytes: 5)) == nil)
        #expect(filter.refusal(of: ImageMeasures(format: .svg, bytes: 5), isWhole: true) != nil)
        #expect(filter.refusal(of: ImageMeasures(format: .gif)) == "gif, not png or svg")
        let image = ImageMeasures(format: .png, width: 99, height: 120, bytes: 7)
        #expect(HeaderLines("vary: a").measuring(image).measures == image)
        #expect(HeaderLines(nil).measuring(ImageMeasures(width: 3)).measures == ImageMeasures(width: 3))
        #expect(filter.refusal(of: image) == "99×120 pixels, not at least 100×")
    }

    private func image(_ name: String = "png/rgb.png") throws -> ScriptedTransport.Answer {
        .init(headers: [("ETag", "\"1\"")], body: try ManagerFixture.fixture(name))
    }

    private func options(_ width: Int, _ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            var filter = ImageFilter()
            filter.minWidth = width
            $0.filter = filter
            change(&$0)
        }
    }

    @Test("A confirmed image is judged, and so is a stale one")
    func confirmed() async throws {
        let (fixture, transport) = try answering(try image(), .init(status: 304), .init(status: 503))
        _ = try await fixture.get(ManagerFixture.options())
        fixture.advance(seconds: 8 * 86_400)
        for isProcessed in [false, true] {
            let processor = isProcessed ? try ProcessorParser.parse("resize:2x2") : DefaultImageProcessor()
            let error = await failure { try await fixture.get(options(10_000) { $0.processor = processor }) }
            #expect(error?.errorCode == 2012 && error?.isLeftOut == true && error?.isRemembered == false)
        }
        #expect(transport.requests.count == 2)
        fixture.advance(seconds: 8 * 86_400)
        let stale = await failure { try await fixture.get(options(10_000) { $0.staleIfError = .seconds(9e6) }) }
        #expect(stale?.errorCode == 2012 && transport.requests.count == 3)
        _ = try await fixture.get(options(1) { $0.offline = true })
        #expect(await failure { try await fixture.get(options(10_000) { $0.offline = true }) }?.errorCode == 2012)
    }

    @Test("Measures are remembered as long as the image would be")
    func remembered() async throws {
        let (fixture, transport) = try answering(try image())
        for seconds in [0, 7 * 86_400 - 1, 1] as [Int64] {
            fixture.advance(seconds: seconds)
            #expect(await failure { try await fixture.get(options(10_000)) }?.errorCode == 2012)
        }
        #expect(transport.requests.count == 2)
        // Under the HTTP policy, what may not be stored is not remembered.
        let (other, asked) = try answering(
            .init(headers: [("Cache-Control", "no-store")], body: try ManagerFixture.fixture("png/rgb.png")))
        for _ in 0..<2 {
            #expect(
                await failure { try await other.get(options(10_000) { $0.cachePolicy = .http }) }?.errorCode == 2012)
        }
        #expect(asked.requests.count == 2)
    }

    @Test("An image in memory and one of a provider are judged")
    func memory() async throws {
        let (fixture, transport) = try answering(try image())
        _ = try await fixture.get(ManagerFixture.options { $0.memoryCacheExpiration = nil })
        let error = await failure { try await fixture.get(options(10_000) { $0.memoryCacheExpiration = nil }) }
        #expect(error?.errorCode == 2012 && transport.requests.count == 1)
        let provider = RawImageDataProvider(data: try ManagerFixture.fixture("png/rgb.png"), cacheKey: "raw")
        let local = await failure {
            try await fixture.manager.retrieveImage(with: .provider(provider), options: options(10_000))
        }
        #expect(local?.errorCode == 2012)
    }

    @Test("Transfers with other filters are not shared")
    func sharing() async throws {
        let (fixture, transport) = try answering(try image())
        transport.close()
        async let small = failure { try await fixture.get(options(10_000)) }
        async let any = fixture.get(ManagerFixture.options())
        await transport.requested(2)
        transport.open()
        #expect(await small?.errorCode == 2012)
        #expect(try await any.way == .fetched)
    }
}
