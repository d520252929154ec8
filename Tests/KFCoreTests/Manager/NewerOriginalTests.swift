import Foundation
import KFImaging
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images are only as good as their originals", .bounded)
struct NewerOriginalTests {
    private static let url = "http://h/a.png"
    private let old: ScriptedTransport.Answer
    private let new: ScriptedTransport.Answer
    private let newWidth: Int

    init() throws {
        old = .init(headers: [("ETag", "\"1\"")], body: try ManagerFixture.fixture("png/rgb.png"))
        new = .init(headers: [("ETag", "\"2\"")], body: try ManagerFixture.fixture("png/one-pixel.png"))
        newWidth = 1
    }

    private func options(
        _ chain: String = "flip:h", _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) throws -> KingfisherOptions {
        let processor = try ProcessorParser.parse(chain)
        return ManagerFixture.options {
            $0.processor = processor
            $0.diskCacheExpiration = .seconds(10)
            change(&$0)
        }
    }

    private func entry(_ fixture: ManagerFixture, _ identifier: String = "") throws -> Entry? {
        try fixture.manager.cache.storage()?.entry(for: EntryKey(key: Self.url, identifier: identifier))
    }

    @Test("A refresh without originals outdates the cached one")
    func forced() async throws {
        let (fixture, transport) = try answering(old, new)
        for chain in ["flip:h", "flip:v"] {
            _ = try await fixture.get(try options(chain) { $0.cacheOriginalImage = true }, from: Self.url)
        }
        let forced = try await fixture.get(try options { $0.forceRefresh = true }, from: Self.url)
        #expect(forced.way == .fetched && forced.facts.width == newWidth && forced.cachedPath != nil)
        #expect(try entry(fixture) == nil && entry(fixture, "flip:v") == nil)
        let next = try await fixture.get(try options(), from: Self.url)
        #expect(next.way == .disk && next.facts.width == newWidth)
        #expect(transport.requests.count == 2)
        #expect(try await fixture.get(try options("flip:v"), from: Self.url).facts.width == newWidth)
    }

