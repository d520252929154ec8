import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetching a list")
    struct PrefetchTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            var kf = try KFCommand()
            kf.environment["KF_RETRY"] = "0"
            self.kf = kf
            server = try FileServer()
        }

        private var everything: String {
            FixturesDirectory.all.map { server.url($0.name) + "\n" }.joined()
        }

        @Test("every line is fetched once, and a second run makes no request")
        func twice() async throws {
            try kf.home.write("list.txt", everything)
            let first = try await kf.run("prefetch", "list.txt")
            #expect(first.status == 0, "\(first)")
            let asked = try await server.requests().map(\.path)
            #expect(asked.sorted() == FixturesDirectory.all.map { "/" + $0.name }.sorted())
            let second = try await kf.run("prefetch", "list.txt")
            #expect(second.status == 0, "\(second)")
            #expect(try await server.requests().count == asked.count)
        }

        @Test("what was prefetched is a hit for fetch, byte for byte")
        func thenFetch() async throws {
            _ = try await kf.run("prefetch", "-", input: Data(everything.utf8))
            try await server.stop()
            for fixture in FixturesDirectory.all {
                let result = try await kf.run("fetch", "--only-from-cache", server.url(fixture.name), "-o", "-")
                #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
            }
        }

        @Test("blank lines and comments are skipped, a last line needs no end")
        func blankLines() async throws {
            let list =
                "# pictures\n\n\(server.url("png/grey.png"))\n   \n#\(server.url("png/rgb.png"))\n\(server.url("gif/still.gif"))"
            let result = try await kf.run("prefetch", "-", input: Data(list.utf8))
            #expect(result.status == 0, "\(result)")
            #expect(try await server.requests().map(\.path).sorted() == ["/gif/still.gif", "/png/grey.png"])
        }

        @Test("a bad line is refused with its number, and the run goes on")
        func badLines() async throws {
            let list = """
                \(server.url("png/grey.png"))
                not a url
                ftp://127.0.0.1/a.png
                \(server.url("missing.png"))
                \(server.url("png/rgb.png"))

                """
            let result = try await kf.run("prefetch", "-", input: Data(list.utf8))
            #expect(result.status == 1, "\(result)")
            let errors = result.errorLines.filter { $0.hasPrefix("kf: ") }
            for number in [2, 3] {
                #expect(
                    errors.contains { $0.contains("line \(number)") || $0.contains(":\(number):") },
                    "no line \(number)\n\(result)"
                )
            }
            #expect(errors.contains { $0.contains("missing.png") && $0.contains("[2002]") }, "\(result)")
            // The two images, and the empty file of the remembered 404.
            #expect(kf.cachedObjects().count == 3)
        }

        @Test("a line twice is one request")
        func duplicates() async throws {
            let line = server.url("jpeg/landscape-420.jpg") + "\n"
            let result = try await kf.run("prefetch", "-", input: Data(String(repeating: line, count: 50).utf8))
            #expect(result.status == 0 && result.errorLines.count <= 1, "\(result)")
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().count == 1)
        }

        @Test("equal bytes from two addresses are stored once")
        func equalBytes() async throws {
            let list = "\(server.url("png/rgb.png"))\n\(server.url("png/rgb.png?again"))\n"
            let result = try await kf.run("prefetch", "-", input: Data(list.utf8))
            #expect(result.status == 0, "\(result)")
            #expect(kf.cachedObjects().count == 1)
        }

        @Test("-j 1 works as well as many at once", arguments: ["1", "4", "64"])
        func jobs(count: String) async throws {
            let result = try await kf.run("prefetch", "-", "-j", count, input: Data(everything.utf8))
            #expect(result.status == 0, "\(result)")
            #expect(kf.leftovers() == [])
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
        }

        @Test("--json has one line for each item, and a summary")
        func json() async throws {
            let result = try await kf.run("prefetch", "--json", "-", input: Data(everything.utf8))
            #expect(result.status == 0, "\(result)")
            let items = try result.items()
            #expect(Set(items.map(\.source)) == Set(FixturesDirectory.all.map { server.url($0.name) }))
            #expect(items.count == FixturesDirectory.all.count && items.allSatisfy { $0.status == "fetched" })
            #expect(try result.objects().last?["source"] == nil)
        }

        @Test("an empty list is no failure")
        func empty() async throws {
            let result = try await kf.run("prefetch", "-", input: Data())
            #expect(result.status == 0, "\(result)")
        }

        @Test("a list that is not there is named")
        func noList() async throws {
            let result = try await kf.run("prefetch", "missing.txt")
            #expect(result.status != 0, "\(result)")
            #expect(result.errorLines.first?.hasPrefix("kf: missing.txt: ") == true, "\(result)")
        }

        @Test("damaged images do not enter the cache, the others do")
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
