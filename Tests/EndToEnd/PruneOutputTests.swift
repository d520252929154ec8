import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Copies that a list no longer names")
    struct PruneOutputTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            let names = ["a.jpg": "jpeg/grey.jpg", "b.jpg": "jpeg/landscape-420.jpg", "c.png": "png/rgb.png"]
            for (name, fixture) in names { try kf.home.write("www/\(name)", FixturesDirectory.named(fixture).data) }
            server = try FileServer(root: kf.home.path("www"))
        }

        private func run(_ names: [String], _ options: String...) async throws -> CommandResult {
            try kf.home.write("list", names.map { server.url($0) + "\n" }.joined())
            return try await kf.run(["prefetch", "list", "-P", "mirror", "--prune-output"] + options)
        }

        private var files: [String] { TemporaryDirectory.files(in: kf.home.path("mirror")).sorted() }

        @Test("Option --prune-output removes what the list no longer names, and nothing else")
        func prunes() async throws {
            #expect(try await run(["a.jpg", "b.jpg", "c.png"]).status == 0)
            try kf.home.write("mirror/own.txt", "mine")
            try kf.home.write("mirror/b.jpg", "changed by hand")
            let plan = try await run(["a.jpg"], "--dry-run")
            #expect(plan.outputLines.contains("prune\tmirror/c.png") && files.contains("c.png"), "\(plan)")
            let summary = try #require(try await run(["a.jpg"], "--json").objects().last)
            #expect(summary["pruned"] as? [String] == ["mirror/c.png"])
            #expect(files == ["a.jpg", "b.jpg", "own.txt"])
        }

        @Test("An image that fails keeps its copy of before")
        func failed() async throws {
            #expect(try await run(["a.jpg", "b.jpg"]).status == 0)
            try FileManager.default.removeItem(at: kf.home.path("www/b.jpg"))
            let again = try await run(["a.jpg", "b.jpg"], "--revalidate", "--retry", "0")
            #expect(again.status == 1 && files == ["a.jpg", "b.jpg"], "\(again)")
        }

        @Test("A failed image keeps its copy although its signature, user or content changed")
        func failedAnew() async throws {
            let list = kf.home.path("list").path
            let address = server.url("a.jpg").dropFirst("http://".count)
            try kf.home.write("local.png", FixturesDirectory.named("png/rgb.png").data)
            func run(_ version: String, _ status: Int32) async throws {
                try kf.home.write("list", "http://u:\(version)@\(address)?sig=\(version)\nlocal.png\n")
                let run = try await kf.run(
                    "prefetch", list, "-P", "mirror", "--create-dirs", "--prune-output", "--key-ignore", "sig",
                    "--allow-local",
                    "--force-refresh", "--retry", "0")
                #expect(run.status == status && files == ["a.jpg", "local.png"], "\(run)")
            }
            try await run("1", 0)
            try FileManager.default.removeItem(at: kf.home.path("www/a.jpg"))
            try kf.home.write("local.png", "no image")
            try await run("2", 1)
        }

        @Test("A copy goes when its image has another name")
        func renamed() async throws {
            #expect(try await run(["a.jpg", "b.jpg"]).status == 0)
            #expect(try await run(["a.jpg", "b.jpg"], "-f", "png").status == 0)
            #expect(files == ["a.png", "b.png"])
        }

        @Test(
            "Runs without a whole list remove nothing",
            arguments: [
                [], ["a.jpg", "no:such:thing"], ["missing.jpg", "a.jpg", "missing2.jpg"],
            ])
        func incomplete(names: [String]) async throws {
            #expect(try await run(["a.jpg", "b.jpg", "c.png"]).status == 0)
            let result = try await run(names, "--max-failures", "0", "--retry", "0", "-j", "1")
            #expect(result.errors.contains("--prune-output: nothing is removed: "), "\(result)")
            #expect(files == ["a.jpg", "b.jpg", "c.png"], "\(result)")
        }

        @Test("Empty cells and, with --skip-invalid, invalid lines let a list prune")
        func cells() async throws {
            #expect(try await run(["a.jpg", "b.jpg", "c.png"]).status == 0)
            func prune(_ cell: String, _ options: String...) async throws -> CommandResult {
                try kf.home.write("list.csv", "id,url\n1,\(server.url("a.jpg"))\n2,\(cell)\n")
                let words = ["prefetch", "list.csv", "-P", "mirror", "--prune-output", "--allow-failures"]
                return try await kf.run(words + options)
            }
            let kept = try await prune("http://no host/")
            #expect(kept.errors.contains("line 3 of list.csv is not a source; --skip-invalid"), "\(kept)")
            #expect(files == ["a.jpg", "b.jpg", "c.png"])
            #expect(try await prune("").errors.contains("2 removed") && files == ["a.jpg"])
            #expect(try await run(["a.jpg", "b.jpg"]).status == 0)
            let skipped = try await prune("http://no host/", "--skip-invalid")
            #expect(skipped.errors.contains("1 removed") && files == ["a.jpg"], "\(skipped)")
        }

        @Test("The record survives a cleaning, and without it nothing is removed")
        func record() async throws {
            let first = try await run(["a.jpg", "b.jpg"])
            #expect(first.status == 0 && first.errors.contains("has no record of mirror yet"), "\(first)")
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            #expect(try await run(["a.jpg"]).status == 0)
            #expect(files == ["a.jpg"])
            #expect(try await run(["a.jpg", "b.jpg"]).status == 0)
            let record = try #require(try record(named: kf.cacheDirectory))
            for text in [
                "", "kf-outputs 1\n/elsewhere\n",
                String(decoding: try Data(contentsOf: record).dropLast(9), as: UTF8.self),
            ] {
                try Data(text.utf8).write(to: record)
                let other = try await run(["a.jpg"])
                #expect(other.errors.contains("has no record") && files == ["a.jpg", "b.jpg"], "\(other)")
            }
        }

        @Test("A crafted record removes nothing outside the directory")
        func crafted() async throws {
            #expect(try await run(["a.jpg"]).status == 0)
            let digest = "8fc1df0c95be60153bf7a769164e42a68d2be77132d8851a209e0750c01daa61"
            try kf.home.write("outside.jpg", FixturesDirectory.named("jpeg/grey.jpg").data)
            try FileManager.default.createSymbolicLink(
                at: kf.home.path("mirror/link"), withDestinationURL: kf.home.url)
            let record = try #require(try record(named: kf.cacheDirectory))
            let text = try String(contentsOf: record, encoding: .utf8)
            let names = ["../outside.jpg", "link/outside.jpg", kf.home.path("outside.jpg").path, "."]
            try Data((text + names.map { "\(digest) 0000000000000000 \($0)\n" }.joined()).utf8).write(to: record)
            let result = try await run(["a.jpg"])
            #expect(result.status == 0, "\(result)")
            #expect(FileManager.default.fileExists(atPath: kf.home.path("outside.jpg").path), "\(result)")
        }

        @Test("The option needs a directory, and the whole list")
        func usage() async throws {
            try kf.home.write("list", server.url("a.jpg") + "\n")
            for options in [[], ["-P", "mirror", "--shard", "0/2"], ["--shards", "mirror"]] {
                let result = try await kf.run(["prefetch", "list", "--prune-output"] + options)
                #expect(result.status == 2 && result.errors.contains("--prune-output"), "\(result)")
            }
        }

        private func record(named cache: URL) throws -> URL? {
            let folder = cache.appending(path: "v1/outputs")
            return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).first
        }
    }
}
