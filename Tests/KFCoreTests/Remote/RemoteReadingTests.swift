import Glibc
import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

@Suite("Images from a remote", .bounded, .serialized)
struct RemoteReadingTests {
    private static let key = EntryKey(key: RemoteFixture.url)
    /// The times of expiry, lifetime and storing.
    private static let limits: [[Int64]] = [
        [.max - 1, .max, .max], [.max, .min, 0], [.max - 1, 1, .min], [.min, 1000, 1000],
        [1_700_000_000_001, .min, .max],
    ]
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")
    private let other = FixturesDirectory.image("png/grey.png")

    /// An origin whose picture is `other`, so that it cannot be taken for the remote's.
    private func origin() -> ScriptedTransport { RemoteFixture.origin(of: other) }

    @Test("An image fetched by one machine serves another")
    func hit() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        #expect(try await writer.get().way == .fetched)
        await writer.drain()
        #expect(writer.statistics == RemoteCounts(misses: 1, uploaded: 1))
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let result = try await reader.get()
        #expect(result.way == .remote && result.key == RemoteFixture.url && result.attempts == 0)
        #expect(try await result.data() == picture)
        #expect(reader.statistics == RemoteCounts(hits: 1) && reader.transport.requests.isEmpty)
        #expect(try await reader.get().way == .disk)
        let entry = try #require(try reader.entry())
        let theirs = try #require(try writer.entry())
        #expect(entry.object.digest == theirs.object.digest && entry.etag == "\"1\"")
        #expect(layer.count("write ac") == 1, "a reader uploads nothing")
    }

    @Test("A reader keeps the writer's expiry")
    func expiry() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        _ = try await writer.get {
            $0.diskCacheExpiration = .seconds(100)
            $0.diskCacheAccessExtendingExpiration = .none
        }
        await writer.drain()
        reader.fixture.advance(seconds: 60)
        #expect(try await reader.get { $0.diskCacheExpiration = .days(9) }.way == .remote)
        let entry = try #require(try reader.entry())
        let theirs = try #require(try writer.entry())
        #expect(entry.expires == theirs.expires && entry.timeToLive == 100_000 && entry.extending == .none)
        reader.fixture.advance(seconds: 39)
        #expect(try await reader.get().way == .disk)
        reader.fixture.advance(seconds: 1)
        await #expect(throws: KingfisherError.self) { try await reader.get { $0.onlyFromCache = true } }
    }

    @Test("A reader extends an entry by the writer's time")
    func extending() async throws {
        try layer.put(picture) {
            $0.expires = .distantFuture
            $0.timeToLive = nil
            $0.extending = .expirationTime(.seconds(5))
        }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        _ = try await reader.get()
        let entry = try #require(try reader.entry())
        #expect(entry.expires == .distantFuture && entry.timeToLive == nil)
        #expect(entry.extending == .expirationTime(.seconds(5)))
    }

    // MARK: Remotes that lie

    enum Lie: CaseIterable, Sendable {
        case hash, shorter, longer, missing, format, notAnImage, truncated, json, otherKey, tooLong, size
    }

    private func put(_ lie: Lie) throws {
        let key = Self.key
        switch lie {
        case .format: try layer.put(picture, format: "jpeg")
        case .notAnImage: try layer.put(Array("<html>no image</html>".utf8))
        case .truncated: try layer.put(try ManagerFixture.fixture("broken/truncated.png"))
        case .json: layer.putEntry(Array("{\"version\":1".utf8), for: key)
        case .tooLong: layer.putEntry([UInt8](repeating: 0x20, count: 16 << 10 | 1), for: key)
        case .otherKey:
            try layer.put(picture, for: EntryKey(key: "http://h/other.png"))
            let entry = try #require(layer.entry(EntryKey(key: "http://h/other.png")))
            layer.putEntry(entry.json, for: key)
        case .size: try layer.put(picture) { $0.size += 1 }
        case .hash, .shorter, .longer, .missing:
            try layer.put(picture)
            let path = try #require(layer.blobs.keys.first { $0.hasPrefix("cas/") })
            switch lie {
            case .shorter: layer.blobs[path] = Array(picture.dropLast())
            case .longer: layer.blobs[path] = picture + [0]
            case .missing: layer.blobs[path] = nil
            default: layer.blobs[path]?[200] ^= 1
            }
        }
    }

    @Test(
        "A damaged blob is a miss and is reported once",
        arguments: Lie.allCases, [true, false])
    func lies(_ lie: Lie, usesMemory: Bool) async throws {
        try put(lie)
        let reader = try RemoteFixture(layer, transport: origin())
        let result = try await reader.get { if usesMemory { $0.memoryCacheExpiration = nil } }
        #expect(result.way == .fetched)
        #expect(try await result.data() == other)
        #expect(reader.statistics == RemoteCounts(misses: 1, errors: 1))
        #expect(reader.notices.value.count == 1, "\(reader.notices.value)")
        #expect(try #require(try reader.entry()).object.size == Int64(other.count))
    }

    @Test("Large objects are verified too", arguments: [false, true])
    func largeLie(isDamaged: Bool) async throws {
        let large = try ManagerFixture.fixture("png/rgb.png")
        #expect(large.count > ArrivingBody.memoryLimit)
        try layer.put(large)
        if isDamaged {
            let path = try #require(layer.blobs.keys.first { $0.hasPrefix("cas/") })
            layer.blobs[path]?[250_000] ^= 0x10
        }
        let reader = try RemoteFixture(layer, transport: origin())
        #expect(try await reader.get().data() == (isDamaged ? other : large))
        #expect(reader.statistics.hits == (isDamaged ? 0 : 1))
    }

    @Test("A writer replaces a damaged blob", arguments: [Lie.hash, .shorter, .missing, .json])
    func replaced(_ lie: Lie) async throws {
        try put(lie)
        let writer = try RemoteFixture(layer, transport: ScriptedTransport(.init(body: picture)), writes: true)
        #expect(try await writer.get().way == .fetched)
        await writer.drain()
        #expect(writer.statistics.uploaded == 1)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        #expect(try await reader.get().data() == picture)
    }

    @Test("The same damage of many images is reported once")
    func toldOnce() async throws {
        for number in 0..<4 { layer.putEntry([0x7b], for: EntryKey(key: "http://h/\(number).png")) }
        let reader = try RemoteFixture(layer, transport: origin())
        for number in 0..<4 { #expect(try await reader.get("http://h/\(number).png").way == .fetched) }
        #expect(reader.statistics == RemoteCounts(misses: 4, errors: 4))
        #expect(reader.notices.value.count == 1)
    }

    @Test(
        "Extreme times do no harm",
        arguments: Self.limits)
    func limitsOfTimes(_ times: [Int64]) async throws {
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: times[0])
            $0.timeToLive = times[1]
            $0.stored = Timestamp(milliseconds: times[2])
        }
        let reader = try RemoteFixture(layer, transport: origin())
        for policy in CachePolicy.allCases { _ = try await reader.get { $0.cachePolicy = policy } }
        reader.fixture.advance(seconds: 5)
        let result = try await reader.get { $0.staleIfError = .seconds(1) }
        #expect([picture, other].contains(try await result.data()))
    }

    // MARK: Where the bytes come from

    @Test("An object that is already on the disk is not read")
    func sameObject() async throws {
        let reader = try RemoteFixture(layer, transport: ScriptedTransport(.init(body: picture)))
        _ = try await reader.get("http://h/b.png")
        try layer.put(picture)
        #expect(try await reader.get().way == .remote)
        #expect(layer.log == ["read ac", "read ac"])
        #expect(reader.transport.requests.count == 1)
        #expect(try await reader.get().way == .disk)
    }

    @Test("An object damaged on the disk is read from the remote")
    func damagedObject() async throws {
        let reader = try RemoteFixture(layer, transport: ScriptedTransport(.init(body: picture)))
        let path = try #require(try await reader.get("http://h/b.png").cachedPath)
        chmod(path, 0o644)
        let damaged = try #require(fopen(path, "r+"))
        fseek(damaged, 300, SEEK_SET)
        fputc(Int32(picture[300] ^ 0xff), damaged)
        fclose(damaged)
        try layer.put(picture)
        let result = try await reader.get()
        #expect(result.way == .remote)
        #expect(try await result.data() == picture)
        #expect(layer.count("read cas") == 1 && reader.notices.value.isEmpty)
    }

    @Test("The second remote is asked only after a miss")
    func order() async throws {
        let second = MemoryLayer("second")
        try second.put(picture)
        let reader = try RemoteFixture(layer, second, transport: RemoteFixture.unasked())
        #expect(try await reader.get().way == .remote)
        #expect(layer.log == ["read ac"] && second.log == ["read ac", "read cas"])
        #expect(reader.statistics == RemoteCounts(hits: 1))
        try layer.put(picture, for: EntryKey(key: "http://h/b.png"))
        #expect(try await reader.get("http://h/b.png").way == .remote)
        #expect(second.log.count == 2)
    }

    @Test("The second remote serves an image that the first lost", arguments: [true, false])
    func second(isLie: Bool) async throws {
        let second = MemoryLayer("second")
        try second.put(picture)
        if isLie { try put(.hash) } else { layer.answer("read ac", .failed("status 500")) }
        let reader = try RemoteFixture(layer, second, transport: RemoteFixture.unasked())
        let result = try await reader.get()
        #expect(result.way == .remote)
        #expect(try await result.data() == picture)
        #expect(reader.statistics == RemoteCounts(hits: 1, errors: 1))
    }

    @Test("Uploads go only to the first remote")
    func firstIsWritten() async throws {
        let second = MemoryLayer("second")
        try second.put(picture)
        let writer = try RemoteFixture(layer, second, transport: origin(), writes: true)
        #expect(try await writer.get().way == .remote)
        #expect(try await writer.get("http://h/b.png").way == .fetched)
        await writer.drain()
        #expect(layer.entryCount == 1 && second.entryCount == 1 && second.count("write ac") == 0)
    }

    @Test("An image is delivered without a disk cache")
    func noDisk() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked(), disk: false)
        let result = try await reader.get { $0.memoryCacheExpiration = nil }
        #expect(result.way == .remote)
        #expect(try await result.data() == picture)
        #expect(try await reader.get { $0.memoryCacheExpiration = nil }.way == .memory)
        #expect(try await reader.get("http://h/a.png#") { $0.memoryCacheExpiration = nil }.way == .memory)
    }

    @Test("A reader applies the server's headers under its own policy")
    func policies() async throws {
        try layer.put(picture) {
            $0.freshness = "cache-control: max-age=60"
            $0.stored = Timestamp(milliseconds: 1_700_000_000_000 - 61_000)
        }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await reader.get { $0.cachePolicy = .http }.way == .fetched)
        try layer.put(picture) {
            $0.freshness = "cache-control: max-age=60"
            $0.stored = Timestamp(milliseconds: 1_700_000_000_000 - 59_000)
        }
        let other = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await other.get { $0.cachePolicy = .http }.way == .remote)
        other.fixture.advance(seconds: 2)
        #expect(try await other.get { $0.cachePolicy = .http }.way != .disk)
    }

    @Test("An image of a remote is kept in memory until it expires")
    func memory() async throws {
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_700_000_010_000)
            $0.extending = .none
        }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let result = try await reader.get {
            $0.memoryCacheExpiration = nil
            $0.cachePolicy = .http
        }
        #expect(result.way == .remote)
        #expect(try await reader.get { $0.memoryCacheExpiration = nil }.way == .memory)
        reader.fixture.advance(seconds: 11)
        await #expect(throws: KingfisherError.self) {
            try await reader.get {
                $0.memoryCacheExpiration = nil
                $0.cachePolicy = .http
                $0.onlyFromCache = true
            }
        }
    }

    @Test("A memory-only call stores no file")
    func memoryOnly() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        #expect(try await reader.get { $0.cacheMemoryOnly = true }.way == .remote)
        #expect(try reader.entry() == nil)
        #expect(try await reader.get().way == .remote)
    }

    @Test("An image over a call's size limit is a miss")
    func maxBytes() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let limit = Int64(picture.count)
        await #expect(throws: KingfisherError.self) { try await reader.get { $0.request.maxBytes = limit - 1 } }
        #expect(layer.count("read cas") == 0)
        #expect(try await reader.get { $0.request.maxBytes = limit }.way == .remote)
    }
}
