import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

/// Several images of one source, which remotes have all, some or none of.
@Suite("Variants and remotes", .bounded, .serialized)
struct RemoteVariantTests {
    private static let original = EntryKey(key: RemoteFixture.url)
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")
    /// An image that no processor here makes, so that it can only come from the remote.
    private let made = FixturesDirectory.image("png/one-pixel.png")
    private let chains = ["a", "b", "c"]

    private func put(_ chains: String..., in layer: MemoryLayer? = nil) throws {
        let original = picture.withUnsafeBytes { SHA256.hash($0) }
        for chain in chains {
            let key = EntryKey(key: RemoteFixture.url, identifier: chain)
            try (layer ?? self.layer).put(made, for: key) { $0.original = original }
        }
    }

    private func get(
        _ machine: RemoteFixture, _ chains: [String]? = nil, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> [Result<RetrieveImageResult, KingfisherError>] {
        let forms = (chains ?? self.chains).map { chain in
            ManagerFixture.options {
                $0.processor = CountingProcessor(chain)
                change(&$0)
            }
        }
        return await machine.manager.retrieveVariants(of: .network(try RequestURL(RemoteFixture.url)), options: forms)
    }

    private func ways(
        _ machine: RemoteFixture, _ chains: [String]? = nil, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> [RetrievalWay] {
        try await get(machine, chains, change).map { try $0.get().way }
    }

    @Test("Three variants read four entries of a remote", arguments: ["", "a", "ac", "abc"], [true, false])
    func entries(_ there: String, hasOriginal: Bool) async throws {
        for chain in there { try put(String(chain)) }
        if hasOriginal { try layer.put(picture) }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let expected = chains.map { there.contains($0) || hasOriginal ? RetrievalWay.remote : .fetched }
        #expect(try await ways(reader) == expected)
        #expect(layer.count("read ac") == 4)
        let needsOriginal = there.count < 3
        // The images of these forms are equal, and each has an entry of its own.
        #expect(layer.count("read cas") == there.count + (hasOriginal && needsOriginal ? 1 : 0))
        #expect(reader.transport.requests.count == (needsOriginal && !hasOriginal ? 1 : 0))
        let misses: Int64 = needsOriginal && !hasOriginal ? 1 : 0
        #expect(reader.statistics == RemoteCounts(hits: Int64(layer.count("read cas")), misses: misses))
        #expect(try await ways(reader) == [.disk, .disk, .disk])
    }

    @Test("The next remote is asked only for what is still missing")
    func severalRemotes() async throws {
        let (second, third) = (MemoryLayer("second"), MemoryLayer("third"))
        try put("a")
        try put("a", "b", in: second)
        try second.put(picture)
        let reader = try RemoteFixture(layer, second, third, transport: RemoteFixture.unasked())
        #expect(try await ways(reader) == [.remote, .remote, .remote])
        #expect(layer.log == ["read ac", "read ac", "read ac", "read ac", "read cas"])
        #expect(second.count("read ac") == 3 && second.count("read cas") == 2)
        #expect(third.log.isEmpty && reader.transport.requests.isEmpty)
    }

    @Test("Cached variants are not looked for in remotes")
    func mixed() async throws {
        try put("b")
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let cached = ManagerFixture.options { $0.processor = CountingProcessor("a") }
        _ = try await reader.manager.retrieveImage(
            with: .network(RequestURL(RemoteFixture.url)), options: cached)
        let before = (entries: layer.count("read ac"), requests: reader.transport.requests.count)
        #expect(try await ways(reader) == [.disk, .remote, .fetched])
        #expect(layer.count("read ac") - before.entries == 3)
        #expect(reader.transport.requests.count - before.requests == 1)
    }

    @Test("A failing origin fails only what no remote has")
    func failingOrigin() async throws {
        try put("a", "c")
        let reader = try RemoteFixture(layer, transport: ScriptedTransport(.init(status: 404)))
        let results = try await get(reader)
        #expect(try results[0].get().way == .remote && results[2].get().way == .remote)
        #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(404))) { try results[1].get() }
        #expect(reader.transport.requests.count == 1)
        #expect(try reader.entry(EntryKey(key: RemoteFixture.url, identifier: "a")) != nil)
    }

    @Test("Variants of a mixed state count one request")
    func attempts() async throws {
        try put("a")
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let forms = chains.map { chain in ManagerFixture.options { $0.processor = CountingProcessor(chain) } }
        let prefetcher = ImagePrefetcher(manager: reader.manager, forms: forms)
        var attempts: [Int] = []
        let report = await prefetcher.prefetch([.network(try RequestURL(RemoteFixture.url))]) { outcome, _ in
            attempts.append(outcome.attempts)
        }
        #expect(report.counts == [0, 0, 1] && attempts == [1])
    }

    @Test("With a pin only the original is taken", arguments: [true, false])
    func pinned(hasEntry: Bool) async throws {
        try put("a", "b", "c")
        try layer.put(picture)
        if !hasEntry { layer.blobs[layer.path(RemoteFixture.url)] = nil }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let pin = ContentHash(picture.withUnsafeBytes { SHA256.hash($0) })
        let results = try await get(reader) { $0.expectedHash = pin }.map { try $0.get() }
        #expect(results.allSatisfy { $0.way == (hasEntry ? .remote : .pinned) })
        for result in results { #expect(try await result.data() != made) }
        #expect(layer.count("read ac") == 1 && layer.count("read cas") == 1)
    }

    @Test("A damaged object is made anew from the original", arguments: ["remote", "other", "origin"])
    func damaged(_ place: String) async throws {
        try put("a", "c")
        let other = MemoryLayer("other")
        switch place {
        case "remote": try layer.put(picture)
        case "other": try other.put(picture)
        default: break
        }
        let path = try #require(layer.entry(EntryKey(key: RemoteFixture.url, identifier: "a")))
        layer.blobs[CacheLayerRequest.path(of: .object, path.object.hex)]?[30] ^= 1
        let reader = try RemoteFixture(layer, other, transport: try RemoteFixture.origin())
        let way: RetrievalWay = place == "origin" ? .fetched : .remote
        let results = try await get(reader).map { try $0.get() }
        #expect(results.map(\.way) == [way, way, way])
        for result in results { #expect(try await result.data() != made) }
        #expect(reader.transport.requests.count == (place == "origin" ? 1 : 0))
        #expect(layer.count("read ac") == 4 && reader.statistics.errors == 2)
    }

    @Test("Of several objects only a damaged one is made anew")
    func oneDamaged() async throws {
        try put("a", "b")
        try layer.put(
            try ManagerFixture.fixture("png/grey.png"), for: EntryKey(key: RemoteFixture.url, identifier: "c")
        ) {
            $0.original = picture.withUnsafeBytes { SHA256.hash($0) }
        }
        let path = try #require(layer.entry(EntryKey(key: RemoteFixture.url, identifier: "c")))
        layer.blobs[CacheLayerRequest.path(of: .object, path.object.hex)] = nil
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await ways(reader) == [.remote, .remote, .fetched])
        #expect(reader.transport.requests.count == 1 && reader.statistics.errors == 1)
        #expect(reader.statistics.hits == 2)
    }

    @Test("An expired original is confirmed for the variants that are missing")
    func expired() async throws {
        try put("a")
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_699_999_999_999)
            $0.etag = "\"1\""
        }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await ways(reader) { $0.cacheOriginalImage = true } == [.remote, .revalidated, .revalidated])
        #expect(reader.transport.requests.map(\.isConditional) == [true])
        #expect(layer.count("read ac") == 4)
    }

