import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Locked images")
    struct LockTests {
        let kf: KFCommand
        let server: FaultServer
        /// The pictures by path; any other path is missing.
        let pictures: Pictures

        final class Pictures: Sendable {
            private let names = Mutex<[String: String]>([:])

            subscript(path: String) -> String? {
                get { names.withLock { $0[path] } }
                set { names.withLock { $0[path] = newValue } }
            }
        }

        init() throws {
            kf = try KFCommand()
            let pictures = Pictures()
            for (path, name) in ["/a.png": "grey", "/b.png": "rgb", "/c.png": "rgba"] { pictures[path] = name }
            server = try FaultServer { request in
                // Of many pictures each has bytes of its own.
                if request.path.hasPrefix("/many/"), let plain = try? FixturesDirectory.bytes("png/grey.png") {
                    let chunk = PNGChunk.bytes("prVt", Array(request.path.utf8))
                    return [.reply(body: Array(plain[..<33]) + chunk + plain[33...])]
                }
                guard let name = pictures[request.path], let bytes = try? FixturesDirectory.bytes("png/\(name).png")
                else {
                    return [.reply("404 Not Found", body: [])]
                }
                return [.reply(headers: ["ETag: \"\(name)\"", "Cache-Control: max-age=60"], body: bytes)]
            }
            self.pictures = pictures
            try kf.home.write("list.txt", ["/a.png", "/b.png"].map { server.url($0) + "\n" }.joined())
        }

        func prefetch(_ options: String...) async throws -> CommandResult {
            try await kf.run(["prefetch", "list.txt", "--lock", "images.lock", "--retry", "0"] + options)
        }

        var lock: String {
            get throws { String(decoding: try kf.contents("images.lock"), as: UTF8.self) }
        }

        func hash(_ name: String) throws -> String {
            let bytes = try [UInt8](FixturesDirectory.named("png/\(name).png").data)
            return "sha256-\(Data(PlainSHA256.hash(bytes)).base64EncodedString())"
        }

        func line(_ path: String, _ name: String) throws -> String {
            "\(server.url(path)) \(try hash(name)) \(try FixturesDirectory.named("png/\(name).png").data.count)\n"
        }

        func emptyCache() async throws {
            #expect(try await kf.run("cache", "clean", "--all", "--yes").status == 0)
        }

        @Test("New images are added, and one that has changed is refused")
        func trustOnFirstUse() async throws {
            let first = try await prefetch()
            #expect(
                first.status == 0 && first.errors.contains("images.lock: 2 new, 0 changed, 0 as locked"), "\(first)")
            let written = try "# kf images.lock 1\n" + line("/a.png", "grey") + line("/b.png", "rgb")
            #expect(try lock == written)
            let number = try FileManager.default.attributesOfItem(atPath: kf.home.path("images.lock").path)[
                .systemFileNumber]
            let again = try await prefetch()
            #expect(again.status == 0 && again.errors.contains("0 new, 0 changed, 2 as locked"), "\(again)")
            let same = try FileManager.default.attributesOfItem(atPath: kf.home.path("images.lock").path)[
                .systemFileNumber]
            #expect(number as? Int == same as? Int, "it is not written again")

            pictures["/b.png"] = "rgba"
            try await emptyCache()
            let changed = try await prefetch("--failures", "failed.txt", "-P", "out")
            let message = try "expected \(hash("rgb")), got \(hash("rgba")), "
            #expect(changed.status == 1 && changed.errors.contains(message), "\(changed)")
            #expect(changed.errors.contains("bytes: it has changed since it was locked [2011]"), "\(changed)")
            #expect(changed.errors.contains("0 new, 1 changed, 1 as locked"), "\(changed)")
            #expect(try lock == written && kf.contents("failed.txt") == Data((server.url("/b.png") + "\n").utf8))
            #expect(TemporaryDirectory.files(in: kf.home.path("out")) == ["a.png"])
            #expect(kf.cachedObjects().count == 1, "nothing of it is cached")
            let item = try #require(try await prefetch("--json").items().first { $0.source.hasSuffix("b.png") })
            let error = try #require(item.error)
            #expect(try error.expected == hash("rgb") && error.found == hash("rgba"), "\(error)")
        }

        @Test("A frozen lock takes no new image, and must be there")
        func frozen() async throws {
            let missing = try await prefetch("--frozen")
            #expect(missing.status == 2 && server.requests.isEmpty, "\(missing)")
            try kf.home.write("list.txt", server.url("/a.png"))
            _ = try await prefetch()
            try kf.home.write("list.txt", "\(server.url("/a.png"))\n\(server.url("/c.png"))\n")
            let written = try lock
            var environment = kf
            environment.environment["KF_FROZEN"] = "1"
            for (kf, options) in [(kf, ["--frozen"]), (environment, [])] {
                let run = try await kf.run(["prefetch", "list.txt", "--lock", "images.lock"] + options)
                #expect(
                    run.status == 1 && run.errors.contains("not in images.lock") && run.errors.contains("[1009]"),
                    "\(run)")
                #expect(try lock == written)
            }
            #expect(server.requests.allSatisfy { $0.path == "/a.png" })
            try kf.home.write("images.lock", "# kf images.lock 1\nnonsense\n")
            for option in ["--frozen", "--update-lock", "--no-frozen"] {
                let damaged = try await prefetch(option)
                #expect(damaged.status == 2 && damaged.errors.contains("line 2"), "\(damaged)")
            }
            #expect(try lock == "# kf images.lock 1\nnonsense\n")
            #expect(try await kf.run("fetch", "x.png", "--frozen").status == 2, "without --lock")
        }

        @Test("An update takes what is served, and drops what the list does not name")
        func update() async throws {
            _ = try await prefetch()
            pictures["/b.png"] = "rgba"
            let copy = try kf.contents("images.lock")
            let update = try await prefetch("--update-lock")
            #expect(update.status == 0 && update.errors.contains("0 new, 1 replaced, 1 as locked"), "\(update)")
            let told = try "kf: \(server.url("/b.png")): \(hash("rgb")) is now \(hash("rgba"))\n"
            #expect(update.errors.contains(told), "\(update)")
            #expect(try lock == "# kf images.lock 1\n" + line("/a.png", "grey") + line("/b.png", "rgba"))
            try kf.home.write("images.lock", copy)
            let counts = try await prefetch("--update-lock", "--json").objects().last?["lock"] as? [String: Any]
            let one = try #require((counts?["replaced"] as? [[String: String]])?.first)
            #expect(try one == ["url": server.url("/b.png"), "old": hash("rgb"), "new": hash("rgba")])
            try kf.home.write("list.txt", server.url("/b.png"))
            let pruned = try await prefetch("--prune-lock", "--json").objects().last?["lock"] as? [String: Int]
            #expect(pruned == ["new": 0, "changed": 0, "as_locked": 1, "dropped": 1])
            #expect(try lock == "# kf images.lock 1\n" + line("/b.png", "rgba"))
        }

        @Test("A locked image is served whatever its freshness says", arguments: ["ttl", "http"])
        func immutable(policy: String) async throws {
            _ = try await prefetch("--expire", "1ms", "--cache-policy", policy)
            let before = server.requests.count
            for options in [[], ["--revalidate"], ["-P", "out"], ["--frozen", "--offline"]] {
                let run = try await kf.run(
                    ["prefetch", "list.txt", "--lock", "images.lock", "--cache-policy", policy] + options)
                #expect(run.status == 0 && run.errors.contains("2 as locked"), "\(options): \(run)")
            }
            #expect(server.requests.count == before)
            let fetched = try await kf.run("fetch", server.url("/b.png"), "--lock", "images.lock", "-o", "-")
            #expect(
                try fetched.standardOutput == FixturesDirectory.named("png/rgb.png").data
                    && server.requests.count == before)
        }

        @Test("The hash is that of the original, whatever is made of it")
        func processed() async throws {
            let run = try await prefetch("-p", "resize:10x")
            #expect(
                try run.status == 0 && lock == "# kf images.lock 1\n" + line("/a.png", "grey") + line("/b.png", "rgb"))
            let again = try await prefetch("-p", "resize:10x")
            #expect(
                again.status == 0 && again.errors.contains("2 cached") && again.errors.contains("2 as locked"),
                "\(again)")
            // What was made of other bytes does not count.
            pictures["/b.png"] = "rgba"
            _ = try await kf.run("fetch", server.url("/b.png"), "-p", "resize:10x", "--force-refresh", "-q")
            let changed = try await prefetch("-p", "resize:10x")
            #expect(changed.status == 1 && changed.errors.contains("1 changed, 1 as locked"), "\(changed)")
        }

        @Test("An alternative with the right bytes replaces an image that has changed")
        func alternative() async throws {
            pictures["/mirror.png"] = "grey"
            let wrong = server.url("/b.png")
            let arguments = ["fetch", wrong, "--hash", try hash("grey"), "-o", "-"]
            let failed = try await kf.run(arguments)
            #expect(failed.status == 1 && failed.standardOutput.isEmpty && kf.cachedObjects() == [], "\(failed)")
            let found = try await kf.run(arguments + ["--alternative", server.url("/mirror.png")])
            #expect(
                try found.status == 0 && found.standardOutput == FixturesDirectory.named("png/grey.png").data,
                "\(found)")
            try await emptyCache()
            let none = try await kf.run(arguments + ["--alternative", server.url("/c.png")])
            #expect(none.status == 1, "\(none)")
        }

        @Test("One image may be given its hash", arguments: ["hex", "sri", "sri512", "md5"])
        func hash(form: String) async throws {
            let file = FixturesDirectory.path("png/grey.png")
            let bytes = try [UInt8](FixturesDirectory.named("png/grey.png").data)
            let good: String
            switch form {
            case "hex": good = PlainSHA256.hash(bytes).map { String(format: "%02x", $0) }.joined()
            case "sri": good = try hash("grey")
            default:
                let tool = form == "md5" ? "md5sum" : "sha512sum"
                let said = try await kf.script("\(tool) < '\(file)' | cut -d ' ' -f 1").output
                good = "\(form == "md5" ? "md5" : "sha512"):\(said.trimmingCharacters(in: .whitespacesAndNewlines))"
            }
            for source in [server.url("/a.png"), file] {
                let right = try await kf.run("fetch", source, "--hash", good, "-o", "-")
                #expect(right.status == 0 && Array(right.standardOutput) == bytes, "\(right)")
                let cached = try await kf.run("fetch", source, "--hash", good, "-o", "-")
                #expect(cached.status == 0 && Array(cached.standardOutput) == bytes, "\(cached)")
            }
            #expect(server.requests.count == 1, "the second is a hit")
            try await emptyCache()
            let wrong = try await kf.run("fetch", server.url("/b.png"), "--hash", good)
            #expect(wrong.status == 1 && wrong.errors.contains("[2011]"), "\(wrong)")
            try kf.home.write("list.txt", server.url("/a.png") + "\n" + server.url("/b.png"))
            let list = try await kf.run("prefetch", "list.txt", "--hash", good, "--json")
            #expect(try list.status == 1 && list.items().compactMap(\.error?.code) == [2011], "\(list)")
            #expect(try await kf.run("fetch", file, file, "--hash", good).status == 2)
            #expect(try await kf.run("fetch", file, "--hash", "nonsense").status == 2)
        }

        @Test("A list brings the hashes in a column")
        func column() async throws {
            try kf.home.write(
                "list.csv",
                "url,sum\n\(server.url("/a.png")),\(try hash("grey"))\n\(server.url("/b.png")),\(try hash("grey"))\n"
                    + "\(server.url("/c.png")),\n\(server.url("/c.png")),nonsense\n")
            let run = try await kf.run("prefetch", "list.csv", "--hash-column", "sum", "--json")
            let items = try run.items().map { ($0.status, $0.error?.code) }
            #expect(run.status == 1, "\(run)")
            #expect(items.map(\.0).sorted() == ["failed", "failed", "fetched", "fetched"], "\(run)")
            #expect(Set(items.compactMap(\.1)) == [2011, 5007], "\(run)")
        }

        @Test("Locked bytes that the cache has under another URL are taken from there")
        func elsewhere() async throws {
            _ = try await prefetch("-q")
            let moved = server.url("/moved/b.png")
            let before = server.requests.count
            for options in [["-o", "-"], ["-p", "flip:h", "-o", "-"]] {
                let other = server.url("/moved/\(options.count).png")
                let run = try await kf.run(["fetch", other, "--hash", try hash("rgb"), "-v"] + options)
                #expect(run.status == 0 && run.errors.contains("pinned"), "\(run)")
            }
            let run = try await kf.run("fetch", moved, "--hash", try hash("rgb"), "--json").items().first
            #expect(run?.status == "pinned" && run?.path != nil && server.requests.count == before)
            let plain = try await kf.run("fetch", moved, "--offline", "-p", "flip:h")
            #expect(plain.status == 1 && plain.errors.contains("[3006]"), "without the hash it is not there: \(plain)")
            #expect(try await kf.run("fetch", moved, "--hash", try hash("rgba")).status == 1)
            // A file is not what another one was.
            let file = FixturesDirectory.path("png/rgba.png")
            #expect(try await kf.run("fetch", file, "--hash", try hash("rgb")).status == 1)
            #expect(try await kf.run("fetch", file, "-o", "-").standardOutput == Data(contentsOf: URL(filePath: file)))
        }

        @Test("A cache is checked and cleaned by a lock, and filled with a hash")
        func caches() async throws {
            _ = try await prefetch("-q")
            let check = ["cache", "verify", "--lock", "images.lock"]
            let whole = try await kf.run(check)
            #expect(whole.status == 0 && whole.output == "images.lock: 2 held, 0 missing, 0 differ\n", "\(whole)")
            _ = try await kf.run("fetch", server.url("/c.png"), "-q")
            let would = try await kf.run("cache", "clean", "--keep-lock", "images.lock", "--dry-run")
            #expect(would.status == 0 && would.output.contains("/c.png"), "\(would)")
            let cleaned = try await kf.run("cache", "clean", "--keep-lock", "images.lock")
            #expect(cleaned.status == 0 && kf.cachedObjects().count == 2, "\(cleaned)")
            #expect(try await kf.run("cache", "clean", "--keep-lock", "missing.lock").status == 2)
            #expect(kf.cachedObjects().count == 2)

            let file = FixturesDirectory.path("png/rgba.png")
            let put = ["cache", "put", file, "--key", server.url("/b.png")]
            let refused = try await kf.run(put + ["--hash", try hash("rgb")])
            #expect(refused.status == 1 && refused.errors.contains("[2011]"), "\(refused)")
            #expect(try await kf.run(check + ["-q"]).status == 0)
            #expect(try await kf.run(put + ["--hash", try hash("rgba")]).status == 0)
            _ = try await kf.run("cache", "rm", server.url("/a.png"))
            let left = try await kf.run(check)
            let (a, b) = (server.url("/a.png"), server.url("/b.png"))
            #expect(left.status == 1, "\(left)")
            #expect(
                left.output == "missing: \(a)\ndiffers: \(b)\nimages.lock: 0 held, 1 missing, 1 differ\n", "\(left)")
            let objects = try await kf.run(check + ["--json"]).objects()
            #expect(try objects[1]["found"] as? String == hash("rgba") && objects.last?["differ"] as? Int == 1)
            #expect(server.requests.count == 3)
        }
    }
}
