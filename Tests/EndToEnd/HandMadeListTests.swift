import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Lists by hand")
    final class HandMadeListTests: UnretriedSuite {
        private var grey: String { server.url("png/grey.png") }

        private func requested() async throws -> [String] { try await server.requests().map(\.path).sorted() }

        @Test("A file that is not a list gets a helpful message")
        func noLists() async throws {
            try kf.home.write("photo.jpg", FixturesDirectory.named("jpeg/grey.jpg").data)
            try kf.home.write("short.csv", "id,url\n1,\(grey)\n")
            for (arguments, says) in [
                (["photo.jpg"], "kf fetch"), (["short.csv", "--url-column", "9"], "no column 9"),
            ] {
                let result = try await kf.run(["prefetch"] + arguments)
                #expect(result.status == 2 && result.errors.contains(says), "\(result)")
                #expect(result.errorLines.count == 1, "\(result)")
            }
            #expect(try await requested().isEmpty)
        }

        @Test("Headers of an invalid record are never printed")
        func secretHeaders() async throws {
            let list =
                #"{"auth":{"Authorization":"Bearer SECRET1"}}"# + "\n" + #"{"url":"x","auth":{"Cookie":"SECRET2""#
            for options in [[], ["--dry-run"], ["--dry-run", "--json"], ["--json"]] {
                let result = try await kf.run(
                    ["prefetch", "-", "--headers-column", "auth"] + options, input: Data((list + "\n").utf8))
                #expect(!result.output.contains("SECRET") && !result.errors.contains("SECRET"), "\(result)")
            }
        }

        @Test("An unreadable list is status 2 before any request")
        func unreadable() async throws {
            try kf.home.write("good.txt", "\(grey)\n")
            try kf.home.write("table.csv", "id,image\n1,\(grey)\n")
            try kf.home.write("f", "of an earlier run\n")
            try kf.home.write("wide.txt", Data([0xff, 0xfe]) + Data(grey.utf8.flatMap { [$0, 0] }))
            try kf.home.write("array.json", "[{\"url\":\"\(grey)\"}]\n")
            for arguments in [
                ["missing.txt"], ["."], ["good.txt", "missing.txt", "--failures", "f"],
                ["table.csv", "--url-column", "picture"], ["table.csv"],
                ["wide.txt"], ["array.json"],
            ] {
                let result = try await kf.run(["prefetch"] + arguments)
                #expect(result.status == 2 && result.errorLines.count == 1, "\(result)")
                #expect(!result.errors.contains("fetched") && result.errors.hasPrefix("kf: "), "\(result)")
            }
            let stream = try await kf.run(
                "prefetch", "-", "--url-column", "picture", input: Data("id,picture\n1,\(grey)\n".utf8))
            #expect(stream.status == 2 && stream.errors.contains("no column 'picture'"), "\(stream)")
            #expect(try await requested() == [], "nothing begins when a list is known to be missing")
            #expect(try kf.text("f") == "of an earlier run\n")
        }

        @Test("An unusable list does not stop the other lists")
        func broken() async throws {
            try kf.home.write("good.txt", "\(grey)\n")
            try kf.home.write("table.csv", "id,image\n1,\(grey)\n")
            let result = try await kf.run("prefetch", "table.csv", "good.txt")
            #expect(result.status == 2, "\(result)")
            let last = try #require(result.errorLines.last)
            #expect(last.hasPrefix("kf: 1 fetched ") && last.hasSuffix("; 1 list was not read to the end"), "\(result)")
            let json = try await kf.run("prefetch", "table.csv", "good.txt", "--json").objects()
            #expect(json.count == 2 && json[1]["incomplete_lists"] as? Int == 1 && json[1]["exit_status"] as? Int == 2)
            #expect(json[0]["status"] as? String == "cached" && json[1]["cached"] as? Int == 1)
            let dry = try await kf.run("prefetch", "--dry-run", "table.csv")
            #expect(dry.status == 2 && dry.errorLines.count == 1 && dry.outputLines.isEmpty, "\(dry)")
            let members = try await kf.run("prefetch", "-", input: Data("{\"a\":1}\n{\"a\":2}\n".utf8))
            #expect(members.status == 2 && members.errors.contains("no object has the member \"url\""), "\(members)")
        }

        @Test("Without HOME an image is fetched uncached with one warning")
        func noHome() async throws {
            var kf = kf
            kf.environment["HOME"] = nil
            kf.environment["KF_CACHE_DIR"] = nil
            kf.environment["XDG_CACHE_HOME"] = nil
            let image = try FixturesDirectory.named("png/grey.png").data
            let result = try await kf.run("fetch", grey, "-o", "y.png")
            #expect(result.status == 0 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.hasPrefix("kf: warning: HOME is not set"), "\(result)")
            #expect(try kf.contents("y.png") == image)
            let piped = try await kf.run("fetch", grey, "-q", "-o", "-", "-p", "resize:5x5")
            #expect(piped.status == 0 && piped.errors == "" && !piped.standardOutput.isEmpty, "\(piped)")
            // Without a place for the image there is nothing to do.
            try kf.home.write("list.txt", "\(grey)\n")
            for arguments in [["fetch", grey], ["prefetch", "list.txt"], ["cache", "ls"]] {
                let refused = try await kf.run(arguments)
                #expect(refused.status == 2 && refused.errors.contains("HOME"), "\(refused)")
            }
        }

        @Test(
            "Where no cache can be, an image is fetched uncached",
            arguments: ["/dev/null", "/proc", String(repeating: "long/", count: 100)])
        func noPlace(place: String) async throws {
            var kf = kf
            let directory = place.hasPrefix("/") ? place : kf.home.path(place).path
            kf.environment["HOME"] = directory
            kf.environment["KF_CACHE_DIR"] = nil
            kf.environment["XDG_CACHE_HOME"] = nil
            let result = try await kf.run("fetch", grey, "-o", "y.png")
            #expect(result.status == 0 && result.errorLines.count == 1, "\(result)")
            #expect(result.errors.contains(directory) && result.errors.contains("nothing is cached"), "\(result)")
            #expect(try kf.contents("y.png") == FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("list.txt", "\(grey)\n")
            for arguments in [["fetch", grey], ["prefetch", "list.txt"]] {
                let refused = try await kf.run(arguments)
                #expect(refused.status == 3 && refused.errors.contains(directory), "\(refused)")
            }
        }

        @Test("Quotes, comments, spaces and line ends are accepted")
        func handMade() async throws {
            func url(_ query: String) -> String { server.url("png/grey.png?\(query)") }
            let lines = [
                "\u{feff}# my images", "", "\(url("plain"))  ", "\"\(url("double"))\"", "'\(url("single"))'  # quoted",
                "\(url("comment"))  # the cat", "\(url("fragment"))#top", "\"\(url("array"))\",", "\t\(url("tab"))",
                "\(url("a b")) ", "   # indented", "\(url("last"))",
            ]
            try kf.home.write("list.txt", lines.joined(separator: "\r\n"))
            let result = try await kf.run("prefetch", "list.txt")
            #expect(result.status == 0 && result.errors.contains("9 fetched"), "\(result)")
            let queries = ["a%20b", "array", "comment", "double", "fragment", "last", "plain", "single", "tab"]
            #expect(try await requested() == queries.map { "/png/grey.png?\($0)" })
            // It is the same image for fetch, with the space and with its escape.
            #expect(try await kf.run("fetch", "--only-from-cache", url("a b")).status == 0)
            #expect(try await kf.run("fetch", "--only-from-cache", url("a%20b")).status == 0)
            let two = try await kf.run("prefetch", "-", input: Data("\(grey) \(grey)\n".utf8))
            #expect(two.status == 1 && two.errors.contains("two URLs in one line"), "\(two)")
        }

        @Test("A CSV with mixed line ends has all of its records")
        func mixedEnds() async throws {
            func url(_ name: String) -> String { server.url("\(name).png") }
            let list = "url,id\n\(url("png/grey")),1\r\(url("none1")),2\r\n\(url("none2")),3\n\(url("none3")),4\r"
            for (list, name) in [(list, "mixed.csv"), (list.replacing(/\r?\n/) { _ in "\r" }, "old.csv")] {
                try kf.home.write(name, list)
                let result = try await kf.run(
                    "prefetch", name, "--results", "out.jsonl", "--failures", "f.csv", "--retry-failed")
                #expect(result.status == 1 && result.errors.contains("3 failed"), "\(result)")
                #expect(try (1...4).allSatisfy { try kf.text("out.jsonl").contains("\"id\":\"\($0)\"") })
                // The records that failed are a list.
                let again = try await kf.run("prefetch", "f.csv", "--json")
                #expect(try again.items().map(\.source).sorted() == (1...3).map { url("none\($0)") }, "\(again)")
                let lines = try again.objects().compactMap { $0["line"] as? Int }
                #expect(lines.sorted() == [2, 3, 4], "\(again)")
            }
        }

        @Test("A column path expands to several URLs of a record")
        func paths() async throws {
            func object(_ names: [String]) -> String {
                "{\"id\":7,\"images\":[" + names.map { "{\"url\":\"\(server.url($0))\"}" }.joined(separator: ",")
                    + "]}\n"
            }
            let list = object(["png/grey.png?1", "none1.png", "none2.png"]) + object([]) + object(["png/grey.png?2"])
            let options = ["--url-column", "images[].url", "--failures", "f", "--json"]
            let result = try await kf.run(["prefetch", "-"] + options, input: Data(list.utf8))
            #expect(result.status == 1, "\(result)")
            let places = try result.objects().compactMap { object in
                (object["status"] as? String).map { "\(object["line"] ?? 0) \($0)" }
            }
            #expect(places.sorted() == ["1 failed", "1 failed", "1 fetched", "3 fetched"], "\(result)")
            let failed = try kf.text("f")
            #expect(failed == object(["png/grey.png?1", "none1.png", "none2.png"]))
            // The file is a list, whose name says nothing of its format.
            let again = try await kf.run(["prefetch", "f", "--url-column", "images[].url"])
            #expect(again.status == 1 && again.errors.contains("0 fetched (0 B), 1 cached, 2 failed"), "\(again)")
            let keyed = try await kf.run(
                "prefetch", "--url-column", "images[].url", "--key-column", "id", "--json",
                input: Data(object(["png/grey.png?3", "png/rgb.png"]).utf8))
            #expect(try keyed.items().compactMap(\.key).sorted() == ["7", "7[1]"], "\(keyed)")
        }

        @Test("A repeated warning is cut off after ten")
        func warnings() async throws {
            let urls = (0..<13).map { server.url("gif/animated.gif?\($0)") }
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            for command in [["prefetch", "list.txt"], ["fetch"] + urls] {
                let result = try await kf.run(command + ["-f", "png", "--force-refresh"])
                let warnings = result.errorLines.filter { $0.hasPrefix("kf: warning: ") }
                #expect(result.status == 0 && warnings.count == 11, "\(result)")
                #expect(warnings.last?.hasPrefix("kf: warning: 3 more: ") == true, "\(result)")
            }
            let verbose = try await kf.run("prefetch", "list.txt", "-f", "png", "--force-refresh", "-v")
            #expect(verbose.errorLines.count { $0.hasPrefix("kf: warning: ") } == 13, "\(verbose)")
        }

        @Test("A repeated error is cut off after ten")
        func repeats() async throws {
            let server = try FaultServer { request in
                [.reply(request.path.hasPrefix("/none") ? "404 Not Found" : "410 Gone", body: [])]
            }
            let urls = (0..<30).map { server.url("/none\($0).png") } + (0..<11).map { server.url("/gone/\($0).png") }
            try kf.home.write("list.txt", (urls + ["no url"]).map { $0 + "\n" }.joined())
            let result = try await kf.run("prefetch", "list.txt", "--failures", "f", "-j", "1")
            #expect(result.status == 1 && result.errorLines.count == 10 + 10 + 1 + 2 + 1, "\(result)")
            let end = result.errorLines.suffix(3)
            #expect(end.first == "kf: 20 more: response 404 Not Found [2002]", "\(result)")
            #expect(end.dropFirst().first?.hasPrefix("kf: 1 more: ") == true, "\(result)")
            #expect(end.last?.contains("42 failed") == true, "\(result)")
            #expect(try kf.text("f").split(separator: "\n").count == 42)
            let verbose = try await kf.run("prefetch", "list.txt", "-v", "--retry-failed")
            #expect(verbose.errorLines.count { $0.contains(": response 404 Not Found [2002]") } == 30, "\(verbose)")
            #expect(!verbose.errors.contains(" more: "))
            let json = try await kf.run("prefetch", "list.txt", "--json", "--retry-failed")
            #expect(try json.items().count == 42 && json.errors.contains("20 more: "), "\(json)")
            let fetch = try await kf.run(["fetch"] + urls.prefix(12))
            #expect(
                fetch.errorLines.count == 11 && fetch.errorLines.last == "kf: 2 more: response 404 Not Found [2002]")
        }
    }
}
