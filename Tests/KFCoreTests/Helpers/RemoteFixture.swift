import KFImaging
import KFNetwork
import KFStorage
import Support

@testable import KFCore
@testable import KFPipeline
@testable import KFRemote

/// A machine of a fleet: a manager over a disk cache of its own, with remotes and a scripted origin.
struct RemoteFixture {
    static let url = "http://h/a.png"

    let fixture: ManagerFixture
    let transport: ScriptedTransport
    let layers: [MemoryLayer]
    let notices = SharedValue<[String]>([])

    var manager: KingfisherManager { fixture.manager }
    var cache: ImageCache { fixture.manager.cache }
    var layer: MemoryLayer { layers[0] }
    var statistics: RemoteCounts { cache.remotes?.log.counts ?? RemoteCounts() }

    init(
        _ layers: MemoryLayer..., transport: ScriptedTransport, writes: Bool = false, requires: Bool = false,
        disk: Bool = true, caching: (inout ImageCache.Configuration) -> Void = { _ in }
    ) throws {
        let notices = notices
        self.layers = layers
        self.transport = transport
        fixture = try ManagerFixture(
            disk: disk, transport: transport,
            caching: {
                $0.remotes = layers
                $0.writesToRemote = writes
                $0.requiresRemotes = requires
                // Tests hold requests back for as long as a busy machine makes them.
                $0.remoteSilence = .seconds(3600)
                $0.notice = { notice in notices.change { $0.append(notice) } }
                caching(&$0)
            })
    }

    /// An origin that has the same picture for every URL, with an ETag.
    static func origin(_ name: String = "png/rgba.png", _ headers: [(name: String, value: String)] = []) throws
        -> ScriptedTransport
    {
        let body = try ManagerFixture.fixture(name)
        return ScriptedTransport { request, _ in
            request.isConditional
                ? .init(status: 304) : .init(headers: [("ETag", "\"1\"")] + headers, body: body)
        }
    }

    /// An origin that is not to be asked.
    static func unasked() -> ScriptedTransport { ScriptedTransport(.init(status: 500)) }

    /// An origin of this picture, with an ETag. It confirms any image.
    static func origin(of body: [UInt8]) -> ScriptedTransport {
        ScriptedTransport { request, _ in
            request.isConditional ? .init(status: 304) : .init(headers: [("ETag", "\"2\"")], body: body)
        }
    }

    func get(
        _ url: String = RemoteFixture.url, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> RetrieveImageResult {
        try await manager.retrieveImage(with: .network(RequestURL(url)), options: ManagerFixture.options(change))
    }

    /// Waits until everything that was stored so far has been uploaded or dropped.
    func drain() async {
        await cache.blocking.run { [cache] in cache.remotes?.uploads?.drain() }
    }

    /// The index entry of an image on the disk.
    func entry(_ key: EntryKey = EntryKey(key: RemoteFixture.url)) throws -> Entry? {
        try cache.storage()?.entry(for: key)
    }
}

extension MemoryLayer {
    /// The parsed entry of a key.
    func entry(_ key: EntryKey = EntryKey(key: RemoteFixture.url)) -> RemoteEntry? {
        let name = RemoteEntry.name(of: key)
        return blobs["ac/\(name.prefix(2))/\(name)"].flatMap { RemoteEntry($0, name: name) }
    }

    /// The path of the entry of a URL's original.
    func path(_ url: String) -> String {
        CacheLayerRequest.path(of: .entry, RemoteEntry.name(of: EntryKey(key: url)))
    }

    /// Puts an entry in the place of a key, whatever it says.
    func putEntry(_ entry: [UInt8], for key: EntryKey = EntryKey(key: RemoteFixture.url)) {
        let name = RemoteEntry.name(of: key)
        blobs["ac/\(name.prefix(2))/\(name)"] = entry
    }

    /// Puts an image with an entry that is fresh for an hour unless it is changed.
    func put(
        _ bytes: [UInt8], for key: EntryKey = EntryKey(key: RemoteFixture.url), format: String = "png",
        _ change: (inout RemoteEntry) -> Void = { _ in }
    ) throws {
        let digest = bytes.withUnsafeBytes { SHA256.hash($0) }
        blobs["cas/\(digest.hex.prefix(2))/\(digest.hex)"] = bytes
        let now = 1_700_000_000_000
        let name = RemoteEntry.name(of: key)
        let json = """
            {"version":1,"name":"\(name)","sha256":"\(digest.hex)","bytes":\(bytes.count),"format":"\(format)",\
            "stored":\(now),"expires":\(now + 3_600_000),"ttl":3600000,"extend":"cache-time"}
            """
        guard var entry = RemoteEntry(Array(json.utf8), name: name) else { throw NotAnEntry() }
        change(&entry)
        putEntry(entry.json, for: key)
    }

    struct NotAnEntry: Error {}

    var entryCount: Int { blobs.keys.count { $0.hasPrefix("ac/") } }
    var objectCount: Int { blobs.keys.count { $0.hasPrefix("cas/") } }
    /// The number of requests of a kind, such as `read ac`.
    func count(_ label: String) -> Int { log.count { $0 == label } }
}

extension RemoteCounts {
    init(hits: Int64 = 0, misses: Int64 = 0, errors: Int64 = 0, uploaded: Int64 = 0, dropped: Int64 = 0) {
        self.init()
        (self.hits, self.misses, self.errors) = (hits, misses, errors)
        (self.uploaded, self.dropped) = (uploaded, dropped)
    }
}
