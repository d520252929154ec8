import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache filters")
    final class SelectionTests: ServedSuite {
        private var grey: String { server.url("png/grey.png") }
        private var photo: String { server.url("jpeg/landscape-420.jpg") }
        private var still: String {
            server.url("gif/still.gif").replacingOccurrences(of: "127.0.0.1", with: "localhost")
        }

        private func fill() async throws {
            for arguments in [
                [grey, photo, "-p", "resize:20x20", "--tag", "small"], [still, "--expire", "1ms"],
                [grey, "-H", "X-Shop: 7"],
            ] {
                let result = try await kf.run(["fetch"] + arguments)
                try #require(result.status == 0, "\(result)")
            }
        }

        /// The entries that all five commands select with these arguments, and the status of `ls`.
        private func selected(_ arguments: [String]) async throws -> (count: Int, status: CInt) {
            let listed = try await kf.run(["cache", "ls", "--json"] + arguments)
            let names = try listed.objects().compactMap { object -> String? in
                guard let key = object["key"] as? String, let made = object["identifier"] as? String else { return nil }
                return made.isEmpty ? key : "\(key)@\(made)"
            }
            for command in ["rm", "clean"] {
                let rehearsed = try await kf.run(["cache", command, "--dry-run", "-v"] + arguments)
                #expect(
                    rehearsed.outputLines.filter { !$0.hasPrefix("would") }.sorted() == names.sorted(), "\(rehearsed)")
                #expect(rehearsed.status == (command == "clean" ? 0 : listed.status), "\(rehearsed)")
            }
            let verified = try await kf.run(["cache", "verify", "--json"] + arguments)
            #expect(try verified.objects().last?["entries"] as? Int == names.count, "\(verified)")
            let report = try await kf.run(["cache", "report", "-o", "r.html", "--json"] + arguments)
            #expect(try report.objects().last?["entries"] as? Int == names.count, "\(report)")
            #expect(Set([verified.status, report.status]) == [listed.status], "\(verified) \(report)")
            return (names.count, listed.status)
        }

        @Test("Each filter selects the same entries in all commands")
        func filters() async throws {
            try await fill()
            let cases: [(arguments: [String], count: Int)] = [
                (["--host", "localhost"], 1), (["--host", "example.com"], 0), (["--format", "gif"], 1),
                (["--format", "jpg"], 2), (["--format", "webp"], 0), (["--expired"], 1), (["--older-than", "1h"], 0),
                (["--older-than", "0s"], 6), (["--unused-for", "0s"], 6), (["--unused-for", "1d"], 0),
                (["--larger-than", "100k"], 1), (["--larger-than", "1G"], 0),
                (["--processor", "resize:20x20"], 2), (["--processor", "resize:20x20,none"], 2),
                (["--processor", "blur:3"], 0), (["--tag", "small"], 4), (["--tag", "small", "--tag", "x"], 0),
                (["--tag", "small", "--format", "png"], 2), (["--glob", "*.jpg"], 2), (["*.gif", "*/jpeg/*"], 3),
                (["*", "--larger-than", "100k", "--host", "127.0.0.1"], 1), (["*.bmp"], 0), (["--key", "none"], 0),
            ]
            for (arguments, count) in cases {
                let found = try await selected(arguments)
                #expect(found.count == count && found.status == (count == 0 ? 1 : 0), "\(arguments)")
            }
        }

        @Test("A URL selects the entries of all users")
        func urls() async throws {
            try await fill()
            #expect(try await selected([grey]).count == 3)
            #expect(try await selected([grey, photo]).status == 0)
            let partly = try await kf.run("cache", "ls", grey, "https://example.com/none.png", "*.bmp")
            #expect(partly.status == 1 && partly.outputLines.count == 3, "\(partly)")
            #expect(partly.errors.contains("none.png: not in the cache [3006]") && partly.errors.contains("'*.bmp'"))
            let removed = try await kf.run("cache", "rm", grey, "https://example.com/none.png", "-v")
            #expect(removed.status == 1 && removed.output.contains("removed 3 entries"), "\(removed)")
            #expect(removed.output.contains("#user="), "\(removed)")
            #expect(try await kf.run("cache", "ls").outputLines.count == 3)
        }

        @Test("A question mark in a URL is not a pattern")
        func query() async throws {
            for suffix in ["?a=1", "xa=1"] {
                try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
                _ = try await kf.run("cache", "put", "a.png", "--key", "http://example.com/i\(suffix)")
            }
            #expect(try await selected(["http://example.com/i?a=1"]).count == 1)
            #expect(try await selected(["http://example.com/i?a=[0-9]"]).count == 0, "no pattern without a star")
            #expect(try await selected(["--glob", "http://example.com/i?a=[0-9]"]).count == 2)
            #expect(try await kf.run("cache", "rm", "http://example.com/i?a=1").status == 0)
            #expect(
                try await kf.run("cache", "rm", "http://example.com/i?a=1").status == 1, "no pattern of an uncached one"
            )
            let left = try await kf.run("cache", "ls", "-v").output
            #expect(left.contains("ixa=1"), "\(left)")
            for key in ["item#user=bob", "item"] { _ = try await kf.run("fetch", grey, "--key", key) }
            #expect(try await kf.run("cache", "rm", "--key", "item").output.contains("removed 1 entry"))
            #expect(try await kf.run("cache", "path", "--key", "item#user=bob").status == 0)
        }

        @Test("A password in an argument that is not a URL is hidden", arguments: ["?", "[", "*", "]", "#", "/"])
        func password(mark: String) async throws {
            _ = try await kf.run("fetch", grey)
            for command in ["ls", "rm", "verify", "report", "path", "explain"] {
                let result = try await kf.run("cache", command, "http://me:s3\(mark)cr3t@127.0.0.1/a.png")
                #expect(!(result.output + result.errors).contains("cr3t"), "\(command): \(result)")
            }
        }

        @Test("Filters accept any processor that a listing prints")
        func processor() async throws {
            _ = try await kf.run("fetch", grey, "-p", "resize:20x20", "-f", "webp", "--quality", "70")
            let printed = try #require(
                try await kf.run("cache", "ls", "--json", "--format", "webp").objects().first?["identifier"] as? String)
            #expect(printed.contains("encode:"), "\(printed)")
            #expect(try await selected(["--processor", printed]).count == 1)
            let change = "UPDATE entries SET identifier = 'com.example.own' WHERE identifier <> ''"
            try await kf.changeIndex(change)
            #expect(try await kf.run("cache", "ls", "--processor", "com.example.own").status == 0)
            for command in ["ls", "rm", "verify"] {
                let wrong = try await kf.run("cache", command, "--processor", "resiz:20x20")
                #expect(wrong.status == 2 && wrong.errors.contains("did you mean 'resize'"), "\(wrong)")
            }
        }

        @Test("Settings for fetch do not act as filters")
        func homonyms() async throws {
            try await fill()
            var other = kf
            other.environment.merge(["KF_FORMAT": "webp", "KF_TAG": "none", "KF_LOCK": "none.lock"]) { $1 }
            #expect(try await other.run("cache", "ls").outputLines.count == 6)
            #expect(try await other.run("cache", "verify").status == 0)
            other.environment["KF_KEEP_LIST"] = "list"
            let remote = "file://\(kf.home.path("remote").path)"
            let push = try await other.run("cache", "push", "--remote", remote)
            #expect(push.status == 2 && push.errors.contains("KF_KEEP_LIST is set"), "\(push)")
            try kf.home.write(".config/kf/config", "format = webp\ntag = none\n")
            #expect(try await kf.run("cache", "ls").outputLines.count == 6)
            #expect(
                try await kf.run("cache", "clean", "--dry-run").outputLines.last?.hasPrefix("would remove 1 entry")
                    == true)
            #expect(try await kf.run("cache", "rm").status == 2)
        }

        @Test("Filters remove exactly what they list")
        func removal() async throws {
            try await fill()
            #expect(try await kf.run("cache", "rm", "--tag", "small", "--format", "jpeg", "-q").status == 0)
            #expect(try await kf.run("cache", "ls").outputLines.count == 4)
            #expect(
                try await kf.run("cache", "clean", "--expired", "*.png", "*.gif").output.contains("removed 1 entry"))
            #expect(try await kf.run("cache", "clean", "--larger-than", "5k").status == 0)
            #expect(try await kf.run("cache", "ls", "--larger-than", "5k").status == 1)
            #expect(try await kf.run("cache", "verify").output.contains("no damage"))
        }

        @Test("A filtered verification repairs only its entries")
        func verify() async throws {
            try await fill()
            let paths = try await kf.run("cache", "ls", "--json", "--tag", "small", "--format", "jpeg").objects()
                .compactMap { $0["path"] as? String }
            try #require(paths.count == 2)
            for path in paths {
                #expect(chmod(path, 0o644) == 0 && truncate(path, 1) == 0)
            }
            #expect(try await kf.run("cache", "verify", "--format", "png").status == 0)
            let found = try await kf.run("cache", "verify", "--format", "jpeg")
            #expect(found.status == 1 && found.output.contains("checked 2 entries and 2 files"), "\(found)")
            #expect(found.output.contains("2 files of the wrong size"), "\(found)")
            #expect(try await kf.run("cache", "verify", "--host", "localhost", "--repair").status == 0)
            let whole = try await kf.run("cache", "verify")
            #expect(whole.output.contains("checked 6 entries and 5 files"), "the damaged ones count: \(whole)")
            #expect(try await kf.run("cache", "verify", "--format", "jpeg", "--repair").status == 0)
            #expect(try await kf.run("cache", "verify").status == 0)
            for name in ["a", "b"] {
                let stray = kf.cacheDirectory.appendingPathComponent("v1/objects/00/stray-\(name).png")
                try FileManager.default.createDirectory(
                    at: stray.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(count: 7).write(to: stray)
            }
            #expect(try await kf.run("cache", "verify").output.contains("2 orphan files; --repair removes them"))
        }
    }

    @Suite("Tags")
    final class TagCommandTests: ServedSuite {
        private func keys(_ tag: String) async throws -> [String] {
            try await kf.run("cache", "ls", "--json", "--tag", tag).objects().compactMap { $0["key"] as? String }
        }

        @Test("Tags apply to new images, hits and originals")
        func tagging() async throws {
            let (grey, rgb) = (server.url("png/grey.png"), server.url("png/rgb.png"))
            _ = try await kf.run("fetch", grey)
            let index = kf.cacheDirectory.path + "/v1/index.sqlite"
            #expect(try await Tool.run("sqlite3", index, "PRAGMA user_version").output == "3\n")
            #expect(try await kf.run("fetch", grey, rgb, "--tag", "site", "--tag", "x").status == 0)
            #expect(try await keys("site").count == 2)
            #expect(try await keys("x").count == 2)
            #expect(try await Tool.run("sqlite3", index, "PRAGMA user_version").output == "4\n")
            try kf.home.write("list", "\(grey)\n\(server.url("jpeg/grey.jpg"))\n")
            for _ in 0..<2 {
                let run = try await kf.run("prefetch", "list", "--tag", "run", "-p", "resize:8x8")
                #expect(run.status == 0, "\(run)")
                // The original of one of them was there before.
                #expect(try await keys("run").count == 3)
            }
            #expect(try await kf.run("fetch", rgb).status == 0)
            let listed = try await kf.run("cache", "ls", rgb, "--json").objects()
            #expect(listed.first?["tags"] as? [String] == ["site", "x"])
            #expect(try await kf.run("cache", "ls", rgb, "--long").output.contains("#site #x"))
            try kf.home.write("a.png", FixturesDirectory.named("png/rgba.png").data)
            let put = try await kf.run("cache", "put", "a.png", "--key", "mine", "--tag", "site", "--json").objects()
            #expect(put.last?["tags"] as? [String] == ["site"])
            #expect(try await keys("site").count == 3)
            #expect(try await kf.run("cache", "rm", "--tag", "site").output.hasPrefix("removed 3 entries"))
            #expect(try await keys("run").count == 3)
            #expect(try await keys("site").isEmpty)
            #expect(try await kf.run("cache", "verify").output.contains("no damage"))
        }

        @Test("An invalid tag is a usage error")
        func refused() async throws {
            for name in ["", String(repeating: "x", count: 101), "a\nb"] {
                let result = try await kf.run("fetch", server.url("png/grey.png"), "--tag", name)
                #expect(result.status == 2 && result.errors.contains("--tag"), "\(result)")
            }
            _ = try await kf.run("fetch", server.url("png/grey.png"))
            let both = try await kf.run("fetch", server.url("png/grey.png"), "--tag", "a", "--read-only")
            #expect(both.status == 2, "\(both)")
        }
    }

    @Suite("The commands put and which")
    final class PutTests: ServedSuite {
        @Test("An image put under a URL is found by fetch")
        func url() async throws {
            let data = try FixturesDirectory.named("png/grey.png").data
            try kf.home.write("a.png", data)
            let url = server.url("no/such.png")
            let put = try await kf.run("cache", "put", "a.png", "--key", url.uppercasedScheme, "--expire", "30d")
            try #require(put.status == 0, "\(put)")
            let before = try await server.requests().count
            let hit = try await kf.run("fetch", url, "--json").item()
            #expect(hit.status == "disk")
            #expect(try await server.requests().count == before)
            #expect(try Data(contentsOf: URL(fileURLWithPath: put.printedPath)) == data)
            #expect(try await kf.run("fetch", url, "-p", "resize:9x9").status == 0)
            #expect(try await kf.run("cache", "ls", "--host", "127.0.0.1").outputLines.count == 2)
            let entry = try #require(try await kf.run("cache", "ls", url, "--format", "png", "--json").objects().first)
            let lifetime = (entry["expires"] as? Int ?? 0) - (entry["created"] as? Int ?? 0)
            #expect(lifetime == 30 * 86_400)

            try kf.home.write("copy.bin", data)
            for name in ["copy.bin", put.printedPath, entry["sha256"] as? String ?? ""] {
                let which = try await kf.run("cache", "which", name)
                #expect(which.status == 0 && which.output == url + "\n", "\(which)")
            }
            let digits = String((entry["sha256"] as? String ?? "").prefix(8))
            #expect(try await kf.run("cache", "which", digits, "--json").objects().first?["key"] as? String == url)
            let none = try await kf.run("cache", "which", "0123456789abcdef", "a-file-that-is-not-there")
            #expect(none.status == 1 && none.errors.contains("[3006]") && none.output.isEmpty, "\(none)")
            #expect(try await kf.run("cache", "which").status == 2)
        }

        @Test("Standard input can be put under a key")
        func others() async throws {
            let png = try FixturesDirectory.named("png/grey.png").data
            let put = try await kf.run(["cache", "put", "-", "--key", "cover"], input: png)
            #expect(put.status == 0, "\(put)")
            let path = try await kf.run("cache", "path", "--key", "cover")
            #expect(path.printedPath == put.printedPath)
            let jpeg = try FixturesDirectory.named("jpeg/grey.jpg").data
            _ = try await kf.run(["cache", "put", "-", "--key", "cover"], input: jpeg)
            #expect(try await kf.run("cache", "ls", "--key", "cover", "--format", "jpeg").outputLines.count == 1)
            #expect(try await kf.run("cache", "ls").outputLines.count == 1)
            for bytes in [Data("<html>".utf8), jpeg.dropLast(2000)] {
                let refused = try await kf.run(["cache", "put", "-", "--key", "page"], input: Data(bytes))
                #expect(refused.status == 1 && refused.errors.contains("standard input: "), "\(refused)")
            }
            #expect(try await kf.run("cache", "ls").outputLines.count == 1)
            for arguments in [["a.png"], ["--key", "k"], ["a", "b", "--key", "k"], ["a", "--key", "http://"]] {
                #expect(try await kf.run(["cache", "put"] + arguments).status == 2, "\(arguments)")
            }
        }
    }

    @Suite("Keep lists")
    final class KeepListTests: ServedSuite {
        private var grey: String { server.url("png/grey.png") }
        private var rgb: String { server.url("png/rgb.png") }

        private func fill() async throws {
            _ = try await kf.run("fetch", grey, rgb, server.url("gif/still.gif"), "--tag", "site")
            _ = try await kf.run("fetch", grey, "-p", "resize:9x9", "-H", "X-Shop: 1")
            _ = try await kf.run("fetch", server.url("jpeg/grey.jpg"))
        }

        private func count() async throws -> Int { try await kf.run("cache", "ls").outputLines.count }

        @Test("A keep list removes selected images that it lacks")
        func keeps() async throws {
            try await fill()
            try kf.home.write("keep.txt", "# the site\n\(grey)\n\(rgb)\n")
            let rehearsed = try await kf.run("cache", "clean", "--keep-list", "keep.txt", "--dry-run", "-v")
            #expect(rehearsed.status == 0 && rehearsed.output.contains("would remove 2 entries"), "\(rehearsed)")
            #expect(try await count() == 6)
            let tagged = try await kf.run("cache", "clean", "--keep-list", "keep.txt", "--tag", "site", "-v")
            #expect(
                tagged.outputLines.first == server.url("gif/still.gif") && tagged.outputLines.count == 2, "\(tagged)")
            #expect(try await kf.run("cache", "clean", "--keep-list", "keep.txt", "*.jpg").status == 0)
            #expect(try await count() == 4)
            #expect(try await kf.run("cache", "ls", grey).outputLines.count == 3)
            try kf.home.write("keep.csv", "picture,n\n\(rgb)?w=1,1\n")
            let read = ["--keep-list", "keep.csv", "--url-column", "picture", "--key-ignore", "*"]
            #expect(try await kf.run(["cache", "clean"] + read).output.hasPrefix("removed 3 entries"))
            #expect(try await kf.run("cache", "ls", rgb).status == 0)
        }

        @Test("An unusable keep list removes no image")
        func refused() async throws {
            try await fill()
            try kf.home.write("empty", "# nothing\n")
            try kf.home.write("wrong", "\(grey)\nhttp://\n")
            try kf.home.write("good.csv", "url\n\(grey)\n")
            for list in ["empty", "wrong", "missing", "."] {
                let result = try await kf.run("cache", "clean", "--keep-list", list)
                #expect(result.status == 2 && result.errors.contains("nothing is removed"), "\(result)")
            }
            let column = try await kf.run("cache", "clean", "--keep-list", "good.csv", "--url-column", "picture")
            #expect(column.status == 2, "\(column)")
            #expect(try await kf.run("cache", "clean", "--url-column", "picture").status == 2)
            #expect(try await kf.run("cache", "clean", "--all", "--yes", "--keep-list", "good.csv").status == 2)
            var other = kf
            other.environment["KF_URL_COLUMN"] = "picture"
            let variable = try await other.run("cache", "clean", "--keep-list", "good.csv")
            #expect(variable.status == 2 && variable.errors.contains("--url-column"), "\(variable)")
            #expect(try await other.run("cache", "clean").status == 0)
            #expect(try await count() == 6)
        }
    }
}

extension String {
    fileprivate var uppercasedScheme: String { replacingOccurrences(of: "http://", with: "HTTP://") }
}
