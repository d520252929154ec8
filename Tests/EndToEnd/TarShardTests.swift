import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Tar shards")
    struct TarShardTests {
        let fixture: DataSet
        private var kf: KFCommand { fixture.kf }

        init() throws { fixture = try DataSet() }

        @Test("Each image has a sample, and each record a row")
        func layout() async throws {
            let server = try fixture.server()
            let names = ["a", "b", "missing", "d", "e", "f", "g"]
            let rows = names.map { "\(server.url("/\($0)")),\"a caption, \($0)\"\n" }.joined()
            try kf.home.write("list.csv", "url,caption\n\(rows)not a url,none\n")
            let result = try await kf.run(
                "prefetch", "list.csv", "--shards", "data", "--shard-size", "3", "--retry", "0", "--json")
            #expect(result.status == 1, "\(result)")
            #expect(
                fixture.names() == [".kf-shards"]
                    + (0..<3).flatMap { ["0000\($0).jsonl", "0000\($0).tar", "0000\($0)_stats.json"] })
            let shards = try await fixture.shards()
            #expect(shards["00000"]?.values("sample") == ["000000", "000001", "000002"])
            #expect(shards["00000"]?.values("status") == ["fetched", "fetched", "failed"])
            #expect(shards["00002"]?.values("status") == ["fetched", "failed"])
            #expect(Set(shards["00000"]?.keys ?? []) == ["000000", "000001"])
            #expect(Set(shards["00001"]?.keys ?? []) == ["000010", "000011", "000012"])
            for shard in shards.values {
                for row in shard.rows {
                    let columns = try #require(row["columns"] as? [String: String])
                    #expect(row["path"] == nil && row["output"] == nil && columns["caption"] != nil, "\(row)")
                    let sample = shard.samples.first { $0["key"] as? String == row["sample"] as? String }
                    #expect((sample == nil) == (row["status"] as? String == "failed"), "\(row)")
                    guard let sample else { continue }
                    let member = try #require(sample["json"] as? [String: Any])
                    #expect(member.allSatisfy { row[$0.key] as? NSObject == $0.value as? NSObject }, "\(member)")
                    #expect(member["status"] == nil && member["timings"] == nil && member["columns"] != nil)
                    #expect(sample["png"] as? String == row["sha256"] as? String)
                }
            }
            let first = try #require(shards["00000"]?.samples.first { $0["key"] as? String == "000000" })
            #expect(first["png"] as? String == (try await fixture.digest("/a")))
            // What --json prints has the same keys.
            let printed = try result.objects().compactMap { $0["sample"] as? String }.sorted()
            #expect(printed == shards.values.flatMap { $0.values("sample").compactMap(\.self) }.sorted())
        }

        @Test("Variants and formats are fields of one sample")
        func variants() async throws {
            let server = try fixture.server()
            let run = ["prefetch", "-", "--shards"]
            let small = ["--variant", "small=resize:8x8", "--variant", "big=resize:20x20"]
            #expect(try await kf.run(run + ["data"] + small, input: fixture.list([server.url("/a")])).status == 0)
            var sample = try #require(try await fixture.shards()["00000"]?.samples.first)
            #expect(Set(sample.keys) == ["key", "small.png", "small.json", "big.png", "big.json"], "\(sample)")
            #expect((sample["small.json"] as? [String: Any])?["width"] as? Int == 8)
            let formats = ["-f", "png", "-f", "webp"]
            #expect(try await kf.run(run + ["formats"] + formats, input: fixture.list([server.url("/a")])).status == 0)
            sample = try #require(try await fixture.shards("formats")["00000"]?.samples.first)
            #expect(Set(sample.keys) == ["key", "png", "png.json", "webp", "webp.json"], "\(sample)")
            #expect(server.requests.count == 1)
        }

        @Test("No two members of a sample have one name")
        func distinctMembers() async throws {
            let svg = Array(#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>"#.utf8)
            let clear = Array(try FixturesDirectory.named("png/rgba.png").data)
            let server = try FaultServer { request in [.reply(body: request.path == "/v.svg" ? svg : clear)] }
            let urls = [server.url("/clear.png"), server.url("/v.svg")]
            func samples(_ formats: [String]) async throws -> [[String: Any]] {
                let directory = formats.joined()
                let command = ["prefetch", "-", "--undecoded", "copy", "--ordered", "--create-dirs"] + formats
                for result in ["first.csv", "again.csv"] {
                    let options = ["--shards", directory, "--results", result]
                    let run = try await kf.run(command + options, input: fixture.list(urls))
                    #expect(run.status == 0, "\(run)")
                    // A row for each format, though two of them may be one file; also for the images of a whole archive.
                    #expect(try kf.text(result).split(separator: "\n").count == 5)
                }
                let shard = try #require(try await fixture.shards(directory)["00000"])
                #expect(shard.values("sample") == ["000000000", "000000000", "000000001", "000000001"])
                for row in shard.rows {
                    let sample = try #require(shard.samples.first { $0["key"] as? String == row["sample"] as? String })
                    #expect(sample.values.contains { $0 as? String == row["sha256"] as? String }, "\(row)")
                }
                #expect(Set(shard.samples[1].keys) == ["key", "svg", "svg.json"], "\(shard.samples[1])")
                let copies = try await kf.run(command + ["-P", "copies" + directory], input: fixture.list(urls))
                #expect(copies.status == 0, "\(copies)")
                return shard.samples
            }
            // Beside the PNG is one in place of a JPEG. The later one has the digits that a copy in a directory has.
            let formats = try await samples(["-f", "jpeg", "-f", "png"])[0]
            let copy = try #require(fixture.names("copies-fjpeg-fpng").first { $0.hasPrefix("clear-") })
            let field = copy.dropFirst("clear-".count)
            #expect(Set(formats.keys) == ["key", "png", "png.json", "\(field)", "\(field).json"], "\(formats) \(copy)")
            let kept = try await samples(["-f", "keep", "-f", "png"])[0]
            #expect(Set(kept.keys) == ["key", "png", "png.json"], "\(kept)")
        }

        @Test("A changed list or other options are refused")
        func refused() async throws {
            let server = try fixture.server()
            let urls = (0..<7).map { server.url("/\($0)") }
            func run(_ urls: [String], _ more: String...) async throws -> CommandResult {
                try await kf.run(
                    ["prefetch", "-", "--shards", "data", "--shard-size", "3"] + more, input: fixture.list(urls))
            }
            #expect(try await run(urls).status == 0)
            let before = try await fixture.shards().mapValues { $0.rows as NSArray }
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            let again = try await run(urls)
            #expect(again.status == 0 && again.errors.contains("7 cached (7 in whole shards)"), "\(again)")
            let items = try await run(urls, "--json").items().map(\.status)
            #expect(items == Array(repeating: "exported", count: 7))
            #expect(server.requests.count == 7)
            // The last one has fewer, more or other items; an earlier one has others; the order is another.
            var lists = [Array(urls.dropLast()), urls + [server.url("/x")], Array(urls.prefix(3)), urls.reversed()]
            lists.append(urls.map { $0.hasSuffix("/1") ? server.url("/y") : $0 })
            lists.append(urls.map { $0.hasSuffix("/6") ? server.url("/y") : $0 })
            for list in lists {
                let result = try await run(list)
                let isShorter = urls.starts(with: list)
                let words = isShorter ? "the list is shorter" : "the list has changed"
                #expect(result.status == 3 && result.errors.contains(words), "\(list): \(result)")
            }
            let options = [["--shard-size", "4"], ["-p", "resize:8x8"], ["-f", "webp"], ["--variant", "a=blur:2"]]
            for option in options {
                let result = try await kf.run(
                    ["prefetch", "-", "--shards", "data"] + ["--shard-size", "3"] + option, input: fixture.list(urls))
                #expect(result.status == 3 && result.errors.contains("was begun with"), "\(option): \(result)")
            }
            let part = try await run(urls, "--shard", "0/2")
            #expect(part.status == 3 && part.errors.contains("another --shard"), "\(part)")
            #expect(try await fixture.shards().mapValues { $0.rows as NSArray } == before)
            #expect(server.requests.count == 7)
            // The way to add to the last shard: it is removed, and made again.
            try FileManager.default.removeItem(at: kf.home.path("data/00002.tar"))
            #expect(try await run(urls + [server.url("/x")]).status == 0)
            #expect(try await fixture.shards()["00002"]?.rows.count == 2)
        }

        @Test("Invalid shard options are refused")
        func usage() async throws {
            try kf.home.write("list", "http://127.0.0.1:1/a\n")
            for wrong in [["-P", "out"], ["--dry-run"], ["--shard-size", "0"], ["--shard-size", "1000001"]] {
                let result = try await kf.run(["prefetch", "list", "--shards", "data"] + wrong)
                #expect(result.status == 2, "\(result)")
            }
            #expect(try await kf.run("prefetch", "list", "--shard-size", "3").status == 2)
            let missing = try await kf.run("prefetch", "list", "--shards", "q/w")
            #expect(missing.status == 3 && missing.errorLines.count == 1, "\(missing)")
            // A manifest that this version does not know stays.
            let text = "kf-shards 2\nsize 3\nshards\n0 1 2 3\n"
            try kf.home.write("data/.kf-shards", text)
            #expect(try await kf.run("prefetch", "list", "--shards", "data", "--retry", "0").status == 3)
            #expect(try kf.text("data/.kf-shards") == text)
        }

        @Test(
            "An unknown archive ends the run before any request",
            arguments: [
                "00000.tar", "00000.jsonl", "00002.tar", "00099.tar", ".00000.tar", ".00001.jsonl", "00000_stats.json",
            ])
        func strangers(_ name: String) async throws {
            let server = try fixture.server()
            let list = fixture.list((0..<5).map { server.url("/\($0)") })
            try kf.home.write("new/\(name)", "theirs")
            let made = try await kf.run("prefetch", "-", "--shards", "begun", "--shard-size", "1", input: list)
            #expect(made.status == 0, "\(made)")
            // Of the data set that kf has begun, the file of a shard that it has not recorded.
            let other = name.hasPrefix(".") ? "00007.tar" : name.replacing(/[0-2]/) { _ in "7" }
            try kf.home.write("begun/\(other)", "theirs")
            let before = server.requests.count
            for (directory, name) in [("new", name), ("begun", other)] {
                let names = fixture.names(directory)
                let result = try await kf.run(
                    "prefetch", "-", "--shards", directory, "--shard-size", "1", "--force-refresh", input: list)
                #expect(result.status == 3 && result.errorLines.count == 1, "\(result)")
                #expect(result.errors.contains("\(directory)/\(name) is not of this data set"), "\(result)")
                #expect(try kf.text("\(directory)/\(name)") == "theirs")
                #expect(fixture.names(directory) == names)
            }
            #expect(server.requests.count == before)
            // With its name, a file of another data set beside the shards is no obstacle.
            try kf.home.write("free/more-00000.tar", "theirs")
            try kf.home.write("free/00000.txt", "theirs")
            #expect(try await kf.run("prefetch", "-", "--shards", "free", input: list).status == 0)
        }

        @Test("An archive that appears during the run is not replaced")
        func strangerMeanwhile() async throws {
            let server = try fixture.server()
            let run = try kf.converse(["prefetch", "-", "--shards", "data"])
            #expect(run.writeLine(server.url("/a")))
            #expect(await eventually { fixture.names().contains(".00000.tar") })
            try kf.home.write("data/00000.tar", "theirs")
            run.endInput()
            let result = try await run.wait()
            #expect(result.status == 3 && result.errors.contains("data/00000.tar is not of this data set"), "\(result)")
            #expect(fixture.names() == [".kf-shards", "00000.tar"])
            #expect(try kf.text("data/00000.tar") == "theirs")
        }

        @Test(
            "A missing image holds back its shard until it is there",
            arguments: [["--offline"], ["--remote", "http://127.0.0.1:1/x", "--remote-required"]])
        func lacking(_ options: [String]) async throws {
            let server = try fixture.server()
            let list = fixture.list((0..<5).map { server.url("/\($0)") })
            let command = ["prefetch", "-", "--shards", "data", "--shard-size", "2", "--retry", "0"]
            let first = try await kf.run(command + options, input: list)
            #expect(first.status == 3, "\(first)")
            #expect(options.count > 1 || first.errors.contains("a repeated run makes it"), "\(first)")
            #expect(fixture.names() == [".kf-shards"])
            #expect(try await kf.run(command, input: list).status == 0)
            #expect(try await fixture.shards().values.reduce(0) { $0 + $1.samples.count } == 5)
        }

        @Test("A link in place of a shard is never followed")
        func links() async throws {
            let server = try fixture.server()
            // A run that was killed at its beginning has left the manifest.
            try kf.home.write("data/.kf-shards", "")
            try kf.home.write("victim", "precious")
            for name in [".00000.tar", ".00000.jsonl", ".00000_stats.json"] {
                symlink(kf.home.path("victim").path, kf.home.path("data/\(name)").path)
            }
            symlink("data", kf.home.path("link").path)
            let result = try await kf.run("prefetch", "-", "--shards", "link", input: fixture.list([server.url("/a")]))
            #expect(result.status == 0, "\(result)")
            #expect(try await fixture.shards("link")["00000"]?.rows.count == 1)
            for name in ["00000.tar", "00000.jsonl", "00000_stats.json", ".kf-shards"] {
                try FileManager.default.createDirectory(at: kf.home.path("other"), withIntermediateDirectories: true)
                symlink(kf.home.path("victim").path, kf.home.path("other/\(name)").path)
                let result = try await kf.run(
                    "prefetch", "-", "--shards", "other", input: fixture.list([server.url("/a")]))
                #expect(result.status == 3, "\(result)")
                try FileManager.default.removeItem(at: kf.home.path("other"))
            }
            #expect(try kf.text("victim") == "precious")
            try FileManager.default.createDirectory(at: kf.home.path("pipe"), withIntermediateDirectories: true)
            mkfifo(kf.home.path("pipe/.kf-shards").path, 0o600)
            let pipe = try await kf.run("prefetch", "-", "--shards", "pipe", input: fixture.list([server.url("/a")]))
            #expect(pipe.status == 3 && pipe.errors.contains("not a regular file"), "\(pipe)")
        }

        @Test("The parts of a list share a directory")
        func parts() async throws {
            let server = try fixture.server()
            let urls = (0..<40).map { server.url("/\($0)") }
            try fixture.write(urls)
            let options = ["--shards", "data", "--shard-size", "4", "--shard"]
            for part in 0..<3 {
                #expect(try await kf.run(["prefetch", "list"] + options + ["\(part)/3"]).status == 0)
            }
            let shards = try await fixture.shards()
            #expect(shards.keys.allSatisfy { $0.wholeMatch(of: /[0-2]-of-3-0000[0-9]/) != nil }, "\(shards.keys)")
            let keys = shards.values.flatMap(\.keys)
            #expect(keys.count == 40 && Set(keys).count == 40)
            let sources = shards.values.flatMap { $0.values("source").compactMap(\.self) }
            #expect(sources.sorted() == urls.sorted())
            let other = try await kf.run(["prefetch", "list"] + options + ["0/2"])
            #expect(other.status == 3 && server.requests.count == 40, "\(other)")
            // Also of a part that has not begun, the partition must be that of the others.
            try FileManager.default.removeItem(at: kf.home.path("data/.kf-shards-2-of-3"))
            for more in [["2/3,host"], ["2/3", "--shard-size", "5"]] {
                let mixed = try await kf.run(["prefetch", "list"] + options + more)
                #expect(mixed.status == 3 && mixed.errors.contains("was begun with"), "\(mixed)")
            }
            // A run that waits for its list holds the lock.
            let waiting = try kf.converse(["prefetch", "-", "--shards", "held"])
            #expect(waiting.writeLine(urls[0]))
            #expect(await eventually { fixture.names("held").contains(".kf-shards") })
            let second = try await kf.run("prefetch", "list", "--shards", "held")
            #expect(second.status == 3 && second.errors.contains("another process"), "\(second)")
            waiting.endInput()
            #expect(try await waiting.wait().status == 0)
        }
    }
}
