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
        let options = ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }.describing
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
}
