import KFImaging
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// Grey pictures of 8 by 4 pixels behind a word.
private struct WordCodec: ImageCodec {
    static let word = Array("a word of its own".utf8)
    let format = ImageFormat(rawValue: "wordy")!
    let fileExtension = "wrd"
    let isEncodable = true

    func matches(_ head: UnsafeRawBufferPointer) -> Bool { head.starts(with: Self.word) }

    func probe(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> ImageInfo {
        ImageInfo(format: format, width: 8, height: 4, colorModel: .gray)
    }

    func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        if bytes.count < Self.word.count + 32 { throw .truncated(format) }
    }

    func decode(_ bytes: UnsafeRawBufferPointer, options: DecodeOptions) throws(ImagingError) -> Image {
        var bitmap = try Bitmap(width: 8, height: 4, format: .gray)
        try bitmap.withUnsafeMutableRows { rows in
            for index in 0..<32 { rows.row(index / 8)[index % 8] = bytes[Self.word.count + index] }
        }
        return Image(bitmap)
    }

    func encode(_ image: Image, options: EncodeOptions) throws(ImagingError) -> [UInt8] {
        guard (image.width, image.height) == (8, 4) else { throw .encodingFailed(format, reason: "not 8×4") }
        return image.bitmap.withUnsafeRows { rows in
            Self.word + (0..<32).map { rows.row($0 / 8)[$0 % 8] }
        }
    }
}

@Suite("Image formats registered by a program", .bounded)
struct ProgramCodecTests {
    private let fixture: ManagerFixture
    private let file = WordCodec.word + (0..<32).map { UInt8($0 * 8) }
    private var manager: KingfisherManager { fixture.manager }

    init() throws {
        fixture = try ManagerFixture()
        try ImageCodecs.register(WordCodec())
    }

    @Test("An image of a registered format is stored and processed")
    func stored() async throws {
        let provider = CountingProvider("k", file)
        let fetched = try await manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        #expect(fetched.facts.format == WordCodec().format && fetched.facts.isDecodable)
        #expect((fetched.facts.width, fetched.facts.height, fetched.facts.frames) == (8, 4, 1))
        let again = try await manager.retrieveImage(with: .provider(provider), options: ManagerFixture.options())
        #expect(again.way == .disk && again.facts.format == WordCodec().format && provider.count == 1)
        #expect(try await again.data() == file)
        #expect(try await manager.cache.cachePath(forKey: "k")?.hasSuffix(".wrd") == true)
        let small = try await manager.retrieveImage(
            with: .provider(provider),
            options: ManagerFixture.resized { $0.cacheSerializer = FormatIndicatedCacheSerializer(format: .png) })
        #expect(try await small.image().width == 20 && provider.count == 1)
        let entries = try await manager.cache.entries(forKey: "k")
        #expect(Set(entries.map(\.facts.format.rawValue)).contains("wordy"))
    }

    @Test("A truncated image of a registered format is refused")
    func truncated() async throws {
        let error = await #expect(throws: KingfisherError.self) {
            try await manager.retrieveImage(
                with: .provider(CountingProvider("cut", file.dropLast())), options: ManagerFixture.options())
        }
        #expect(error?.message.contains("the WORDY is truncated") == true, "\(error?.message ?? "")")
        #expect(try await manager.cache.imageCachedType(forKey: "cut") == .none)
    }

    @Test("A processed image keeps its registered format")
    func written() async throws {
        let flipped = ManagerFixture.options { $0.processor = FlippingImageProcessor(direction: .horizontal) }
        let result = try await manager.retrieveImage(with: .provider(CountingProvider("k", file)), options: flipped)
        #expect(result.facts.format == WordCodec().format)
        #expect(Array(try await result.data().prefix(Self.firstRow.count)) == Self.firstRow)
        let chain = try ProcessingChain("resize:8x4|>encode:wordy")
        #expect(chain.format == WordCodec().format)
    }

    private static let firstRow = WordCodec.word + [56, 48, 40, 32, 24, 16, 8, 0]

    @Test("A process without the codec delivers the file unchanged")
    func elsewhere() async throws {
        var facts = EntryFacts()
        facts.format = "foreign"
        facts.fileExtension = "frn"
        let stored = try await manager.cache.storeOnDisk(
            .memory(Array("anything".utf8)), EntryKey(key: "f", identifier: ""), facts)
        #expect(stored != nil)
        let hit = try await manager.retrieveImage(
            with: .provider(CountingProvider("f", [])), options: ManagerFixture.options())
        #expect(hit.way == .disk && hit.facts.format.rawValue == "frn" && !hit.facts.isDecodable)
        #expect(try await hit.data() == Array("anything".utf8))
        let error = await #expect(throws: KingfisherError.self) { try await hit.image() }
        #expect(error?.message.isEmpty == false)
    }
}
