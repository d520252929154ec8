import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("Expired images of a remote", .bounded, .serialized)
struct RemoteStaleTests {
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")
    private let other = FixturesDirectory.image("png/grey.png")

    /// An origin whose picture is `other`, so that it cannot be taken for the remote's.
    private func origin() -> ScriptedTransport { RemoteFixture.origin(of: other) }

    private func putExpired(_ change: (inout RemoteEntry) -> Void = { _ in }) throws {
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_699_999_999_000)
            $0.etag = "\"7\""
            change(&$0)
        }
    }

    @Test("An expired entry is confirmed, renewed and uploaded again")
    func confirmed() async throws {
        try putExpired()
        let reader = try RemoteFixture(layer, transport: origin(), writes: true)
        let result = try await reader.get()
        #expect(result.way == .revalidated)
        #expect(try await result.data() == picture)
        #expect(reader.transport.requests.map(\.isConditional) == [true])
        #expect(reader.transport.requests[0].sentHeaders.contains { $0 == ("If-None-Match", "\"7\"") })
        await reader.drain()
        #expect(reader.statistics.uploaded == 1 && reader.statistics.hits == 1)
        let entry = try #require(layer.entry())
        let mine = try #require(try reader.entry())
        #expect(entry.expires == mine.expires && entry.expires > Timestamp(milliseconds: 1_700_000_000_000))
        #expect(entry.etag == "\"7\"" && layer.objectCount == 1)
        #expect(try await reader.get().way == .disk)
    }

    @Test("An expired entry is confirmed by its date")
    func confirmedByDate() async throws {
        try putExpired {
            $0.etag = nil
            $0.lastModified = "Sun, 06 Nov 1994 08:49:37 GMT"
        }
        let reader = try RemoteFixture(layer, transport: origin())
        #expect(try await reader.get().way == .revalidated)
        #expect(reader.transport.requests[0].sentHeaders.contains { $0.name == "If-Modified-Since" })
    }

    @Test("A changed image replaces an expired entry")
    func changed() async throws {
        try putExpired()
        let reader = try RemoteFixture(
            layer, transport: ScriptedTransport(.init(headers: [("ETag", "\"8\"")], body: other)), writes: true)
        let result = try await reader.get()
        #expect(result.way == .fetched)
        #expect(try await result.data() == other)
        #expect(reader.transport.requests.map(\.isConditional) == [true])
        await reader.drain()
        #expect(layer.entry()?.etag == "\"8\"" && layer.objectCount == 2)
    }

    @Test("An expired entry without a validator is a miss")
    func unconfirmable() async throws {
        try putExpired { $0.etag = nil }
        let reader = try RemoteFixture(layer, transport: origin())
        #expect(try await reader.get().way == .fetched)
        #expect(layer.log == ["read ac"] && reader.transport.requests.map(\.isConditional) == [false])
    }

    @Test("An expired entry is served stale where that is allowed")
    func stale() async throws {
        try putExpired()
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        await #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(500))) {
            try await reader.get()
        }
        let result = try await reader.get { $0.staleIfError = .seconds(60) }
        #expect(result.way == .stale)
        #expect(try await result.data() == picture)
    }

    @Test("The allowed staleness counts from the expiry")
    func tooStale() async throws {
        try putExpired { $0.expires = Timestamp(milliseconds: 1_700_000_000_000 - 3_600_000) }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        await #expect(throws: KingfisherError.responseError(reason: .invalidHTTPStatusCode(500))) {
            try await reader.get { $0.staleIfError = .seconds(3599) }
        }
        #expect(try await reader.get { $0.staleIfError = .seconds(3601) }.way == .stale)
    }

    @Test("A memory-only call does not store an expired entry")
    func staleInMemoryOnly() async throws {
        try putExpired()
        let reader = try RemoteFixture(layer, transport: origin())
        let result = try await reader.get { $0.cacheMemoryOnly = true }
        #expect([.fetched, .revalidated].contains(result.way))
        #expect(try reader.entry() == nil)
    }

    @Test("A fresh entry comes before an expired one")
    func staleThenFresh() async throws {
        try putExpired()
        let second = MemoryLayer("second")
        try second.put(other)
        let reader = try RemoteFixture(layer, second, transport: RemoteFixture.unasked())
        let result = try await reader.get()
        #expect(result.way == .remote)
        #expect(try await result.data() == other)
    }

    @Test("A remote's fresh image replaces a stale one on disk")
    func staleOnDisk() async throws {
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        _ = try await reader.get { $0.diskCacheExpiration = .seconds(10) }
        reader.fixture.advance(seconds: 11)
        #expect(try await reader.get { $0.diskCacheExpiration = .seconds(10) }.way == .revalidated)
        reader.fixture.advance(seconds: 11)
        try layer.put(other)
        let result = try await reader.get()
        #expect(result.way == .remote)
        #expect(try await result.data() == other)
        #expect(reader.transport.requests.count == 2)
    }

    @Test("An expired entry is fetched again without a disk cache")
    func noDiskStale() async throws {
        try putExpired()
        let reader = try RemoteFixture(layer, transport: origin(), disk: false)
        #expect(try await reader.get().data() == other)
    }
}
