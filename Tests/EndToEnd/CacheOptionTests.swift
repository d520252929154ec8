import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache options")
    final class CacheOptionTests: ServedSuite {
        private var grey: String { server.url("png/grey.png") }

        private func entries() async throws -> [[String: Any]] {
            try await kf.run("cache", "ls", "--json").objects()
        }

        private func identifiers() async throws -> [String] {
            try await entries().compactMap { $0["identifier"] as? String }
        }

        @Test("The option --store chooses between the original and the result")
        func store() async throws {
            let made = "resize:20x20,none|>encode:png"
            for (word, kept) in [("both", ["", made]), ("original", [""]), ("processed", [made]), ("none", [])] {
                let output = kf.home.path("\(word).png").path
                let arguments = [grey, "-p", "resize:20x20", "--store", word, "-o", output]
                let result = try await kf.run(["fetch"] + arguments)
                #expect(result.status == 0 && FileManager.default.fileExists(atPath: output), "\(result)")
                #expect(try await identifiers().sorted() == kept, "\(word)")
                #expect(kf.cachedObjects().count == kept.count && kf.leftovers().isEmpty, "\(word)")
                _ = try await kf.run("cache", "clean", "--all", "--yes")
            }
            let plain = try await kf.run("fetch", grey, "--store", "processed")
            #expect(
                plain.status == 0 && kf.cachedObjects().count == 1, "without -p the image is what is wanted: \(plain)")
        }

        @Test("The option --store applies to several variants")
        func storeVariants() async throws {
            for (word, kept) in [("original", [""]), ("processed", ["flip:h", "flip:v"])] {
                let result = try await kf.run(
                    "fetch", grey, "--variant", "a=flip:h", "--variant", "b=flip:v", "--store", word,
                    "--output-dir", kf.home.path(word).path)
                #expect(result.status == 0, "\(result)")
                #expect(try await identifiers().sorted() == kept, "\(word)")
                _ = try await kf.run("cache", "clean", "--all", "--yes")
            }
        }

        @Test("A run that does not fit says so", arguments: ["fetch", "prefetch"])
        func overflow(command: String) async throws {
            // Each is another file of some 42 KiB.
            let plain = try FixturesDirectory.bytes("png/grey.png")
            let server = try FaultServer { request in
                let chunk = PNGChunk.bytes("prVt", Array(request.path.utf8) + [UInt8](repeating: 7, count: 20 << 10))
                return [.reply(body: Array(plain[..<33]) + chunk + plain[33...])]
            }
            let urls = (0..<60).map { server.url("/\($0).png") }
            func run(_ size: String, _ options: String...) async throws -> CommandResult {
                let options = ["--max-size", size] + options
                return command == "fetch"
                    ? try await kf.run([command] + urls + options)
                    : try await kf.run([command, "-"] + options, input: Data(urls.joined(separator: "\n").utf8))
            }
            let short = try await run("1M")
            #expect(short.status == 0, "\(short)")
            let match = try #require(
                short.errors.firstMatch(
                    of:
                        /warning: ([0-9]+) images of this run did not fit .* needs ([0-9.]+) MiB, and --max-size is 1 MiB/
                ),
                "\(short)")
            let left = try await entries().count
            #expect(Int(match.1).map { $0 + left } == 60, "\(left) are left: \(short)")
            #expect(Double(match.2).map { abs($0 - 2.48) < 0.3 } == true, "\(short)")
            let summary = try #require(try await run("1M", "--json", "--force-refresh").objects().last)
            #expect(summary["evicted"] as? Int ?? 0 >= 35, "\(summary)")
            // What was there before may go without a word, and what fits stays.
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            _ = try await kf.run("fetch", "--max-size", "4M", self.server.url("jpeg/landscape-420.jpg"))
            let fitting = try await run("3M", "--json")
            #expect(!fitting.errors.contains("fit"), "\(fitting)")
            #expect(try fitting.objects().last?["evicted"] as? Int == 0, "\(fitting)")
            #expect(try await entries().count >= 60)
        }

        @Test("With --store none kf reads the cache but stores nothing")
        func storeNone() async throws {
            let directory = kf.home.path("out").path
            let arguments = [
                "--store", "none", "--output-dir", directory, "--name", "{index}.{ext}", "--json", "-j", "1",
            ]
            let result = try await kf.run(["fetch", grey, grey] + arguments)
            #expect(result.status == 0, "\(result)")
            #expect(TemporaryDirectory.files(in: kf.home.path("out")).count == 2)
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().isEmpty)
            _ = try await kf.run("fetch", grey)
            let hit = try await kf.run(["fetch", grey] + arguments).item()
            #expect(hit.status == "disk")
        }

        @Test(
            "A fetch that stores nothing needs an output",
            arguments: [
                ["--store", "none"], ["--expire", "expired"], ["--expire", "2001-01-01"],
                ["--store", "original", "-p", "flip:h"],
            ])
        func nowhere(_ options: [String]) async throws {
            let fetch = try await kf.run(["fetch", grey] + options)
            #expect(fetch.status == 2 && fetch.errors.contains("-o or --output-dir"), "\(fetch)")
            let list = Data("\(grey)\n".utf8)
            let prefetch = try await kf.run(["prefetch"] + options, input: list)
            #expect(prefetch.status == 2 && prefetch.errors.contains("--output-dir"), "\(prefetch)")
            #expect(try await server.requests().isEmpty)
            let directory = kf.home.path("out").path
            let copies = try await kf.run(["prefetch", "--output-dir", directory] + options, input: list)
            #expect(copies.status == 0, "\(copies)")
            #expect(TemporaryDirectory.files(in: kf.home.path("out")).count == 1)
            #expect(kf.cachedObjects().count == (options.contains("original") ? 1 : 0))
        }

        @Test("An expiry date may have an offset")
        func dates() async throws {
            let dates = [
                "2040-02-29": 2_214_086_400, "2040-02-29T12:30": 2_214_131_400, "2040-02-29 12:30:15Z": 2_214_131_415,
                "2040-02-29T12:30:00+02:30": 2_214_122_400, "2040-02-29T12:30:00-0100": 2_214_135_000,
            ]
            for (text, seconds) in dates {
                _ = try await kf.run("fetch", grey, "--expire", text, "--force-refresh")
                #expect(try await entries().first?["expires"] as? Int == seconds, "\(text)")
            }
            for text in ["2040-02-30", "2040-13-01", "2040-1-1", "2040-02-29T25:00", "2040-02-29T12:00+2:00", "soon"] {
                let result = try await kf.run("fetch", grey, "--expire", text)
                #expect(result.status == 2 && result.errors.contains("--expire takes"), "\(result)")
            }
        }

        /// Uses an image that was last used 5 s ago; the entry before and after.
        private func used(_ extend: String?) async throws -> (before: [String: Any], after: [String: Any]) {
            _ = try await kf.run(
                ["fetch", grey, "--force-refresh", "--expire", "30s"] + (extend.map { ["--extend", $0] } ?? []))
            // Access times are written at most once in a twentieth of the time that it is fresh: here 1.5 s.
            let aged = "UPDATE times SET accessed = accessed - 5000"
            try await kf.changeIndex(aged)
            let before = try #require(try await entries().first)
            let hit = try await kf.run("fetch", grey, "--only-from-cache")
            try #require(hit.status == 0, "\(hit)")
            let after = try #require(try await entries().first)
            #expect(after["accessed"] as? Int != before["accessed"] as? Int)
            return (before, after)
        }

        @Test("The option --extend sets how a hit changes the expiry")
        func extend() async throws {
            func seconds(_ entry: [String: Any], _ name: String) throws -> Int { try #require(entry[name] as? Int) }
            for extend in [nil, "none"] {
                let unmoved = try await used(extend)
                let isUnmoved = try seconds(unmoved.before, "expires") == seconds(unmoved.after, "expires")
                #expect(isUnmoved, "\(extend ?? "default")")
            }
            for (extend, span) in [("cache-time", 30), ("2d", 172_800)] {
                let after = try await used(extend).after
                #expect(try seconds(after, "expires") == seconds(after, "accessed") + span, "\(extend)")
            }
            let wrong = try await kf.run("fetch", grey, "--extend", "sometimes")
            #expect(wrong.status == 2, "\(wrong)")
        }

        @Test("An image with its own key is found by every command")
        func key() async throws {
            let fetched = try await kf.run("fetch", grey, "--key", "team/logo", "--json").item()
            #expect(fetched.key == "team/logo")
            #expect(try await entries().first?["key"] as? String == "team/logo")
            // Another source under the same key is the same image.
            let other = try await kf.run("fetch", server.url("png/rgb.png"), "--key", "team/logo", "--json").item()
            #expect(other.status == "disk" && other.sha256 == fetched.sha256)
            #expect(try await kf.run("fetch", grey, "--only-from-cache").status == 1)
            let path = try await kf.run("cache", "path", "--key", "team/logo")
            #expect(path.printedPath == fetched.path, "\(path)")
            let explained = try await kf.run("cache", "explain", grey, "--key", "team/logo", "-q")
            #expect(explained.output == "disk\n", "\(explained)")
            _ = try await kf.run("fetch", grey, "--key", "logo")
            #expect(try await kf.run("cache", "rm", "logo").status == 0)
            #expect(try await entries().count == 1)
            let two = try await kf.run("fetch", grey, grey, "--key", "logo")
            #expect(two.status == 2 && two.errors.contains("one source"), "\(two)")
        }

        @Test("Files, data URIs and standard input can have keys")
        func keyOfOthers() async throws {
            let image = try FixturesDirectory.named("png/grey.png")
            let bytes = try image.data
            let uri = "data:;base64,\(bytes.base64EncodedString())"
            for (name, source) in [("file", image.url.path), ("data", uri), ("stdin", "-")] {
                let input = source == "-" ? bytes : nil
                let item = try await kf.run(["fetch", source, "--key", name, "--json"], input: input).item()
                #expect(item.key == name && item.error == nil)
                #expect(try await kf.run("cache", "path", name).printedPath == item.path)
            }
        }

        @Test("With --key-ignore '*' URLs with different queries share one image")
        func wholeQuery() async throws {
            let first = try await kf.run("fetch", "\(grey)?signature=1", "--key-ignore", "*", "--json").item()
            #expect(first.key == grey && first.status == "fetched")
            #expect(try await server.requests().first?.path.hasSuffix("?signature=1") == true)
            let second = try await kf.run("fetch", "\(grey)?signature=2", "--key-ignore", "*", "--json").item()
            #expect(second.status == "disk" && second.path == first.path)
            let list = Data("\(grey)?signature=3\n".utf8)
            let prefetch = try await kf.run(["prefetch", "--key-ignore", "*", "--json"], input: list)
            #expect(try prefetch.items().first?.key == grey, "\(prefetch)")
            #expect(try prefetch.items().first?.status == "cached", "\(prefetch)")
            let path = try await kf.run("cache", "path", "\(grey)?signature=4", "--key-ignore", "*")
            #expect(path.printedPath == first.path, "\(path)")
            #expect(try await kf.run("fetch", "\(grey)?signature=5", "--only-from-cache").status == 1)
            #expect(try await server.requests().count == 1)
        }

        @Test("With --key-ignore the named parameters do not change the key")
        func keyIgnore() async throws {
            let ignoring = ["--key-ignore", "X-Amz-*", "--key-ignore", "token"]
            func url(_ number: Int, _ width: Int = 7) -> String {
                "\(grey)?X-Amz-Date=\(number)&w=\(width)&X-Amz-Signature=\(number)&token=\(number)"
            }
            let first = try await kf.run(["fetch", url(1), "--json"] + ignoring).item()
            #expect(first.key == "\(grey)?w=7" && first.status == "fetched")
            let second = try await kf.run(["fetch", url(2), "--json"] + ignoring).item()
            #expect(second.status == "disk" && second.path == first.path)
            let prefetch = try await kf.run(["prefetch", "--json"] + ignoring, input: Data("\(url(3))\n".utf8))
            #expect(try prefetch.items().first?.status == "cached", "\(prefetch)")
            #expect(try await kf.run(["cache", "path", url(4)] + ignoring).printedPath == first.path)
            #expect(try await kf.run(["fetch", url(5, 8), "--json"] + ignoring).item().status == "fetched")
            let requests = try await server.requests()
            #expect(requests.count == 2 && requests.first?.path.hasSuffix("token=1") == true)
            #expect(try await kf.run("cache", "rm", "\(grey)?w=7").status == 0)
            #expect(try await kf.run(["cache", "path", url(1)] + ignoring).status == 1)
            #expect(try await kf.run("fetch", grey, "--key-ignore", "").status == 2)
        }
    }
}