    @Test("A required remote that fails fails all variants")
    func required() async throws {
        layer.answer("read ac", .failed("it is broken"))
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked(), requires: true)
        for result in try await get(reader) {
            #expect(throws: KingfisherError.self) { try result.get() }
        }
        #expect(reader.transport.requests.isEmpty)
    }

    @Test("A required remote is asked again for what failed")
    func requiredAgain() async throws {
        try put("a", "b", "c")
        let failures = SharedValue(1)
        let name = RemoteEntry.name(of: EntryKey(key: RemoteFixture.url, identifier: "b"))
        layer.answer { request in
            guard request.name == name, failures.value > 0 else { return nil }
            failures.change { $0 -= 1 }
            return .failed("it is broken")
        }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked(), requires: true)
        #expect(try await ways(reader) == [.remote, .remote, .remote])
    }

    @Test("Equal calls share one look-up, and a cancelled one does not stop the other", arguments: ["ac", "cas"])
    func sharing(_ kind: String) async throws {
        try put("a")
        layer.hold { $0.kind.rawValue == kind }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let calls = (0..<2).map { _ in Task { try await ways(reader) } }
        #expect(await layer.holds(kind == "ac" ? 4 : 1))
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 2 })
        calls[0].cancel()
        await #expect(throws: KingfisherError.self) { try await calls[0].value }
        layer.open()
        #expect(try await calls[1].value == [.remote, .fetched, .fetched])
        #expect(layer.count("read ac") == 4 && reader.transport.requests.count == 1)
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 0 })
    }

    @Test("A look-up without waiters is given up", arguments: ["ac", "cas"])
    func givenUp(_ kind: String) async throws {
        try put("a", "b")
        layer.hold { $0.kind.rawValue == kind }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let call = Task { try await ways(reader) }
        #expect(await layer.holds(kind == "ac" ? 4 : 2))
        call.cancel()
        await #expect(throws: KingfisherError.self) { try await call.value }
        #expect(await eventually { layer.cancelled.count == (kind == "ac" ? 4 : 2) })
        layer.open()
        #expect(reader.transport.requests.isEmpty)
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 0 })
    }

    @Test("A look-up of one image is not that of several")
    func oneAndSeveral() async throws {
        try put("a")
        try layer.put(picture)
        layer.hold { $0.kind == .entry }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let forms = [DefaultImageProcessor(), CountingProcessor("a")] as [any ImageProcessor]
        let options = forms.map { form in ManagerFixture.options { $0.processor = form } }
        let source = Source.network(try RequestURL(RemoteFixture.url))
        let several = Task { await reader.manager.retrieveVariants(of: source, options: options) }
        #expect(await layer.holds(2))
        let one = Task { try await reader.manager.retrieveImage(with: source, options: options[1]) }
        #expect(await layer.holds(4))
        layer.open()
        #expect(try await one.value.data() == made)
        let results = try await several.value.map { try $0.get() }
        #expect(try await results[0].data() == picture)
        #expect(try await results[1].data() == made)
    }

    @Test("Equal variants are read once")
    func equal() async throws {
        try put("a")
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        #expect(try await ways(reader, ["a", "a"]) == [.remote, .remote])
        #expect(layer.log == ["read ac", "read ac", "read cas"])
    }

    @Test("A remote that refuses objects is asked for no more", arguments: [1, 3])
    func refused(count: Int) async throws {
        try put("a", "b", "c")
        try layer.put(picture)
        layer.answer("read cas", .refused("it wants a password"))
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await ways(reader, Array(chains.prefix(count))).allSatisfy { $0 == .fetched })
        #expect(layer.count("read cas") == count && reader.transport.requests.count == 1)
    }

    @Test("A damaged object beside an expired original leads to a conditional request")
    func damagedBesideExpired() async throws {
        try put("a", "b", "c")
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_699_999_999_999)
            $0.etag = "\"1\""
        }
        let entry = try #require(layer.entry(EntryKey(key: RemoteFixture.url, identifier: "a")))
        layer.blobs["cas/\(entry.object.hex.prefix(2))/\(entry.object.hex)"] = nil
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await ways(reader) { $0.cacheOriginalImage = true } == [.revalidated, .revalidated, .revalidated])
        #expect(reader.transport.requests.map(\.isConditional) == [true])
    }

    @Test("Without requests expired variants serve, whatever remotes have", arguments: [false, true])
    func onlyFromCache(hasRemote: Bool) async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        let change = { (options: inout KingfisherOptions) in
            options.diskCacheExpiration = .seconds(10)
            options.staleIfError = .seconds(60)
            options.onlyFromCache = true
        }
        _ = try await ways(reader, hasRemote ? ["a"] : ["a", "b"]) {
            change(&$0)
            $0.onlyFromCache = false
        }
        reader.fixture.advance(seconds: 11)
        let requests = reader.transport.requests.count
        if hasRemote { try put("a") }
        let results = try await get(reader, ["a", "b"], change)
        #expect(try results[0].get().way == (hasRemote ? .remote : .stale))
        if hasRemote {
            #expect(throws: KingfisherError.self) { try results[1].get() }
        } else {
            #expect(try results[1].get().way == .stale)
        }
        #expect(reader.transport.requests.count == requests)
    }
}
