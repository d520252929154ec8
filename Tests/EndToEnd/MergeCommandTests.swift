import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Merged caches")
    final class MergeCommandTests: ServedSuite {
        private let names = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"]

        /// Fetches images into a cache of its own.
        private func fill(_ cache: String, _ names: [String], _ options: String...) async throws {
            let result = try await kf.run(["fetch", "-q", "--cache-dir", cache] + names.map(server.url) + options)
            #expect(result.status == 0, "\(result)")
        }

        private func entries(_ cache: String) async throws -> [[String: Any]] {
            try await kf.run("cache", "ls", "--json", "--cache-dir", cache).objects()
        }

        private func merge(_ arguments: String...) async throws -> CommandResult {
            try await kf.run(["cache", "merge"] + arguments + ["--cache-dir", "all"])
        }

        private func state(_ entry: [String: Any]) -> String {
            ["key", "identifier", "sha256", "created", "expires", "accessed", "hits", "tags", "etag", "original"]
                .map { "\($0)=\(entry[$0] ?? "")" }.joined(separator: " ")
        }

        @Test("All images of several caches are taken, with what is known of them")
        func taken() async throws {
            try await fill("one", [names[0], names[1]], "--tag", "site", "-p", "resize:20x")
            try await fill("two", [names[2]])
            _ = try await kf.run("fetch", "--cache-dir", "two", server.url("png/missing.png"))
            let dry = try await merge("one", "two", "--dry-run")
            #expect(
                dry.output.contains("one: 4 entries to take") && dry.output.contains("two: 1 entry to take"), "\(dry)")
            #expect(!FileManager.default.fileExists(atPath: kf.home.path("all").path))
            let result = try await merge("one", "two", "--json").objects()
            #expect(result.map { $0["taken"] as? Int } == [4, 1] && result.map { $0["damaged"] as? Int } == [0, 0])
            let all = try await entries("all")
            let before = try await entries("one") + entries("two").filter { $0["http_status"] is NSNull }
            #expect(all.map(state).sorted() == before.map(state).sorted())
            #expect(try await kf.run("cache", "verify", "--cache-dir", "all").status == 0)
            try await server.stop()
            try await fill("all", names)
            #expect(try await merge("one", "two", "--json").objects().map { $0["kept"] as? Int } == [4, 1])
        }

        @Test("The newer image of a key counts, whatever the order", arguments: [["old", "new"], ["new", "old"]])
        func newest(_ order: [String]) async throws {
            let site = try TemporaryDirectory()
            let changing = try FileServer(root: site.url)
            let url = changing.url("a.png")
            for (cache, fixture) in [("old", "png/grey.png"), ("new", "png/rgb.png")] {
                try site.write("a.png", FixturesDirectory.named(fixture).data)
                let fetch = ["fetch", "-q", "--cache-dir", cache, url, "-p", "resize:10x"]
                #expect(try await kf.run(fetch).status == 0)
            }
            #expect(try await merge(order[0]).status == 0)
            let second = try await merge(order[1], "--json").objects()
            // What was made of the older original goes with it, or is not taken.
            #expect(second[0]["taken"] as? Int == (order[1] == "new" ? 2 : 0), "\(second)")
            let kept = try await entries("all")
            #expect(kept.map(state).sorted() == (try await entries("new")).map(state).sorted())
            #expect(try await kf.run("cache", "verify", "--cache-dir", "all").status == 0)
        }

        @Test("A verbose dry run tells what differs, and where")
        func differences() async throws {
            let site = try TemporaryDirectory()
            let changing = try FileServer(root: site.url)
            let url = changing.url("a.png")
            for (cache, fixture) in [("all", "png/grey.png"), ("other", "png/rgb.png")] {
                try site.write("a.png", FixturesDirectory.named(fixture).data)
                #expect(try await kf.run("fetch", "-q", "--cache-dir", cache, url).status == 0)
                try await fill(cache, [names[0]])
            }
            try await fill("all", [names[1]], "--measure", "mean")
            try await fill("other", [names[2]], "-p", "resize:8x")
            _ = try await kf.run("cache", "merge", "all", "--cache-dir", "same")
            let run = try await merge("other", "--dry-run", "-v")
            let grey = server.url(names[2])
            #expect(
                run.outputLines.dropLast().sorted() == [
                    "newer in other, other bytes\t\(url)", "newer in other, same bytes\t\(server.url(names[0]))",
                    "only here\t\(server.url(names[1]))", "only in other\t\(grey)", "only in other\t\(grey)@resize:8x",
                ], "\(run)")
            #expect(try await merge("same", "--dry-run", "-v").outputLines.count == 1)
            let fresh = try await kf.run("cache", "merge", "other", "--dry-run", "-v", "--cache-dir", "none")
            #expect(fresh.outputLines.count { $0.hasPrefix("only in other\t") } == 4, "\(fresh)")
        }

        @Test("A damaged file is left out, and the merge goes on")
        func damaged() async throws {
            try await fill("one", names)
            let damaged = try #require(try await entries("one").first?["path"] as? String)
            let path = URL(fileURLWithPath: damaged)
            var bytes = try Data(contentsOf: path)
            bytes[bytes.count / 2] ^= 1
            try FileManager.default.removeItem(at: path)
            try bytes.write(to: path)
            let result = try await merge("one")
            #expect(result.status == 1 && result.output.contains("2 entries taken"), "\(result)")
            #expect(result.output.contains("1 damaged and left out"), "\(result)")
            #expect(try await kf.run("cache", "verify", "--cache-dir", "all").status == 0)
        }

        @Test("A merge into a small cache says what did not fit")
        func small() async throws {
            try await fill("one", ["png/rgb.png", "png/grey.png", "gif/transparent.gif"])
            let sizes = try await entries("one").compactMap { $0["bytes"] as? Int }.sorted()
            let large = try await merge("one", "--max-size", "\(sizes[2] - 1)")
            #expect(large.status == 1 && large.output.contains("1 larger than --max-size and left out"), "\(large)")
            #expect(large.output.contains("2 entries taken"), "\(large)")
            try FileManager.default.removeItem(at: kf.home.path("all"))
            let full = try await merge("one", "--max-size", "\(sizes[2])")
            #expect(full.status == 0 && full.errors.contains("did not fit and left the cache again"), "\(full)")
        }

        @Test(
            "A merge takes what fits beside an image that does not",
            .enabled("no mounts here") { await MountedCache.isPossible() }, arguments: ["--max-size 4M", ""])
        func room(_ options: String) async throws {
            let picture = try FixturesDirectory.named("png/rgb.png").data
            let filler = PNGChunk.bytes("kfFi", [UInt8](repeating: 7, count: 20 << 20))
            try kf.home.write("large.png", picture.dropLast(12) + Data(filler) + picture.suffix(12))
            let run = try await MountedCache(kf: kf).run(
                """
                kf fetch -q --cache-dir $H/one $H/large.png $F/png/grey.png $F/png/rgb.png $F/gif/still.gif >/dev/null
                kf cache merge $H/one --dry-run \(options) || true
                mkdir "$C"; mount -t tmpfs -o mode=700,size=8m none "$C"
                fails \(options.isEmpty ? 3 : 1) kf cache merge $H/one \(options)
                kf cache ls | wc -l; kf cache verify -q
                """)
            #expect(run.status == 0 && run.output.hasSuffix("\n3\n"), "\(run)")
            let said = "3 entries taken (304 KiB), 0 kept as they are, 1 larger than --max-size and left out"
            #expect(
                run.output.contains(said) == !options.isEmpty && run.errors.contains("disk is full") == options.isEmpty)
            #expect(run.output.contains(said.replacing("taken", with: "to take")) == !options.isEmpty, "\(run)")
        }

        @Test("A directory that is not another cache is refused by name")
        func refused() async throws {
            try await fill("all", [names[0]])
            let result = try await merge("all", "nowhere")
            #expect(result.status == 3 && result.errorLines.count == 2, "\(result)")
            #expect(result.errorLines[0].contains("is this cache") && result.errorLines[1].contains("nowhere"))
            try kf.home.write("folder/a.txt", "x")
            let folder = try await merge("folder")
            #expect(folder.errors.contains("not a kf cache") && !folder.errors.contains("--cache-dir"), "\(folder)")
            #expect(try await kf.run("cache", "merge").status == 2)
        }

        @Test("Two merges at once, killed again and again, end whole")
        func killed() async throws {
            for number in 0..<12 {
                try await fill("c\(number % 2)", [names[number % 3]], "-p", "resize:\(number + 5)x")
            }
            var expected: Set<String> = []
            for cache in ["c0", "c1"] {
                expected.formUnion(try await entries(cache).map { "\($0["key"]!) \($0["identifier"]!)" })
            }
            for count in [0, 1, 3, 5, 8, 10] {
                let running = try ["c0", "c1"].map { try kf.start(["cache", "merge", $0, "--cache-dir", "all"]) }
                _ = await eventually {
                    TemporaryDirectory.files(in: kf.home.path("all/v1/objects")).count >= count
                }
                for one in running { one.signal(SIGKILL) }
                for one in running { _ = try await one.wait() }
            }
            #expect(try await merge("c0", "c1").status == 0)
            #expect(Set(try await entries("all").map { "\($0["key"]!) \($0["identifier"]!)" }) == expected)
            let verdict = try await kf.run("cache", "verify", "--cache-dir", "all", "--json")
            #expect(verdict.status == 0, "\(verdict)")
        }
    }
}
