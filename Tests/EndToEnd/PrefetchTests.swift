import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetching")
    struct PrefetchTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try .withoutRetries()
            server = try FileServer()
        }

        private var everything: String {
            FixturesDirectory.all.map { server.url($0.name) + "\n" }.joined()
        }

        @Test("A prefetched list is served from the cache")
        func twice() async throws {
            try kf.home.write("list.txt", everything)
            let first = try await kf.run("prefetch", "list.txt", "--json")
            #expect(first.status == 0, "\(first)")
            let items = try first.items()
            #expect(items.map(\.source).sorted() == FixturesDirectory.all.map { server.url($0.name) }.sorted())
            #expect(
                try items.allSatisfy { $0.status == "fetched" } && first.objects().last?["summary"] as? Bool == true)
            let asked = try await server.requests().map(\.path)
            #expect(asked.sorted() == FixturesDirectory.all.map { "/" + $0.name }.sorted())
            #expect(try await kf.run("prefetch", "list.txt").status == 0)
            for fixture in FixturesDirectory.all {
                let result = try await kf.run("fetch", "--only-from-cache", server.url(fixture.name), "-o", "-")
                #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
            }
            #expect(try await server.requests().count == asked.count)
        }

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

        @Test("Any number of jobs leaves a sound cache", arguments: ["1", "4", "64"])
        func jobs(count: String) async throws {
            let result = try await kf.run("prefetch", "-", "-j", count, input: Data(everything.utf8))
            #expect(result.status == 0, "\(result)")
            #expect(kf.leftovers() == [])
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
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
