import KFNetwork
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Representations of a URL by Vary", .bounded)
struct RepresentationTests {
    private let source: Source
    private let fixture: ManagerFixture
    private let transport: ScriptedTransport

    /// The answer to German is another picture than that to any other language; each has its ETag.
    init() throws {
        source = .network(try RequestURL("http://h/a.png"))
        let german = try ManagerFixture.fixture("png/rgb.png")
        let other = try ManagerFixture.fixture("png/grey.png")
        transport = ScriptedTransport { request, _ in
            let language = request.headers.first { $0.name == "Accept-Language" }?.value ?? ""
            let fields = [
                (name: "Cache-Control", value: "max-age=60"), ("Vary", "Accept-Language"), ("ETag", "\"\(language)\""),
            ]
            if request.isConditional { return .init(status: 304, headers: fields) }
            return .init(headers: fields, body: language.lowercased().contains("de") ? german : other)
        }
        fixture = try ManagerFixture(transport: transport)
    }

    private func options(
        _ language: String, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) -> KingfisherOptions {
        ManagerFixture.options {
            $0.cachePolicy = .http
            $0.request.headers = [("Accept-Language", language)]
            change(&$0)
        }
    }

    private func get(_ options: KingfisherOptions) async throws -> RetrieveImageResult {
        try await fixture.manager.retrieveImage(with: source, options: options)
    }

    private func identifiers() async throws -> [String] {
        try await fixture.manager.cache.entries(forKey: "http://h/a.png").map(\.name.identifier).sorted()
    }

    @Test("Two languages of one URL are cached side by side")
    func two() async throws {
        let german = try await get(options("de, fr"))
        let english = try await get(options("en"))
        #expect(german.facts.sha256 != english.facts.sha256)
        for _ in 0..<2 {
            let again = try await get(options("FR,de"))
            #expect(again.way == .disk && again.facts.sha256 == german.facts.sha256)
            let other = try await get(options("en"))
            #expect(other.way == .disk && other.facts.sha256 == english.facts.sha256)
        }
        #expect(transport.requests.count == 2)
        #expect(try await identifiers().count == 2)
        #expect(
            try fixture.manager.retrieveCachedImage(with: source, options: options("en"))?.facts.sha256
                == english.facts.sha256)
    }

    @Test("Each representation is confirmed by its own ETag")
    func confirmed() async throws {
        for language in ["de", "en"] { _ = try await get(options(language)) }
        fixture.advance(seconds: 61)
        for language in ["en", "de"] {
            #expect(try await get(options(language)).way == .revalidated)
            let condition = transport.requests.last?.sentHeaders.first { $0.name == "If-None-Match" }?.value
            #expect(condition == "\"\(language)\"")
        }
        #expect(try await get(options("en")).way == .disk)
    }

    @Test("A processed image belongs to its representation")
    func processed() async throws {
        let resize = try ProcessorParser.parse("resize:20x10")
        func resized(_ language: String) -> KingfisherOptions {
            options(language) {
                $0.processor = resize
                $0.cacheOriginalImage = true
            }
        }
        let german = try await get(resized("de"))
        let english = try await get(resized("en"))
        #expect(german.facts.sha256 != english.facts.sha256)
        #expect(try await get(resized("de")).facts.sha256 == german.facts.sha256)
        #expect(try await get(resized("en")).facts.sha256 == english.facts.sha256)
        #expect(transport.requests.count == 2)
        let variants = await fixture.manager.retrieveVariants(of: source, options: [resized("en"), options("en")])
        #expect(try variants.map { try $0.get().way } == [.disk, .disk])
        #expect(try await identifiers().count == 4)
        let findings = try await fixture.manager.cache.verify { _ in }
        #expect(findings?.isClean == true)
        let mark = try #require(english.representation)
        let names = try await identifiers()
        #expect(names.contains("vary=\(mark)") && names.contains("vary=\(mark)|>resize:20x10,none"))
    }

    @Test("Memory keeps several representations of a URL")
    func memory() async throws {
        func kept(_ language: String) -> KingfisherOptions {
            options(language) { $0.memoryCacheExpiration = .seconds(60) }
        }
        let german = try await get(kept("de"))
        let english = try await get(kept("en"))
        #expect(try await get(kept("de")).facts.sha256 == german.facts.sha256)
        #expect(try await get(kept("en")).facts.sha256 == english.facts.sha256)
        #expect(try await get(kept("en")).way == .memory)
        #expect(transport.requests.count == 2)
    }

    @Test("A prefetcher fetches each language of a URL")
    func prefetched() async throws {
        for (language, count) in [("de", 1), ("en", 2), ("en", 2), ("de", 2)] {
            let prefetcher = ImagePrefetcher(manager: fixture.manager, forms: [options(language)])
            let report = await prefetcher.prefetch([source])
            #expect(report.progress.failed == 0)
            #expect(transport.requests.count == count)
        }
    }

    @Test("The plan names the representation of the request")
    func explained() async throws {
        for language in ["de", "en"] { _ = try await get(options(language)) }
        for language in ["de", "en"] {
            let explanation = try await fixture.manager.explain(source, options: options(language))
            #expect(explanation.plan.step == .disk)
            #expect(explanation.entries.count == 2)
        }
        #expect(try await fixture.manager.explain(source, options: options("it")).plan.step == .request)
    }

    @Test("At most sixteen further representations of a URL are kept")
    func bounded() async throws {
        for number in 0..<30 {
            _ = try await get(options("x-\(number)"))
            fixture.advance(seconds: 1)
        }
        #expect(try await identifiers().count == 17)
        #expect(try await get(options("x-29")).way == .disk)
        #expect(try await get(options("x-5")).way == .fetched)
        #expect(try await identifiers().count == 17)
        let removal = try await fixture.manager.cache.removeImage(forKey: "http://h/a.png")
        #expect(removal.entries == 17)
        #expect(try await identifiers().isEmpty)
    }

    @Test("A forced fetch keeps the other representations")
    func forced() async throws {
        _ = try await get(options("de"))
        for change in [{ $0.fromMemoryCacheOrRefresh = true }, { $0.forceRefresh = true }]
            as [(inout KingfisherOptions) -> Void]
        {
            let count = transport.requests.count
            #expect(try await get(options("en", change)).way == .fetched)
            #expect(transport.requests.count == count + 1)
        }
        for language in ["de", "en"] { #expect(try await get(options(language)).way == .disk) }
        #expect(try await identifiers().count == 2)
    }

    @Test("The default policy keeps one representation of a URL")
    func plain() async throws {
        for language in ["de", "en"] {
            _ = try await get(options(language) { $0.cachePolicy = .timeToLive })
        }
        #expect(transport.requests.count == 1)
        #expect(try await identifiers() == [""])
    }
}
