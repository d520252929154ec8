import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache removal")
    final class RemovalCommandTests: ServedSuite {
        private var grey: String { server.url("png/grey.png") }
        /// The same server under another name.
        private var other: String {
            server.url("jpeg/grey.jpg").replacingOccurrences(of: "127.0.0.1", with: "localhost")
        }

        private func fill() async throws {
            let result = try await kf.run("fetch", grey, other, server.url("gif/still.gif"))
            try #require(result.status == 0, "\(result)")
        }

        private func names() async throws -> [String] {
            try await kf.run("cache", "ls", "-v").outputLines.map { String($0[$0.range(of: "http")!.lowerBound...]) }
        }

        /// Runs a removal as a rehearsal, which changes nothing, and then in earnest: both say the same.
        private func remove(_ arguments: [String]) async throws -> (names: [String], summary: [String: Any]) {
            let before = try await names()
            let objects = kf.cachedObjects()
            let rehearsal = try await kf.run(arguments + ["--dry-run", "-v"])
            #expect(rehearsal.status == 0, "\(rehearsal)")
            #expect(try await names() == before && kf.cachedObjects() == objects)
            let counted = try #require(try await kf.run(arguments + ["--dry-run", "--json"]).objects().last)
            let done = try await kf.run(arguments + ["-v", "--json"])
            #expect(done.status == 0, "\(done)")
            let removed = try done.objects()
            let summary = try #require(removed.last)
            #expect(summary["removed"] as? Int == counted["removed"] as? Int)
            #expect(summary["bytes"] as? Int == counted["bytes"] as? Int)
            #expect(counted["dry_run"] as? Bool == true && summary["dry_run"] as? Bool == false)
            let gone = removed.dropLast().compactMap { object -> String? in
                guard let key = object["key"] as? String, let made = object["identifier"] as? String else { return nil }
                return made.isEmpty ? key : "\(key)@\(made)"
            }
            #expect(rehearsal.outputLines.dropLast().sorted() == gone.sorted(), "\(rehearsal)")
            #expect(rehearsal.outputLines.last?.hasPrefix("would remove \(gone.count) ") == true, "\(rehearsal)")
            #expect(try await names().sorted() == before.filter { !gone.contains($0) }.sorted())
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            return (gone, summary)
        }

        @Test("Filters by age and last use must all match")
        func ages() async throws {
            try await fill()
            #expect(try await remove(["cache", "clean", "--older-than", "1h"]).names.isEmpty)
            #expect(try await remove(["cache", "clean", "--unused-for", "1h"]).names.isEmpty)
            let port = try #require(URL(string: grey)?.port)
            #expect(try await remove(["cache", "clean", "--host", "localhost:1"]).names.isEmpty)
            let fitting = ["cache", "clean", "--older-than", "1ms", "--host", "localhost:\(port)"]
            #expect(try await remove(fitting).names == [other])
            // Stored long ago and used just now.
            let aged = "UPDATE entries SET created = created - 7200000; UPDATE times SET accessed = accessed - 7200000"
            let only = "\(aged) WHERE id IN (SELECT id FROM entries WHERE key LIKE '%.gif')"
            try await kf.changeIndex(only)
            #expect(try await remove(["cache", "clean", "--unused-for", "1h"]).names == [server.url("gif/still.gif")])
            #expect(try await remove(["cache", "clean", "--older-than", "1h"]).names == [grey])
        }

        @Test("A file that entries share counts once")
        func shared() async throws {
            let urls = (0..<3).map { server.url("png/grey.png?\($0)") }
            _ = try await kf.run(["fetch"] + urls + [server.url("gif/still.gif")])
            let size = try FixturesDirectory.named("png/grey.png").data.count
            let page = try await kf.run("cache", "report", "-o", "-").output
            let host = page.firstMatch(
                of: /Bytes by format.*?png<\/dt><dd>.*?<span>([^<]*)<\/span>/.dotMatchesNewlines())
            #expect(host?.1 == "22.1 KiB in 3", "\(page)")
            // Another entry has the file, so that nothing is gained.
            #expect(try await remove(["cache", "rm", urls[0]]).summary["bytes"] as? Int == 0)
            #expect(try await remove(["cache", "rm", urls[1], urls[2]]).summary["bytes"] as? Int == size)
        }

        @Test("Cleaning to a size removes the least recently used images first")
        func size() async throws {
            for name in ["png/grey.png", "gif/still.gif", "jpeg/grey.jpg"] {
                _ = try await kf.run("fetch", server.url(name))
            }
            let sizes = try ["gif/still.gif", "jpeg/grey.jpg"].map { try FixturesDirectory.named($0).data.count }
            let gone = try await remove(["cache", "clean", "--max-size", "\(sizes[0] + sizes[1])"])
            #expect(gone.names == [grey])
            #expect(gone.summary["bytes"] as? Int == (try FixturesDirectory.named("png/grey.png").data.count))
            #expect(try await remove(["cache", "clean", "--max-size", "0"]).names.isEmpty)
            #expect(try await remove(["cache", "clean", "--max-size", "1"]).names.count == 2)
        }

        @Test("Cleaning without a filter removes expired images")
        func expired() async throws {
            try await fill()
            _ = try await kf.run("fetch", grey, "--force-refresh", "--expire", "1ms")
            #expect(try await remove(["cache", "clean"]).names == [grey])
        }

        @Test("Removing everything asks for confirmation on a terminal")
        func all() async throws {
            try await fill()
            func ask(_ answer: String?, _ options: String...) throws -> CInt? {
                let terminal = try PseudoTerminal(
                    kf.binary.path, ["cache", "clean", "--all"] + options, environment: kf.environment)
                if let answer {
                    #expect(terminal.wait(for: "[y/N]"), "\(terminal.text)")
                    terminal.type(answer + "\n")
                }
                return terminal.finish()
            }
            #expect(try ask("n") == 1)
            #expect(kf.cachedObjects().count == 3)
            #expect(try ask("y") == 0)
            #expect(kf.cachedObjects().isEmpty)
            try await fill()
            #expect(try ask(nil, "--yes") == 0)
            #expect(kf.cachedObjects().isEmpty)
            let mixed = try await kf.run("cache", "clean", "--all", "--host", "localhost")
            #expect(mixed.status == 2, "\(mixed)")
        }

        @Test("A glob removes matching keys with their processed images")
        func glob() async throws {
            try await fill()
            _ = try await kf.run("fetch", grey, "-p", "flip:h")
            let gone = try await remove(["cache", "rm", "--glob", "*/grey.png", "--glob", "*.gif"])
            #expect(gone.names.sorted() == [server.url("gif/still.gif"), grey, "\(grey)@flip:h"].sorted())
            let nothing = try await kf.run("cache", "rm", "--glob", "*.bmp")
            #expect(nothing.status == 1 && nothing.errors.contains("*.bmp"), "\(nothing)")
        }

        @Test("Images of one processor can be removed")
        func processor() async throws {
            for url in [grey, other] {
                _ = try await kf.run("fetch", url, "-p", "resize:20x20")
                _ = try await kf.run("fetch", url, "-p", "flip:h")
            }
            let made = "resize:20x20,none"
            #expect(
                try await remove(["cache", "rm", grey, "--processor", "resize:20x20"]).names == ["\(grey)@\(made)"])
            #expect(try await remove(["cache", "rm", "--processor", made]).names == ["\(other)@\(made)"])
            #expect(try await names().count == 4)
            #expect(try await kf.run("cache", "rm", "--processor", made).status == 1)
            #expect(try await kf.run("cache", "rm", "--processor", "nonsense").status == 2)
        }

        @Test("Removing a URL also removes its processed images")
        func address() async throws {
            try await fill()
            _ = try await kf.run("fetch", grey, "-p", "flip:h")
            #expect(try await remove(["cache", "rm", grey]).names.sorted() == [grey, "\(grey)@flip:h"])
            #expect(kf.cachedObjects().count == 2)
            let miss = try await kf.run("fetch", "--only-from-cache", grey)
            #expect(miss.status == 1 && miss.errors.contains("[3006]"), "\(miss)")
            #expect(try await kf.run("fetch", "--only-from-cache", other).status == 0)
            #expect(try await kf.run("cache", "rm", grey).status == 1)
        }

        @Test("Images can be removed by path and by listed key")
        func files() async throws {
            let files = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"].map(FixturesDirectory.path)
            #expect(try await kf.run(["fetch"] + files).status == 0)
            #expect(try await kf.run("cache", "rm", files[0]).status == 0)
            let key = try #require(try await kf.run("cache", "ls", "--json").objects().first?["key"] as? String)
            #expect(try await kf.run("cache", "rm", key).status == 0)
            #expect(kf.cachedObjects().count == 1)
        }
    }
}
