import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("A site's worth of photographs")
    struct PhotographTests {
        static let count = 60

        /// Different JPEGs: cuts of photographs where there are some, else of a fixture.
        private func photographs() async throws -> TemporaryDirectory {
            let root = try TemporaryDirectory()
            let photographs = Corpora.files("photos").filter { $0.lastPathComponent == "harvesters.jpeg" }
            let original = try photographs.first ?? FixturesDirectory.named("jpeg/progressive.jpg").url
            for index in 0..<Self.count {
                let cut = "\(360 + index * 7 % 560)x\(300 + index * 11 % 330)+\(index % 12 * 8)+\(index % 7 * 8)"
                let file = root.path("photo-\(index).jpg").path
                let result = try await Tool.run("jpegtran", "-crop", cut, "-outfile", file, original.path)
                try #require(result.status == 0, "\(result)")
            }
            return root
        }

        @Test("Photographs are prefetched, then made small twice, the second time without a request")
        func smallCopies() async throws {
            let root = try await photographs()
            let server = try FileServer(root: root.url)
            let kf = try KFCommand()
            let names = (0..<Self.count).map { "photo-\($0).jpg" }
            let list = names.map { server.url($0) + "\n" }.joined()
            let prefetch = try await kf.run("prefetch", "-", input: Data(list.utf8))
            #expect(prefetch.status == 0, "\(prefetch)")
            #expect(try await server.requests().count == Self.count)

            for round in 1...2 {
                for name in names {
                    let result = try await kf.run(
                        "fetch", server.url(name), "-p", "resize:320x320,fit", "-f", "jpeg", "-o", "\(round)-\(name)")
                    try #require(result.status == 0, "\(result)")
                }
            }
            #expect(try await server.requests().count == Self.count)

            for name in names {
                let large = try await Raster(jpeg: Data(contentsOf: root.path(name)))
                let data = try Data(contentsOf: kf.home.path("1-\(name)"))
                let small = try await Raster(jpeg: data)
                let expected = Judge.fit(large.width, large.height, into: (320, 320))
                #expect(small.width == expected.width && small.height == expected.height, "\(name)")
                #expect(try Data(contentsOf: kf.home.path("2-\(name)")) == data)
            }
        }
    }
}