    @Test("An expired original keeps no newer image from the cache", arguments: [1, 2])
    func expired(_ variants: Int) async throws {
        let (fixture, transport) = try answering(old, new)
        _ = try await fixture.get(ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }, from: Self.url)
        fixture.advance(seconds: 11)
        let forms = try ["flip:h", "flip:v"].prefix(variants).map { try options($0) }
        for way in [RetrievalWay.fetched, .disk] {
            let results = await fixture.manager.retrieveVariants(
                of: .network(try RequestURL(Self.url)), options: forms)
            for result in results {
                let image = try result.get()
                #expect(image.way == way && image.facts.width == newWidth && image.cachedPath != nil)
            }
        }
        #expect(transport.requests.map(\.isConditional) == [false, true])
    }

    @Test("An image of a remote outdates an expired original", arguments: [1, 2])
    func remote(_ variants: Int) async throws {
        let layer = MemoryLayer()
        let digest = new.body.withUnsafeBytes { SHA256.hash($0) }
        for chain in ["flip:h", "flip:v"] {
            try layer.put(new.body, for: EntryKey(key: Self.url, identifier: chain)) { $0.original = digest }
        }
        let reader = try RemoteFixture(layer, transport: ScriptedTransport(old))
        _ = try await reader.get(Self.url) {
            $0.diskCacheExpiration = .seconds(10)
            $0.forceRefresh = true
        }
        reader.fixture.advance(seconds: 11)
        let forms = try ["flip:h", "flip:v"].prefix(variants).map { try options($0) }
        for way in [RetrievalWay.remote, .disk] {
            let results = await reader.manager.retrieveVariants(
                of: .network(try RequestURL(Self.url)), options: forms)
            for result in results {
                let image = try result.get()
                #expect(image.way == way && image.facts.width == newWidth && image.cachedPath != nil)
            }
        }
        #expect(reader.transport.requests.count == 1)
    }

    @Test("Images of a remote do not replace those of a fresh original", arguments: [1, 2])
    func freshBeforeRemote(_ variants: Int) async throws {
        let layer = MemoryLayer()
        let digest = old.body.withUnsafeBytes { SHA256.hash($0) }
        for chain in ["flip:h", "flip:v"] {
            try layer.put(old.body, for: EntryKey(key: Self.url, identifier: chain)) { $0.original = digest }
        }
        let reader = try RemoteFixture(layer, transport: ScriptedTransport(new))
        _ = try await reader.get(Self.url) { $0.forceRefresh = true }
        let forms = try ["flip:h", "flip:v"].prefix(variants).map { try options($0) }
        let results = await reader.manager.retrieveVariants(of: .network(try RequestURL(Self.url)), options: forms)
        for result in results {
            let image = try result.get()
            #expect(image.way == .derived && image.facts.width == newWidth && image.cachedPath != nil)
        }
        #expect(layer.log.isEmpty)
    }

    @Test("The first remote with an original has it for all variants")
    func firstRemote() async throws {
        let (first, second) = (MemoryLayer("first"), MemoryLayer("second"))
        try first.put(new.body)
        let digest = old.body.withUnsafeBytes { SHA256.hash($0) }
        try second.put(old.body, for: EntryKey(key: Self.url, identifier: "flip:h")) { $0.original = digest }
        let reader = try RemoteFixture(first, second, transport: RemoteFixture.unasked())
        let results = await reader.manager.retrieveVariants(
            of: .network(try RequestURL(Self.url)), options: try ["flip:h", "flip:v"].map { try options($0) })
        #expect(try results.map { try $0.get().facts.width } == [newWidth, newWidth])
        #expect(try results.map { try $0.get().way } == [.remote, .remote])
    }

    @Test("Images of a lower layer do not replace those of a fresh original", arguments: [1, 2])
    func freshBeforeLayer(_ variants: Int) async throws {
        let chains = ["flip:h", "flip:v"].prefix(variants)
        let forms = try chains.map { try options($0) { $0.diskCacheExpiration = .days(1) } }
        let source = Source.network(try RequestURL(Self.url))
        let lower = try ManagerFixture(transport: ScriptedTransport(old))
        _ = await lower.manager.retrieveVariants(of: source, options: forms)
        await lower.manager.shutdown()
        let path = lower.directory.url.appendingPathComponent("cache").path
        let upper = try ManagerFixture(transport: ScriptedTransport(new), caching: { $0.lowerLayers = [path] })
        // Without an original of its own, the cache takes them.
        for result in await upper.manager.retrieveVariants(of: source, options: forms) {
            #expect(try result.get().way == .disk && result.get().facts.width != newWidth)
        }
        _ = try await upper.get(ManagerFixture.options { $0.forceRefresh = true }, from: Self.url)
        let plan = try await upper.manager.explain(source, options: forms[0]).plan
        #expect(plan.step == .derive, "\(plan.reasons)")
        let list = upper.directory.url.appendingPathComponent("list")
        try Data(Self.url.utf8).write(to: list)
        let steps = SharedValue<[RetrievalPlan.Step]>([])
        try await PrefetchDryRun(manager: upper.manager, forms: Array(forms))
            .run(try PrefetchLists(paths: [list.path])) { event in
                if case .found(let finding) = event { steps.value += finding.forms.map(\.next) }
                return true
            }
        #expect(steps.value == forms.map { _ in .derive })
        let report = await ImagePrefetcher(manager: upper.manager, forms: Array(forms)).prefetch([source])
        #expect(report.counts == [0, 0, 1])
        for result in await upper.manager.retrieveVariants(of: source, options: forms) {
            let image = try result.get()
            #expect(image.way == .disk && image.facts.width == newWidth)
        }
    }
}
