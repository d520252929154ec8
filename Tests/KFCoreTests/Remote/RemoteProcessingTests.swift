import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Processed images and remotes", .bounded, .serialized)
struct RemoteProcessingTests {
    private static let chain = "resize:20x10,none"
    private static let original = EntryKey(key: RemoteFixture.url)
    private static let target = EntryKey(key: RemoteFixture.url, identifier: chain)
    private let layer = MemoryLayer()
    private let picture = FixturesDirectory.image("png/rgba.png")
    /// An image that no processor here makes, so that it can only come from the remote.
    private let made = FixturesDirectory.image("png/one-pixel.png")

    private func resized(
        _ machine: RemoteFixture, _ chain: String = chain, _ change: (inout KingfisherOptions) -> Void = { _ in }
    ) async throws -> RetrieveImageResult {
        let processor = try ProcessorParser.parse(chain)
        return try await machine.get {
            $0.processor = processor
            change(&$0)
        }
    }

    private func digest(_ bytes: [UInt8]) -> Digest { bytes.withUnsafeBytes { SHA256.hash($0) } }

    @Test("A processed image is fetched and processed by one machine only")
    func hit() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        let first = try await resized(writer) { $0.cacheOriginalImage = true }
        #expect(first.way == .fetched)
        await writer.drain()
        #expect(writer.statistics.uploaded == 2 && layer.entryCount == 2)
        #expect(layer.entry(Self.target)?.original == digest(picture) && layer.entry()?.original == nil)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let processor = CountingProcessor(Self.chain)
        let result = try await reader.get { $0.processor = processor }
        #expect(result.way == .remote && processor.count == 0)
        #expect(try await result.data() == first.data())
        #expect(result.identifier == Self.chain && result.facts.width == first.facts.width)
        #expect(reader.layer.count("read cas") == 1, "the original is not read")
        #expect(try await resized(reader).way == .disk)
        let entry = try #require(try reader.entry(Self.target))
        #expect(entry.original == digest(picture))
    }

    @Test("A processed image is taken if its original matches")
    func tied() async throws {
        for hasOriginal in [true, false] {
            let layer = MemoryLayer()
            if hasOriginal { try layer.put(picture) }
            try layer.put(made, for: Self.target) { $0.original = digest(picture) }
            let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
            let result = try await resized(reader)
            #expect(result.way == .remote)
            #expect(try await result.data() == made)
        }
    }

    @Test("A processed image of another original is not taken")
    func tiedToAnother() async throws {
        try layer.put(picture)
        try layer.put(made, for: Self.target) { $0.original = digest(made) }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let result = try await resized(reader)
        #expect(result.way == .remote && result.facts.width != 1)
        #expect(reader.statistics == RemoteCounts(hits: 1))
        #expect(try #require(try reader.entry(Self.target)).original == digest(picture))
    }

    @Test("A processed image without an original is not taken")
    func untied() async throws {
        try layer.put(made, for: Self.target)
        try layer.put(picture) { $0.original = digest(made) }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin("png/grey.png"))
        let result = try await resized(reader)
        #expect(result.way == .fetched)
        #expect(reader.statistics.misses == 1 && layer.count("read cas") == 0)
    }

    @Test("The original replaces a missing processed image", arguments: 0..<3)
    func original(_ number: Int) async throws {
        try layer.put(picture)
        switch number {
        case 0: break
        case 1:
            try layer.put(made, for: Self.target) {
                $0.original = digest(picture)
                $0.expires = Timestamp(milliseconds: 1_699_999_999_999)
            }
        default: layer.putEntry([0x7b], for: Self.target)
        }
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let result = try await resized(reader)
        #expect(result.way == .remote && result.facts.width == 20 && result.facts.height == 10)
        #expect(reader.transport.requests.isEmpty)
        #expect(reader.statistics.errors == (number == 2 ? 1 : 0))
    }

    @Test("An expired original is confirmed and processed")
    func expiredOriginal() async throws {
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_699_999_999_999)
            $0.etag = "\"1\""
        }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        let result = try await resized(reader)
        #expect(result.way == .revalidated && result.facts.width != 1)
        #expect(reader.transport.requests.map(\.isConditional) == [true])
        await reader.drain()
        #expect(layer.entry(Self.target)?.original == digest(picture))
    }

    @Test("Another chain is another image")
    func chains() async throws {
        try layer.put(made, for: Self.target) { $0.original = digest(picture) }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await resized(reader, "resize:21x10").way == .fetched)
        #expect(try await reader.get().way == .fetched)
    }

    @Test(
        "A derived image is uploaded only beside its original",
        arguments: [true, false])
    func derived(hasOriginal: Bool) async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        // A machine that did not write has fetched the original.
        _ = try await writer.get()
        await writer.drain()
        if !hasOriginal { layer.blobs = [:] }
        #expect(try await resized(writer).way == .derived)
        await writer.drain()
        #expect((layer.entry(Self.target) != nil) == hasOriginal)
        #expect(layer.count("read ac") == 2)
        #expect(writer.statistics.dropped == 0 && writer.statistics.errors == 0)
    }

    @Test("A processed image is not uploaded beside another original")
    func planted() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        _ = try await writer.get()
        await writer.drain()
        layer.blobs = [:]
        try layer.put(try ManagerFixture.fixture("png/grey.png"))
        #expect(try await resized(writer).way == .derived)
        await writer.drain()
        #expect(layer.entry(Self.target) == nil && writer.statistics.uploaded == 1)
    }

    @Test("Only the original is uploaded where only it is stored")
    func onlyOriginal() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        _ = try await resized(writer) {
            $0.cacheOriginalImage = true
            $0.cacheProcessedImage = false
        }
        await writer.drain()
        #expect(layer.entryCount == 1 && layer.entry() != nil)
    }

    @Test("An image made of the remote's original is uploaded alone")
    func madeOfRemote() async throws {
        try layer.put(picture)
        let writer = try RemoteFixture(layer, transport: RemoteFixture.unasked(), writes: true)
        let result = try await resized(writer) { $0.cacheOriginalImage = true }
        #expect(result.way == .remote)
        await writer.drain()
        #expect(layer.entry(Self.target)?.original == digest(picture))
        #expect(layer.count("write cas") == 1 && writer.statistics.uploaded == 1)
        #expect(try await variants(writer).map(\.way).filter { $0 == .derived }.count == 2)
        await writer.drain()
        #expect(layer.entryCount == 4 && writer.statistics.errors == 0)
    }

    @Test("An image made of a read-only remote's original is not uploaded")
    func madeOfSecondRemote() async throws {
        let second = MemoryLayer("second")
        try second.put(picture)
        let writer = try RemoteFixture(layer, second, transport: RemoteFixture.unasked(), writes: true)
        #expect(try await resized(writer).way == .remote)
        await writer.drain()
        #expect(layer.blobs.isEmpty && writer.statistics == RemoteCounts(hits: 1))
    }

    // MARK: Variants

    private func variants(_ machine: RemoteFixture) async throws -> [RetrieveImageResult] {
        let forms = try ["resize:20x10", "resize:30x30", "blur:2"].map { chain in
            let processor = try ProcessorParser.parse(chain)
            return ManagerFixture.options {
                $0.processor = processor
                $0.cacheOriginalImage = true
            }
        }
        return try await machine.manager.retrieveVariants(
            of: .network(RequestURL(RemoteFixture.url)), options: forms
        ).map { try $0.get() }
    }

    @Test("Variants share one read of the remote's original")
    func variantsOfOriginal() async throws {
        try layer.put(picture)
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        let alone = try ManagerFixture()
        let results = try await variants(reader)
        #expect(results.map(\.way) == [.remote, .remote, .remote])
        #expect(layer.count("read cas") == 1 && reader.transport.requests.isEmpty)
        for result in results {
            let processor = try ProcessorParser.parse(result.identifier)
            let single = try await alone.manager.retrieveImage(
                with: .provider(CountingProvider("k", picture)),
                options: ManagerFixture.options { $0.processor = processor })
            #expect(try await result.data() == single.data())
        }
        #expect(try await variants(reader).map(\.way) == [.disk, .disk, .disk])
        #expect(try reader.entry() != nil)
    }

    @Test("Variants of a fetched image are uploaded with their original")
    func variantsAreUploaded() async throws {
        let writer = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        #expect(try await variants(writer).map(\.way) == [.fetched, .fetched, .fetched])
        await writer.drain()
        #expect(writer.statistics.uploaded == 4 && layer.entryCount == 4)
        #expect(layer.entry(Self.target)?.original == digest(picture))
        let reader = try RemoteFixture(layer, transport: RemoteFixture.unasked())
        #expect(try await resized(reader).way == .remote)
    }

    @Test("Variants of an expired original wait for its confirmation")
    func variantsOfExpired() async throws {
        try layer.put(picture) {
            $0.expires = Timestamp(milliseconds: 1_699_999_999_999)
            $0.etag = "\"1\""
        }
        let reader = try RemoteFixture(layer, transport: try RemoteFixture.origin())
        #expect(try await variants(reader).map(\.facts.width) == [20, 30, 160])
        #expect(reader.transport.requests.map(\.isConditional) == [true])
    }
}
