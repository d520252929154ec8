import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Prefetch lists")
    final class ListCommandTests: UnretriedSuite {
        private func gzip(_ name: String) async throws {
            let result = try await Tool.run("gzip", "-f", kf.home.path(name).path)
            #expect(result.status == 0, "\(result)")
        }

        @Test("Option --base-url completes the relative URLs of a list")
        func baseURL() async throws {
            try kf.home.write("list", "png/grey.png\n../png/rgb.png?x\n\(server.url("jpeg/grey.jpg"))\n/png/grey.png\n")
            let result = try await kf.run("prefetch", "list", "--base-url", server.url("png/index.html"))
            #expect(result.status == 1, "\(result)")
            let paths = try await server.requests().map(\.path)
            #expect(Set(paths) == ["/png/png/grey.png", "/png/rgb.png?x", "/jpeg/grey.jpg", "/png/grey.png"])
            let secret = try await kf.run("prefetch", "list", "--base-url", "http://a:b@127.0.0.1/")
            #expect(secret.status == 2 && secret.errors.contains("without a password"), "\(secret)")
            let without = try await kf.run("prefetch", "list")
            #expect(without.errors.contains("--base-url completes relative URLs"), "\(without)")
            let kept = ["cache", "clean", "--keep-list", "list", "--base-url", server.url("png/index.html")]
            #expect(try await kf.run(kept + ["--dry-run", "-v"]).output.contains("grey.png") == false)
        }

        @Test(
            "Tables of other programs are named, with what makes a list of them",
            arguments: [
                ("a.parquet", "PAR1\u{15}\u{4}", "it is a Parquet file; duckdb -c"),
                ("a.xlsx", "PK\u{3}\u{4}\n[Content_Types].xml", "a workbook of Excel; duckdb -c \"INSTALL excel"),
                ("a.zip", "PK\u{3}\u{4}\n", "it is a zip file"),
            ])
        func foreign(name: String, content: String, message: String) async throws {
            try kf.home.write("\(name)", content)
            let result = try await kf.run("prefetch", name)
            #expect(result.status == 2 && result.errors.contains(message), "\(result)")
        }

        @Test("Option --print chooses the paths on standard output")
        func printed() async throws {
            try kf.home.write("list", "\(server.url("png/grey.png"))\n\(server.url("png/rgb.png"))\n")
            #expect(try await kf.run("prefetch", "list", "-P", "out", "--print", "written").outputLines.count == 2)
            try FileManager.default.removeItem(at: kf.home.path("out/rgb.png"))
            for (choice, paths) in [
                ("written", ["out/rgb.png"]), ("none", []), ("all", ["out/grey.png", "out/rgb.png"]),
            ] {
                let result = try await kf.run("prefetch", "list", "-P", "out", "--print", choice)
                #expect(result.outputLines.sorted() == paths && result.errors.contains(" unchanged, in "), "\(result)")
            }
        }

        @Test("Option --skip-invalid passes over lines of a keep-list that are no URLs")
        func skipInvalid() async throws {
            #expect(try await kf.run("fetch", server.url("png/grey.png"), server.url("png/rgb.png")).status == 0)
            try kf.home.write("list.csv", "url\nhttp://no host/\n\(server.url("png/grey.png"))\n")
            let clean = ["cache", "clean", "--keep-list", "list.csv"]
            let refused = try await kf.run(clean)
            #expect(refused.status == 2 && refused.errors.contains("line 2: http://no host/: "), "\(refused)")
            let skipped = try await kf.run(clean + ["--skip-invalid", "-v"])
            #expect(skipped.status == 0 && skipped.errors.contains("line 2: skipped: http://no host/"), "\(skipped)")
            #expect(kf.cachedObjects().count == 1)
            let empty = try await kf.run("cache", "clean", "--all", "--yes", "--skip-invalid")
            #expect(empty.status == 2 && empty.errors.contains("--skip-invalid needs --keep-list"), "\(empty)")
        }

        @Test("List formats follow file names, also when compressed")
        func formats() async throws {
            let url = server.url("png/grey.png")
            try kf.home.write("a.csv", "id,url\n1,\"\(url)?csv,1\"\n")
            try kf.home.write("b.tsv", "url\tid\n\(url)?tsv\t1\n")
            try kf.home.write("c.jsonl", "{\"url\":\"\(url)?jsonl\"}\n")
            try kf.home.write("d.txt", "\(url)?lines,2\n")
            try await gzip("a.csv")
            try await gzip("d.txt")
            let result = try await kf.run("prefetch", "--json", "a.csv.gz", "b.tsv", "c.jsonl", "d.txt.gz")
            #expect(result.status == 0, "\(result)")
            #expect(
                try await server.requests().map(\.path).sorted()
                    == ["/png/grey.png?csv,1", "/png/grey.png?jsonl", "/png/grey.png?lines,2", "/png/grey.png?tsv"])
            let places = try result.objects().compactMap { object in
                (object["list"] as? String).map { "\($0):\(object["line"] ?? 0)" }
            }
            #expect(places.sorted() == ["a.csv.gz:2", "b.tsv:2", "c.jsonl:1", "d.txt.gz:1"])
        }

        @Test("The option --input-format sets the format of standard input")
        func standardInput() async throws {
            let url = server.url("png/grey.png")
            let csv = Data("picture,x\n\(url),1\n".utf8)
            let result = try await kf.run(
                "prefetch", "-", "--input-format", "csv", "--url-column", "picture", input: csv)
            #expect(result.status == 0, "\(result)")
            let plain = try await kf.run("prefetch", "-", input: csv)
            #expect(plain.status == 1 && plain.errors.contains("2 failed"), "\(plain)")
        }

        @Test("Each bad record is reported with its line")
        func mistakes() async throws {
            let good = server.url("png/grey.png")
            let lines = [
                "url,processor,key", "\(good),,", "not a url,,", "\(server.url("none.png")),,", "\(good),bogus:1,",
                "\"\(good)\"x,,", "http://h/\u{1}a,,", ",,", "\(good)?2,,", "\"\(server.url("none2.png"))\",,",
            ]
            try kf.home.write("list.csv", lines.joined(separator: "\r\n") + "\r\n")
            let columns = ["--process-column", "processor", "--key-column", "key"]
            let result = try await kf.run(["prefetch", "list.csv", "--failures", "failed.csv"] + columns)
            #expect(result.status == 1, "\(result)")
            for line in [3, 4, 5, 6, 7, 8, 10] {
                #expect(result.errorLines.contains { $0.hasPrefix("kf: line \(line): ") }, "no \(line): \(result)")
            }
            #expect(result.errors.contains("2 fetched") && result.errors.contains("7 failed"), "\(result)")
            let failed = try kf.text("failed.csv")
            #expect(failed.hasPrefix("url,processor,key\r\n") && failed.hasSuffix("\r\n"))
            let expected = [2, 3, 4, 5, 6, 7, 9].map { lines[$0] + "\r\n" }
            for record in expected { #expect(failed.contains(record), "\(failed)") }
            #expect(failed.utf8.count == expected.reduce(lines[0].utf8.count + 2) { $0 + $1.utf8.count })

            let again = try await kf.run(["prefetch", "failed.csv", "--failures", "again.csv"] + columns)
            #expect(again.status == 1 && again.errors.contains("7 failed"), "\(again)")
            let sorted = { (text: String) in text.split(separator: "\r\n").sorted() }
            #expect(sorted(try kf.text("again.csv")) == sorted(failed))
        }

        @Test("The failures file is emptied and never a list")
        func failuresFile() async throws {
            try kf.home.write("list.txt", server.url("png/grey.png"))
            try kf.home.write("failed.txt", "old")
            let result = try await kf.run("prefetch", "list.txt", "--failures", "failed.txt")
            #expect(try result.status == 0 && kf.contents("failed.txt").isEmpty, "\(result)")
            let same = try await kf.run("prefetch", "list.txt", "--failures", "./list.txt")
            #expect(same.status == 2 && same.errors.contains("overwrite"), "\(same)")
            #expect(try kf.text("list.txt") == server.url("png/grey.png"))
        }

        @Test("A truncated gzip list is fetched up to its last line")
        func tornGzip() async throws {
            let list = (0..<300).map { server.url("png/one-pixel.png?\($0 * 7919)") + "\n" }.joined()
            try kf.home.write("list.txt", list)
            try await gzip("list.txt")
            let packed = try kf.contents("list.txt.gz")
            try kf.home.write("torn.txt.gz", packed.prefix(packed.count * 2 / 3))
            let result = try await kf.run("prefetch", "torn.txt.gz")
            #expect(result.status == 2, "\(result)")
            #expect(result.errorLines.last?.hasSuffix("; 1 list was not read to the end") == true, "\(result)")
            let taken = try await server.requests().count
            #expect(taken > 50 && taken < 300)
            #expect(
                result.errors.contains("torn.txt.gz: the gzip data is truncated, in line \(taken + 1)"), "\(result)")
        }

        @Test("Zeros behind a gzip list are padding")
        func paddedGzip() async throws {
            try kf.home.write("list.txt", server.url("png/grey.png") + "\n")
            try await gzip("list.txt")
            let packed = try kf.contents("list.txt.gz")
            // The zeros reach over the ends of what is read at once.
            for zeros in [1, 512, 200_000] {
                try kf.home.write("padded.gz", packed + Data(count: zeros))
                #expect(try await kf.run("prefetch", "padded.gz").status == 0, "\(zeros)")
                try kf.home.write("two.gz", packed + Data(count: zeros) + packed)
                let two = try await kf.run("prefetch", "two.gz")
                #expect(two.status == 0 && two.errors.contains("2 cached"), "\(zeros): \(two)")
            }
            try kf.home.write("other.gz", packed + Data(count: 512) + Data("x".utf8))
            #expect(try await kf.run("prefetch", "other.gz").status == 2)
        }

        @Test("An endless line ends only its own list")
        func endlessLine() async throws {
            let huge = try kf.home.write("huge.txt", "")
            #expect(truncate(huge.path, 1 << 43) == 0)
            try kf.home.write("list.txt", server.url("png/grey.png"))
            let result = try await kf.run("prefetch", "huge.txt", "/dev/zero", "list.txt")
            #expect(result.status == 2 && result.errors.contains("1 fetched"), "\(result)")
            for name in ["huge.txt", "/dev/zero"] {
                #expect(result.errors.contains("\(name): a line of more than 64 MiB, in line 1"), "\(result)")
            }
        }

        @Test("Local files need --allow-local")
        func local() async throws {
            let path = try FixturesDirectory.named("png/grey.png").url.path
            let refused = try await kf.run("prefetch", "-", input: Data(path.utf8))
            #expect(refused.status == 1 && kf.cachedObjects().isEmpty, "\(refused)")
            let taken = try await kf.run(
                "prefetch", "-", "--allow-local", input: Data("\(path)\nfile://\(path)\n".utf8))
            #expect(taken.status == 0 && kf.cachedObjects().count == 1, "\(taken)")
        }

        @Test("The parts of a list request each image once")
        func shards() async throws {
            try kf.home.write("list.txt", (0..<60).map { server.url("png/one-pixel.png?\($0)") + "\n" }.joined())
            var counts: [Int] = []
            for index in 0..<3 {
                let result = try await kf.run("prefetch", "list.txt", "--shard", "\(index)/3", "--json")
                counts.append(try result.items().filter { $0.status == "fetched" }.count)
            }
            #expect(counts.reduce(0, +) == 60 && counts.allSatisfy { $0 > 5 })
            #expect(try await server.requests().count == 60)
        }

        @Test("Splitting by host gives each host to one worker")
        func shardsByHost() async throws {
            let png = try FixturesDirectory.bytes("png/one-pixel.png")
            let server = try FaultServer(address: "0.0.0.0") { _ in [.reply(body: png)] }
            let hosts = (1...12).map { "127.0.0.\($0)" }
            let lines = (0..<5).flatMap { number in hosts.map { "http://\($0):\(server.port)/\(number).png\n" } }
            try kf.home.write("hosts.txt", lines.joined())
            for index in 0..<2 {
                let result = try await kf.run(
                    "prefetch", "hosts.txt", "--shard", "\(index)/2,host", "--user-agent", "worker-\(index)")
                #expect(result.status == 0, "\(result)")
            }
            #expect(server.requests.count == 60)
            let workers = Dictionary(grouping: server.requests) { $0.header("Host") ?? "" }
                .mapValues { Set($0.compactMap { $0.header("User-Agent") }) }
            #expect(workers.count == 12 && workers.values.allSatisfy { $0.count == 1 }, "\(workers)")
            #expect(Set(workers.values).count == 2, "both have hosts")
        }

        @Test(
            "A meaningless option is refused",
            arguments: [
                ["--shard-by", "host"], ["--shard", "0/2,size"], ["--shard", "3/3"], ["--shard", "1"],
                ["--shard", "-1/2"], ["--input-format", "xml"],
                ["--max-failures", "-1"], ["--max-failures", "101%"], ["--rate", "0/s"], ["--rate", "5/y"],
                ["--max-per-host", "0"], ["--deadline", "soon"], ["--url-column", "0"], ["--name", "{stem}{what}"],
                ["--progress", "often"], ["--failures", "-"], ["--name", "../{stem}"],
            ])
        func usage(options: [String]) async throws {
            let result = try await kf.run(["prefetch", "-"] + options, input: Data())
            #expect(result.status == 2 && result.errors.contains(options[0]), "\(result)")
        }
    }
}
