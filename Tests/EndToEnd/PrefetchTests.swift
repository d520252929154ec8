import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetching")
    final class PrefetchTests: UnretriedSuite {
        @Test("A repeated line makes one request and one copy", arguments: [[], ["--output-dir", "out"]])
        func duplicates(options: [String]) async throws {
            let line = server.url("jpeg/landscape-420.jpg") + "\n"
            let list = Data(String(repeating: line, count: 50).utf8)
            let result = try await kf.run(["prefetch", "-"] + options, input: list)
            #expect(result.status == 0 && result.errorLines.count <= 1, "\(result)")
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().count == 1)
            let copies = TemporaryDirectory.files(in: kf.home.path("out"))
            #expect(copies == (options.isEmpty ? [] : ["landscape-420.jpg"]))
        }

        @Test("An empty list succeeds")
        func empty() async throws {
            let result = try await kf.run("prefetch", "-", input: Data())
            #expect(result.status == 0, "\(result)")
        }

        @Test("A prefetch stores only undamaged images")
        func damaged() async throws {
            let names = ["broken/truncated.jpg", "png/grey.png", "broken/page.png", "broken/empty.png", "png/rgb.png"]
            let list = names.map { server.url($0) + "\n" }.joined()
            let result = try await kf.run("prefetch", "-", input: Data(list.utf8))
            #expect(result.status == 1, "\(result)")
            #expect(kf.cachedObjects().count == 2)
            #expect(kf.leftovers() == [])
        }
    }
}
