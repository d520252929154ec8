import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Descriptions in the index", .bounded)
struct DescriptionTests {
    @Test("A description that its origin confirms keeps its hash in the index")
    func confirmed() async throws {
        let picture = ScriptedTransport.Answer(
            headers: [("ETag", "\"1\"")], body: try ManagerFixture.fixture("png/rgb.png"))
        let fixture = try ManagerFixture(
            transport: ScriptedTransport { request, _ in request.isConditional ? .init(status: 304) : picture })
        let options = ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }.describing(.dhash)
        var paths: Set<String> = []
        for way in [RetrievalWay.fetched, .revalidated] {
            for url in ["http://h/a.png", "http://h/b.png"] {
                let result = try await fixture.get(options, from: url)
                #expect(result.way == way)
                if let path = result.cachedPath { paths.insert(path) }
            }
            fixture.advance(seconds: 11)
        }
        #expect(paths.count == 1)
        for path in paths { try FileManager.default.removeItem(atPath: path) }
        let sizes = SharedValue<[Int]>([])
        let images = try await fixture.manager.cache.duplicates { group in
            sizes.value.append(group.members.count)
            return true
        }
        #expect(images == 2 && sizes.value == [2])
    }

    @Test("A description does not depend on the images beside it", arguments: DescriptionLevel.allCases)
    func beside(_ level: DescriptionLevel) async throws {
        let photo = try ManagerFixture.fixture("gallery.jpg")
        let description = ManagerFixture.options().describing(level)
        let others = [
            ManagerFixture.options { $0.processor = BlurImageProcessor(blurRadius: 2) }, ManagerFixture.options(),
        ]
        var files: [[UInt8]] = []
        for forms in [[description], others + [description]] {
            let fixture = try ManagerFixture(transport: ScriptedTransport(.init(body: photo)))
            let source = Source.network(try RequestURL("http://h/a.jpg"))
            let results = await fixture.manager.retrieveVariants(of: source, options: forms)
            let last = try #require(results.last)
            files.append(try last.get().loadData())
        }
        let values = try #require(DescriptionSerializer.description(in: files[0]))
        #expect(files[0] == files[1])
        #expect((values.figures == nil) == (level == .dhash) && (values.pixels == nil) == (level < .color))
        #expect((values.thumbhash == nil) == (level < .thumbhash))
    }

    @Test("An image with several descriptions is one in a search for duplicates")
    func severalLevels() async throws {
        let body = try ManagerFixture.fixture("gallery.jpg")
        let fixture = try ManagerFixture(transport: ScriptedTransport { _, _ in .init(body: body) })
        for url in ["http://h/a.jpg", "http://h/b.jpg"] {
            for level in DescriptionLevel.allCases {
                _ = try await fixture.get(ManagerFixture.options().describing(level), from: url)
            }
        }
        let sizes = SharedValue<[Int]>([])
        let images = try await fixture.manager.cache.duplicates { group in
            sizes.value.append(group.members.count)
            return true
        }
        #expect(images == 2 && sizes.value == [2])
    }

    @Test("An identifier names a description by its last two steps")
    func identifiers() {
        let level = "sketch:dhash|>described:4"
        for identifier in [
            level, "blur:2|>\(level)", "sketch:256|>described:2", "first-frame|>sketch:256|>described:12",
        ] {
            #expect(DescriptionSerializer.isDescription(identifier), "\(identifier)")
        }
        for identifier in [
            "", "described:4", "blur:2|>described:4", "sketch:dhash|>described:", "\(level)|>webp", "blur:3",
        ] {
            #expect(!DescriptionSerializer.isDescription(identifier), "\(identifier)")
        }
    }
}
