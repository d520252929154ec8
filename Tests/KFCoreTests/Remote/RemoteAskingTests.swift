import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Requests to remotes", .bounded, .serialized)
struct RemoteAskingTests {
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")

    @Test("Calls for the origin or offline do not ask a remote")
    func notAsked() async throws {
        try layer.put(picture)
        for option in [\.forceRefresh, \.revalidate, \.fromMemoryCacheOrRefresh, \.offline]
            as [WritableKeyPath<KingfisherOptions, Bool>]
        {
            let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin("png/grey.png"))
            let result = try? await reader.get { $0[keyPath: option] = true }
            #expect(result?.way == (option == \.offline ? nil : .fetched))
            #expect(layer.log.isEmpty && reader.statistics == RemoteCounts())
        }
    }

    @Test("A refresh uploads the new image")
    func refreshed() async throws {
        try layer.put(picture)
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin("png/grey.png"), writes: true)
        #expect(try await writer.get { $0.forceRefresh = true }.way == .fetched)
        await writer.drain()
        let entry = try #require(try writer.entry())
        #expect(layer.entry()?.object == entry.object.digest)
    }

    @Test("Only-from-cache includes the remotes")
    func onlyFromCache() async throws {
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        await #expect(throws: KingfisherError.cacheError(reason: .imageNotExisting(key: RemoteFixture.url))) {
            try await reader.get { $0.onlyFromCache = true }
        }
        #expect(layer.log == ["read ac"])
        try layer.put(picture)
        #expect(try await reader.get { $0.onlyFromCache = true }.way == .remote)
        #expect(reader.transport.requests.isEmpty)
    }

    @Test("Only-from-cache serves stale images where that is allowed")
    func onlyFromCacheStale() async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        _ = try await reader.get { $0.diskCacheExpiration = .seconds(10) }
        reader.fixture.advance(seconds: 11)
        func cached(_ url: String) async throws -> RetrievalWay {
            try await reader.get(url) {
                $0.onlyFromCache = true
                $0.staleIfError = .seconds(60)
            }.way
        }
        #expect(try await cached(RemoteFixture.url) == .stale)
        let other = "http://h/b.png"
        try layer.put(picture, for: EntryKey(key: other)) {
            $0.expires = Timestamp(milliseconds: 1_700_000_009_000)
            $0.etag = "\"1\""
        }
        #expect(try await cached(other) == .remote)
        await #expect(throws: KingfisherError.cacheError(reason: .imageExpired(key: other, secondsAgo: 2))) {
            try await reader.get(other) { $0.onlyFromCache = true }
        }
        #expect(reader.transport.requests.count == 1)
    }

    @Test("Memory and disk come before the remotes")
    func localFirst() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        _ = try await writer.get { $0.memoryCacheExpiration = nil }
        let asked = layer.log.count
        #expect(try await writer.get { $0.memoryCacheExpiration = nil }.way == .memory)
        writer.cache.memory.removeAll()
        #expect(try await writer.get().way == .disk)
        await writer.cache.close()
        let lower = try #require(writer.cache.configuration.directory)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked(), caching: { $0.lowerLayers = [lower] })
        #expect(try await reader.get().way == .disk)
        #expect(layer.log.count == asked)
    }

    @Test("An alternative source is looked up under its own key")
    func alternatives() async throws {
        try layer.put(picture, for: EntryKey(key: "http://h/b.png"))
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let alternative = try RequestURL("http://h/b.png")
        let result = try await reader.get { $0.alternativeSources = [.network(alternative)] }
        #expect(result.way == .remote && result.key == "http://h/b.png")
        #expect(reader.transport.requests.map(\.url) == [RemoteFixture.url])
    }

    // MARK: Vary

    private func accepting(_ language: String) -> (inout KingfisherOptions) -> Void {
        { options in
            options.cachePolicy = .http
            options.request.headers = [("Accept-Language", language)]
        }
    }

    @Test("An image of a remote needs matching request headers")
    func vary() async throws {
        let headers = [("Vary", "Accept-Language"), ("Cache-Control", "max-age=600")]
        let writer = try RemoteFixture(
            layer, transport: try RemoteFixture.origin("png/rgba.png", headers), writes: true)
        #expect(try await writer.get(RemoteFixture.url, accepting("de")).way == .fetched)
        await writer.drain()
        #expect(layer.entryCount == 1)
        let grey = try ManagerFixture.fixture("png/grey.png")
        let reader = try RemoteFixture(
            layer, transport: try RemoteFixture.origin("png/grey.png", headers))
        let other = try await reader.get(RemoteFixture.url, accepting("fr"))
        #expect(other.way == .fetched)
        #expect(try await other.data() == grey)
        let third = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        #expect(try await third.get(RemoteFixture.url, accepting("de")).way == .remote)
        await #expect(throws: KingfisherError.self) {
            try await third.get(RemoteFixture.url, accepting("fr"))
        }
        #expect(try await third.get(RemoteFixture.url, accepting("de")).way == .disk)
    }

    @Test("Calls with different headers do not share a look-up")
    func varyTogether() async throws {
        let headers = [("Vary", "Accept-Language"), ("Cache-Control", "max-age=600")]
        let writer = try RemoteFixture(
            layer, transport: try RemoteFixture.origin("png/rgba.png", headers), writes: true)
        _ = try await writer.get(RemoteFixture.url, accepting("de"))
        await writer.drain()
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin("png/grey.png", headers))
        layer.hold()
        let tasks = ["de", "fr"].map { language in
            Task { [self] in try await reader.get(RemoteFixture.url, accepting(language)) }
        }
        #expect(await layer.holds(2))
        layer.open()
        var ways: [RetrievalWay] = []
        for task in tasks { ways.append(try await task.value.way) }
        #expect(ways == [.remote, .fetched])
    }

    // MARK: Calls at once

    @Test("Ten concurrent calls read the remote once")
    func singleFlight() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        layer.hold()
        let tasks = (0..<10).map { number in
            Task { try await reader.get { $0.waitForCache = number % 2 == 0 } }
        }
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 10 && layer.held.count == 1 })
        #expect(layer.held.map(\.label) == ["read ac"])
        layer.open()
        for task in tasks {
            let result = try await task.value
            #expect(result.way == .remote)
            #expect(try await result.data() == picture)
        }
        #expect(layer.log == ["read ac", "read cas"] && reader.statistics.hits == 1)
    }

    @Test("Ten concurrent calls fetch a missing image once")
    func singleMiss() async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        layer.hold()
        let tasks = (0..<10).map { _ in Task { try await reader.get() } }
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 10 && layer.held.count == 1 })
        reader.transport.close()
        layer.open()
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 10 && layer.held.isEmpty })
        reader.transport.open()
        for task in tasks { #expect(try await task.value.way == .fetched) }
        #expect(layer.log == ["read ac"] && reader.transport.requests.count == 1)
        #expect(reader.statistics.misses == 1)
    }

    @Test("Calls with different size limits do not share images")
    func differentLimits() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let limit = Int64(picture.count)
        layer.hold()
        let large = Task { try await reader.get() }
        #expect(await layer.holds(1))
        let small = Task { try await reader.get { $0.request.maxBytes = limit - 1 } }
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 2 })
        layer.open()
        #expect(try await large.value.way == .remote)
        await #expect(throws: KingfisherError.self) { try await small.value }
    }

    @Test("Images requested together are looked up in one batch")
    func batch() async throws {
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let urls = (0..<16).map { "http://h/\($0).png" }
        for url in urls { try layer.put(picture, for: EntryKey(key: url)) }
        let retrievals = try urls.map {
            Retrieval(.network(try RequestURL($0)), ManagerFixture.options(), reader.cache)
        }
        let ended = EndedImages()
        let jobs = retrievals.enumerated().map { ImageJob(reader.manager, $1, for: ended, number: $0) }
        ImageJob.start(jobs)
        #expect(await eventually { ended.count == 16 })
        for number in 0..<16 { #expect(try #require(ended.result(number)).get().way == .remote) }
        #expect(layer.batches.first == 16)
    }

    // MARK: Cancellation

    @Test("A cancelled call does not wait for the remote")
    func cancelled() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        layer.hold()
        let task = Task { try await reader.get() }
        #expect(await layer.holds(1))
        task.cancel()
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await task.value }
        #expect(reader.manager.downloader.work.waiterCount == 0)
        layer.open()
        let result = try await reader.get()
        #expect(result.way == .remote)
        #expect(try await result.data() == picture)
        #expect(reader.transport.requests.isEmpty)
    }

    @Test("A call goes on to the origin when the cache closes")
    func closed() async throws {
        let machine = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        layer.hold()
        let task = Task { try await machine.get().way }
        #expect(await layer.holds(1))
        await machine.cache.close()
        #expect(try await task.value == .fetched)
        layer.open()
        // The cache is used again: the upload of the image goes on, and another image is looked up.
        await machine.drain()
        #expect(try await machine.get("http://h/b.png").way == .fetched)
        await machine.drain()
        #expect(machine.notices.value.isEmpty && machine.statistics.uploaded == 2, "\(machine.statistics)")
    }

    @Test("A cancelled call does not stop the other readers")
    func oneCancelled() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        layer.hold { $0.kind == .object }
        let tasks = (0..<2).map { _ in Task { try await reader.get() } }
        #expect(await layer.holds(1))
        #expect(await eventually { reader.manager.downloader.work.waiterCount == 2 })
        tasks[0].cancel()
        await #expect(throws: KingfisherError.requestError(reason: .taskCancelled)) { try await tasks[0].value }
        layer.open()
        #expect(try await tasks[1].value.way == .remote)
        #expect(layer.count("read cas") == 1)
    }

    // MARK: Failing remotes

    @Test("A remote is not asked again after three failures")
    func failing() async throws {
        layer.answer { _ in .failed("status 500") }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        for number in 0..<6 { #expect(try await reader.get("http://h/\(number).png").way == .fetched) }
        #expect(layer.log == ["read ac", "read ac", "read ac"])
        // An image that the remote is not asked for is a miss too.
        #expect(reader.statistics == RemoteCounts(misses: 6, errors: 3))
        let path = layer.path("http://h/2.png")
        #expect(reader.notices.value == ["the remote memory is not asked for 60 s: status 500 at memory/\(path)"])
    }

    @Test("A remote that refuses reads is not asked again")
    func refusing() async throws {
        layer.answer("read ac", .refused("status 403"))
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        for number in 0..<3 { #expect(try await reader.get("http://h/\(number).png").way == .fetched) }
        await reader.drain()
        #expect(layer.log == ["read ac"])
        let path = layer.path("http://h/0.png")
        #expect(reader.notices.value == ["the remote memory is not used any more: status 403 at memory/\(path)"])
        #expect(reader.statistics == RemoteCounts(misses: 3, errors: 1, dropped: 3))
    }

    @Test("A silent remote delays all images only once", arguments: [false, true])
    func silent(isRequired: Bool) async throws {
        let machine = try RemoteFixture(
            layer, transport: try RemoteFixture.origin(), requires: isRequired,
            caching: { $0.remoteSilence = .milliseconds(50) })
        layer.hold()
        let tasks = (0..<20).map { number in Task { try await machine.get("http://h/\(number).png").way } }
        for task in tasks {
            switch await task.result {
            case .success(let way): #expect(way == .fetched && !isRequired)
            case .failure(let error): #expect(isRequired && (error as? KingfisherError)?.errorCode == 3017)
            }
        }
        // Where it is required, the error of the images says so.
        let notice = "the remote memory is not asked for 60 s: it does not answer"
        #expect(machine.notices.value == (isRequired ? [] : [notice]))
        let asked = layer.log.count
        layer.open()
        // Late answers do not bring it back, and nothing is asked during the rest.
        #expect(await failure { try await machine.get("http://h/new.png") }?.errorCode == (isRequired ? 3017 : nil))
        #expect(layer.log.count == asked)
    }

    @Test("An entry without its object falls back to the origin")
    func lostObject() async throws {
        try layer.put(picture)
        layer.answer("read cas", .failed("status 502"))
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin("png/grey.png"))
        let result = try await reader.get()
        #expect(result.way == .fetched)
        #expect(reader.statistics == RemoteCounts(misses: 1, errors: 1))
        #expect(reader.notices.value.isEmpty)
    }

    // MARK: Required remotes

    @Test("A required remote that refuses is error 3017")
    func requiredRefusal() async throws {
        layer.answer("read ac", .refused("status 401"))
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), requires: true)
        for number in 0..<2 {
            #expect(await failure { try await reader.get("http://h/\(number).png") }?.errorCode == 3017)
        }
        #expect(reader.transport.requests.isEmpty && layer.log == ["read ac"])
        #expect(reader.cache.remoteProblem?.errorCode == 3017)
        await #expect(
            throws: KingfisherError.cacheError(
                reason: .remoteIsUnavailable(
                    detail:
                        "the remote memory is not used any more: status 401 at memory/\(layer.path("http://h/0.png"))"))
        ) { try await reader.get() }
    }

    @Test("A required remote that keeps failing is error 3017")
    func requiredFailure() async throws {
        layer.answer { _ in .failed("status 500") }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), requires: true)
        #expect(await failure { try await reader.get() }?.errorCode == 3017)
        #expect(layer.log == ["read ac", "read ac", "read ac"] && reader.transport.requests.isEmpty)
    }

    @Test("A miss of a required remote falls back to the origin")
    func requiredMiss() async throws {
        let failures = SharedValue(2)
        layer.answer { _ in
            var fails = false
            failures.change { left in
                fails = left > 0
                left -= 1
            }
            return fails ? .failed("status 500") : nil
        }
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), requires: true)
        #expect(try await reader.get().way == .remote)
        #expect(try await reader.get("http://h/b.png").way == .fetched)
        #expect(reader.cache.remoteProblem == nil)
    }

    @Test("A required remote is not needed for disk hits")
    func requiredHit() async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), requires: true)
        _ = try await reader.get()
        layer.answer { _ in .refused("status 403") }
        #expect(await failure { try await reader.get("http://h/b.png") }?.errorCode == 3017)
        #expect(try await reader.get().way == .disk)
    }
}
