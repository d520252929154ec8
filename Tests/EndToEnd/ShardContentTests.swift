import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("The content of shards")
    struct ShardContentTests {
        let fixture: DataSet
        private var kf: KFCommand { fixture.kf }

        init() throws { fixture = try DataSet() }

        private func bytes(_ name: String) throws -> Data { try Data(contentsOf: kf.home.path(name)) }

        @Test("Captions and facts about the originals stand beside each image")
        func members() async throws {
            let server = try FaultServer { request in [.reply(body: try! Picture(request.path).bytes)] }
            try kf.home.write(
                "list.jsonl",
                [#","text":"a \"cat\", é""#, #","text":null"#, ""].enumerated().map {
                    "{\"url\":\"\(server.url("/6\($0)x40"))\"\($1)}\n"
                }.joined())
            let command = ["prefetch", "list.jsonl", "--caption-column", "text", "-p", "resize:30x", "--shards"]
            // The second run makes its images of cached originals, and the third finds them.
            for (directory, store) in [("a", "original"), ("b", "both"), ("c", "both")] {
                let result = try await kf.run(command + [directory, "--store", "both"])
                #expect(result.status == 0, "\(store): \(result)")
                let samples = try #require(try await fixture.shards(directory)["00000"]?.samples)
                #expect(samples.count == 3 && samples.allSatisfy { Set($0.keys) == ["key", "png", "json", "txt"] })
                for sample in samples {
                    let index = try #require((sample["key"] as? String)?.last?.wholeNumberValue)
                    let json = try #require(sample["json"] as? [String: Any])
                    #expect(json["original_width"] as? Int == 60 + index && json["original_height"] as? Int == 40)
                    let whole = try await Tool.run("sha256sum", input: Data(try Picture("/6\(index)x40").bytes))
                    #expect(json["original_sha256"] as? String == String(whole.output.prefix(64)))
                    #expect(json["width"] as? Int == 30 && json["sha256"] as? String == sample["png"] as? String)
                    let text = try await Tool.run(
                        "tar", "xOf", kf.home.path("\(directory)/00000.tar").path, "00000000\(index).txt")
                    #expect(text.output == (index == 0 ? "a \"cat\", é" : ""), "\(text)")
                }
            }
            let lines = try await kf.run(
                "prefetch", "-", "--shards", "d", "--caption-column", "text", input: Data("x\n".utf8))
            #expect(lines.status == 2 && lines.errors.contains("no column 'text'"), "\(lines)")
            for (words, problem) in [
                (["list.jsonl", "--shards", "a"], "was begun with 'captions text'"),
                (["list.jsonl", "--caption-column", "text"], "--caption-column needs --shards"),
            ] {
                let refused = try await kf.run(["prefetch"] + words)
                #expect(refused.status > 1 && refused.errors.contains(problem), "\(refused)")
            }
        }

        @Test("Ordered archives of one list have equal bytes")
        func ordered() async throws {
            let server = try FaultServer { [fixture] request in
                if request.path.hasSuffix("7") { return [.reply("404 Not Found")] }
                let wait = [0, 9, 3, 14, 1][request.path.utf8.reduce(0) { $0 &+ Int($1) } % 5]
                return [.pause(.milliseconds(wait)), .reply(body: fixture.picture(request.path))]
            }
            try fixture.write((0..<60).map { server.url("/\($0)") })
            let command = ["prefetch", "list", "--shard-size", "25", "--retry", "0", "-q", "--ordered", "--shards"]
            for (directory, cache, jobs) in [("a", "one", "32"), ("b", "two", "3"), ("c", "one", "8")] {
                let run = command + [directory, "--cache-dir", kf.home.path(cache).path, "-j", jobs]
                #expect(try await kf.run(run).status == 1)
                for shard in 0..<3 {
                    #expect(try bytes("\(directory)/0000\(shard).tar") == bytes("a/0000\(shard).tar"), "\(directory)")
                }
                let keys = try await fixture.shards(directory).values.map(\.keys)
                #expect(keys.allSatisfy { $0 == $0.sorted() } && keys.joined().count == 54)
            }
            // Also with few descriptors, of which each image that waits holds one.
            let few = try await kf.run(command + ["d", "-j", "64", "--force-refresh"], under: "prlimit", "--nofile=80")
            #expect(try few.status == 1 && bytes("d/00000.tar") == bytes("a/00000.tar"), "\(few)")
        }

        @Test(
            "The package webdataset reads the samples that tarfile finds",
            .enabled("no webdataset here; KF_PYTHON names a Python that has it") {
                await DataSet.hasPackage("webdataset")
            })
        func reader() async throws {
            let server = try fixture.server()
            try kf.home.write(
                "list.csv", "url,text\n" + (0..<5).map { "\(server.url("/\($0)")),caption \($0)\n" }.joined())
            for (directory, options) in [
                ("a", ["--ordered"]), ("b", ["--variant", "x=resize:8x", "--variant", "y=blur:2"]),
            ] {
                let run = [
                    "prefetch", "list.csv", "--caption-column", "text", "--shard-size", "3", "--shards", directory,
                ]
                #expect(try await kf.run(run + options).status == 0)
                // The script compares both.
                let samples = try await fixture.shards(directory).values.flatMap(\.samples)
                #expect(samples.count == 5 && samples.allSatisfy { $0["txt"] != nil })
            }
        }

        /// What the reference says of the row with a number.
        private enum Kind: Int, CaseIterable {
            case good, missing, broken, page, small, flat, robots, redirect, copy, big

            var status: String {
                switch self {
                case .good, .copy, .big: "success"
                case .missing, .broken, .page: "failed"
                case .small, .flat: "filtered"
                case .robots, .redirect: "opted_out"
                }
            }

            var reason: String {
                switch self {
                case .missing: "HTTP 404"
                case .broken: "damagedImage"
                case .page: "notAnImage"
                default: status
                }
            }
        }

        @Test("The counts of 2,000 rows are those of a reference", arguments: [false, true])
        func reference(_ isOrdered: Bool) async throws {
            let server = try FaultServer { request in
                let number = Int(request.path.split(separator: "/").last ?? "") ?? 0
                switch Kind(rawValue: number % 10) {
                case .missing: return [.reply("404 Not Found", headers: ["X-Robots-Tag: noindex"])]
                case .broken: return [.reply(body: Array(try! Picture("/40x40,\(number)").bytes.dropLast(900)))]
                case .page: return [.reply(body: Array("<html>\(number)</html>".utf8))]
                case .small: return [.reply(body: try! Picture("/31x40,\(number)").bytes)]
                case .flat: return [.reply(body: try! Picture("/200x40,\(number)").bytes)]
                case .robots:
                    return [.reply(headers: ["X-Robots-Tag: nofollow", "x-robots-tag: NoAI"], body: [1])]
                case .redirect:
                    return [.reply("302 Found", headers: ["Location: /0", "TDM-Reservation: 1"], body: [])]
                case .big: return [.reply(body: try! Picture("/40x40,\(60_000 + number)").bytes)]
                case .good, .copy, nil: return [.reply(body: try! Picture("/40x40,\(number)").bytes)]
                }
            }
            let kinds = (0..<2000).map { Kind.allCases[$0 % 10] }
            let urls = kinds.enumerated().map { number, kind in
                // Each copy is of the first row, of its block, or of one that is read at the same time.
                server.url("/\(kind == .copy ? [0, number - 8, number - 18][number / 10 % 3] / 10 * 10 : number)")
            }
            try kf.home.write("list.csv", "url,n\n" + urls.enumerated().map { "\($1),\($0)\n" }.joined())
            let command =
                [
                    "prefetch", "list.csv", "--shards", "data", "--shard-size", "300", "--min-size", "32x",
                    "--max-aspect", "3",
                    "--respect-opt-out", "--results", "rows.jsonl", "--failures", "failed.csv", "--retry", "0",
                    "--json",
                ] + (isOrdered ? ["--ordered"] : [])
            let result = try await kf.run(command, timeout: .seconds(300))
            let summary = try #require(try result.objects().last)
            func count(_ status: String) -> Int { kinds.count { $0.status == status } }
            #expect(summary["fetched"] as? Int ?? 0 + (summary["cached"] as? Int ?? 0) <= count("success"))
            let had = try ["fetched", "cached"].map { try #require(summary[$0] as? Int) }.reduce(0, +)
            #expect(had == count("success") && summary["failed"] as? Int == count("failed"), "\(summary)")
            #expect(summary["filtered"] as? Int == count("filtered"))
            #expect(summary["opted_out"] as? Int == count("opted_out") && result.status == 1)
            let failures = try kf.text("failed.csv").split(separator: "\n").dropFirst()
            #expect(
                Set(failures.map(String.init))
                    == Set(kinds.indices.filter { kinds[$0].status == "failed" }.map { "\(urls[$0]),\($0)" }))
            let shards = try await fixture.shards()
            #expect(shards.count == 7)
            for (name, shard) in shards {
                let first = try #require(Int(name)) * 300
                let mine = kinds[first..<min(first + 300, 2000)]
                let words = mine.map { $0.status == "success" ? ["fetched", "cached"] : [$0.status] }
                #expect(
                    zip(shard.values("status"), words).allSatisfy { $1.contains($0 ?? "") }
                        && shard.rows.count == mine.count)
                #expect(shard.samples.count == mine.count { $0.status == "success" })
                let statistics = try fixture.statistics(name)
                #expect(statistics["count"] as? Int == mine.count)
                #expect(statistics["successes"] as? Int == shard.samples.count)
                #expect(statistics["failed_to_download"] as? Int == mine.count { $0.status == "failed" })
                #expect(statistics["filtered"] as? Int == mine.count { $0.status == "filtered" })
                #expect(statistics["opted_out"] as? Int == mine.count { $0.status == "opted_out" })
                let reasons = Dictionary(grouping: mine, by: \.reason).mapValues(\.count)
                #expect(statistics["status_dict"] as? [String: Int] == reasons)
            }
            // No request is made twice but for those that failed for another reason than their status.
            let before = server.requests.count
            try fixture.remove("data")
            let again = try await kf.run(command, timeout: .seconds(300))
            #expect(try again.objects().last?["filtered"] as? Int == count("filtered"))
            #expect(server.requests.count - before == kinds.count { $0 == .broken || $0 == .page })
            let rows = try kf.text("rows.jsonl").split(separator: "\n")
            #expect(rows.count == 2000)
        }

        /// The rows of a results file, in the order of the list.
        private func rows(_ name: String) throws -> [[String: Any]] {
            try kf.text(name).split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }

        @Test("The results of a killed and repeated run are those of a whole one")
        func resumed() async throws {
            let server = try FaultServer { [fixture] request in
                if request.path.contains("missing") { return [.reply("404 Not Found")] }
                if request.path.contains("robots") { return [.reply(headers: ["X-Robots-Tag: noai"])] }
                let size = request.path.contains("small") ? [] : Array("-large enough for the filter".utf8)
                return [.pause(.milliseconds(2)), .reply(body: fixture.picture(request.path) + size)]
            }
            let names = (0..<200).map { ["a", "missing", "robots", "b", "small"][$0 % 5] + "\($0)" }
            let least = fixture.picture("/small123").count + 1
            try kf.home.write(
                "list.csv", "url,n\n" + names.enumerated().map { "\(server.url("/\($1)")),\($0)\n" }.joined())
            func command(_ name: String) -> [String] {
                [
                    "prefetch", "list.csv", "--shards", name, "--shard-size", "20", "--results", "\(name).jsonl",
                    "--ordered",
                    "--cache-dir", kf.home.path("cache-\(name)").path, "-j", "4", "--retry", "0", "-q", "--min-bytes",
                    "\(least)", "--respect-opt-out", "--failures", "\(name).failed",
                ]
            }
            #expect(try await kf.run(command("whole")).status == 1)
            let run = try kf.start(command("killed"))
            #expect(
                await eventually {
                    fixture.names("killed").filter { $0.hasSuffix(".tar") && !$0.hasPrefix(".") }.count > 2
                })
            run.signal(SIGKILL, group: true)
            _ = try await run.wait()
            let kept = Set(fixture.names("killed").filter { $0.hasSuffix(".tar") }.map { String($0.dropLast(4)) })
            try #require(kept.count > 2)
            #expect(try await kf.run(command("killed")).status == 1)
            let (whole, resumed) = (try rows("whole.jsonl"), try rows("killed.jsonl"))
            try #require(whole.count == 200 && resumed.count == 200)
            for (expected, row) in zip(whole, resumed) {
                let isKept = kept.contains(row["shard"] as? String ?? "")
                // An image of a shard that was not whole comes from the cache, and so does a failure.
                let changes: Set =
                    isKept
                    ? ["path", "timings"]
                    : [
                        "path", "timings", "status", "fetch_reason", "http_status", "attempts", "final_url", "check",
                        "error",
                    ]
                #expect(Set(row.keys) == Set(expected.keys))
                for (name, value) in expected where !changes.contains(name) {
                    #expect(row[name] as? NSObject == value as? NSObject, "\(name): \(row)")
                }
                let (old, new) = (expected["status"] as? String, row["status"] as? String)
                #expect(old == new || !isKept && old == "fetched" && new == "cached", "\(row)")
                let codes = [expected, row].map { ($0["error"] as? [String: Any])?["code"] as? Int }
                #expect(codes[0] == codes[1])
            }
            #expect(try kf.text("whole.failed") == kf.text("killed.failed"))
            for shard in 0..<10 {
                #expect(try bytes("whole/0000\(shard).tar") == bytes("killed/0000\(shard).tar"))
            }
            // A csv has the same rows.
            var csv = command("killed")
            csv[csv.firstIndex(of: "killed.jsonl") ?? 0] = "killed.csv"
            #expect(try await kf.run(csv).status == 1)
            let lines = try kf.text("killed.csv").split(separator: "\n").map {
                $0.split(separator: ",", omittingEmptySubsequences: false)
            }
            let place = try #require(lines[0].firstIndex(of: "sha256"))
            #expect(lines.dropFirst().map { String($0[place]) } == whole.map { $0["sha256"] as? String ?? "" })
        }
    }
}
