import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Result files")
    final class ResultsTests: UnretriedSuite {
        /// Reads csv as Python does.
        private func csv(_ name: String) async throws -> [[String: String]] {
            let script = "import csv,json,sys; print(json.dumps(list(csv.DictReader(open(sys.argv[1],newline='')))))"
            let result = try await Tool.run("python3", "-c", script, kf.home.path(name).path)
            #expect(result.status == 0, "\(result)")
            return try JSONDecoder().decode([[String: String]].self, from: result.standardOutput)
        }

        @Test("Each record has a row with its columns and no secrets")
        func rows() async throws {
            let (good, bad) = (server.url("png/grey.png"), server.url("none.png"))
            let withUser = good.replacingOccurrences(of: "http://", with: "http://user:pass-phrase@")
            try kf.home.write(
                "list.csv",
                "id,url,caption,auth,status\n7,\(good),\"a \"\"b\"\", c\nd\",X-Secret: open-sesame,new\n8,\(bad),,,\n9,,x,,\n"
                    + "10,\(withUser),é,,\n")
            let result = try await kf.run(
                "prefetch", "list.csv", "--headers-column", "auth", "--results", "out.csv", "--ordered", "--json")
            #expect(result.status == 1, "\(result)")
            let rows = try await csv("out.csv")
            #expect(rows.map { $0["id"] } == ["7", "8", "9", "10"])
            #expect(rows.map { $0["status"] } == ["fetched", "failed", "failed", "fetched"])
            #expect(rows.map { $0["columns.status"] } == ["new", "", "", ""])
            #expect(rows.map { $0["caption"] } == ["a \"b\", c\nd", "", "x", "é"])
            #expect(rows.map { $0["http_status"] } == ["200", "404", "", "200"])
            #expect(rows.map { $0["line"] } == ["2", "4", "5", "6"])
            #expect(rows.map { $0["url"] } == [good, bad, "", good])
            #expect(rows.map { $0["final_url"] } == [good, "", "", good])
            #expect(rows[0]["sha256"]?.count == 64 && rows[0]["attempts"] == "1" && rows[0]["width"] == "200")
            #expect(rows[1]["error_code"] == "2002" && rows[1]["error"] == "response 404 Not Found")
            for text in [try kf.text("out.csv"), result.output, result.errors] {
                #expect(!text.contains("sesame") && !text.contains("phrase"))
            }
            let objects = try result.objects().dropLast()
            #expect(objects.map { ($0["columns"] as? [String: String])?["id"] } == ["7", "8", "9", "10"])
            #expect((objects.first?["columns"] as? [String: String])?["auth"] == nil)
        }

        @Test("Members of any type appear unchanged in the results")
        func members() async throws {
            let url = server.url("png/grey.png")
            let line = #"{"url":"\#(url)","n":1.50,"tags":["a",null,{"b":true}],"big":12345678901234567890}"#
            try kf.home.write("list.jsonl", line + "\n")
            for name in ["out.jsonl", "out.csv"] {
                let result = try await kf.run("prefetch", "list.jsonl", "--results", name)
                #expect(result.status == 0, "\(result)")
            }
            #expect(try kf.text("out.jsonl").contains("\"columns\":\(line)}\n"))
            #expect(try await csv("out.csv")[0]["columns"] == line)
        }

        @Test("Ordered results follow the list")
        func ordered() async throws {
            let slow = try FaultServer { request in
                (request.path == "/1" ? [.pause(.milliseconds(700))] : []) + [.reply("404 Not Found")]
            }
            let list = (1...300).map { slow.url("/\($0)") + "\n" }.joined()
            try kf.home.write("list.txt", list)
            let options = ["prefetch", "list.txt", "--json", "--results", "out.jsonl", "--failures", "failed.txt"]
            let result = try await kf.run(options + ["--ordered"])
            #expect(result.status == 1, "\(result)")
            let lines = try result.objects().compactMap { $0["line"] as? Int }
            #expect(lines == Array(1...300))
            #expect(try kf.text("failed.txt") == list)
            #expect(
                try kf.text("out.jsonl")
                    == result.output.split(separator: "\n").dropLast().map { $0 + "\n" }.joined())
            let unordered = try await kf.run(options + ["--retry-failed"])
            #expect(try unordered.objects().compactMap { $0["line"] as? Int } != lines)
        }

        @Test("Items not tried have rows")
        func notTried() async throws {
            let hanging = try FaultServer { _ in [.hold] }
            let list = [hanging.url("/1"), server.url("png/grey.png")] + (0..<2000).map { hanging.url("/\($0)") }
            try kf.home.write("list.csv", "url,id\n" + list.enumerated().map { "\($1),\($0)\n" }.joined())
            let result = try await kf.run(
                "prefetch", "list.csv", "--results", "out.csv", "--ordered", "--deadline", "2s", "--grace", "100ms"
            )
            #expect(result.status == 4, "\(result)")
            let rows = try await csv("out.csv")
            #expect(rows.map { $0["id"] } == list.indices.map { "\($0)" })
            #expect(rows[1]["status"] == "fetched" && rows.last?["status"] == "not_tried")
        }

        @Test("Each variant has a row")
        func variants() async throws {
            try kf.home.write("list.txt", server.url("png/grey.png") + "\n")
            let result = try await kf.run(
                "prefetch", "list.txt", "--variant", "a=resize:8x8", "--variant", "b=blur:2", "--results", "out.csv")
            #expect(result.status == 0, "\(result)")
            #expect(try await csv("out.csv").map { $0["variant"] } == ["a", "b"])
        }

        @Test(
            "An unusable results file is refused before any work",
            arguments: [
                (["--results", "out.txt"], "ends in .csv or .jsonl"),
                (["--results", "list.csv"], "would overwrite list.csv, which the run reads"),
                (["--results", "x/out.csv"], "cannot write"),
                (["--results", "old.csv", "--failures", "./old.csv"], "same file"),
                (["--results", "old.csv", "--dry-run"], "--dry-run has no --results"),
                (["--results", "old.csv", "--url-column", "nope"], "no column 'nope'"),
                (["--results", "old.csv", "--failures", "x/failed.csv"], "--failures: cannot write"),
                (["other.jsonl", "--results", "old.csv"], "lists of several formats"),
            ])
        func refused(_ options: [String], _ message: String) async throws {
            try kf.home.write("list.csv", "url\n\(server.url("png/grey.png"))\n")
            try kf.home.write("other.jsonl", "")
            try kf.home.write("old.csv", "precious")
            let result = try await kf.run(["prefetch", "list.csv"] + options)
            #expect(try kf.text("old.csv") == "precious")
            #expect(result.status == 2 && result.errors.contains(message), "\(result)")
            #expect(try kf.text("list.csv").hasPrefix("url"))
            #expect(try await server.requests().isEmpty)
        }

        @Test(
            "A full disk ends the run after whole rows",
            .enabled("no mounts here") { await MountedCache.isPossible() })
        func full() async throws {
            try kf.home.write("list.txt", (0..<50).map { server.url("none\($0).png") + "\n" }.joined())
            let result = try await kf.run("prefetch", "list.txt", "--results", "full.csv", "-q")
            #expect(result.status == 1, "\(result)")
            let lost = try await MountedCache(kf: kf).run(
                """
                cd $H; mkdir small; mount -t tmpfs -o size=4k none small
                fails 3 kf prefetch list.txt -q --results small/lost.csv 2>words
                grep -q -e '--results: small/lost.csv: No space left' words; [ -z "$(tail -c 1 small/lost.csv)" ]
                """)
            #expect(lost.status == 0, "\(lost)")
        }

        @Test("No value breaks out of its cell")
        func quotes() async throws {
            let values = ["a\"\u{301},EVIL,\"\u{301}b", "x\"\u{200d}\ny\"\u{200d}", "\"", "=1+1", "\r"]
            let url = server.url("png/grey.png")
            let rows = values.map { value -> String in
                let doubled = value.unicodeScalars.flatMap { $0 == "\"" ? [$0, $0] : [$0] }
                var cell = String.UnicodeScalarView()
                cell.append(contentsOf: doubled)
                return "\(url),\"\(String(cell))\"\n"
            }
            try kf.home.write("list.csv", "url,v\n" + rows.joined())
            let result = try await kf.run("prefetch", "list.csv", "--results", "out.csv", "--ordered")
            #expect(result.status == 0, "\(result)")
            let found = try await csv("out.csv").map { $0["v"].map { Array($0.unicodeScalars) } }
            #expect(found == values.map { Array($0.unicodeScalars) })
        }

        @Test("Lines with objects and records of many URLs have rows")
        func objects() async throws {
            let url = server.url("png/grey.png")
            try kf.home.write("list.txt", "\(url)\n{\"url\":\"\(url)\",\"id\":1}\n")
            let mixed = try await kf.run("prefetch", "list.txt", "--results", "out.csv")
            #expect(mixed.status == 0, "\(mixed)")
            #expect(try await csv("out.csv").count == 2)
            let many = (0..<3000).map { "\"\(url)?\($0)\"" }.joined(separator: ",")
            try kf.home.write("many.jsonl", "{\"id\":7,\"urls\":[\(many)]}\n")
            let result = try await kf.run(
                "prefetch", "many.jsonl", "--url-column", "urls[]", "--offline", "--results", "out.jsonl", "-q")
            #expect(result.status == 1, "\(result)")
            let text = try kf.text("out.jsonl")
            #expect(text.utf8.count < 3 << 20 && text.contains("\"columns\":{\"id\":7}}\n"))
        }

        @Test("A list without records gives a table without rows")
        func empty() async throws {
            try kf.home.write("list.csv", "url,id\n")
            let result = try await kf.run("prefetch", "list.csv", "--results", "out.csv")
            #expect(result.status == 0, "\(result)")
            #expect(try kf.text("out.csv").hasPrefix("list,line,"))
            try kf.home.write("list.jsonl", "{\"url\":\"\(server.url("png/grey.png"))\",\"hdrs\":{}}\n")
            let told = try await kf.run("prefetch", "list.jsonl", "--headers-column", "headers")
            #expect(
                told.status == 0 && told.errors.contains("no object of the lists has the member 'headers'"), "\(told)")
        }

        @Test("Lists with other columns are not mixed")
        func mixed() async throws {
            try kf.home.write("a.csv", "url,id\n\(server.url("png/grey.png")),1\n")
            try kf.home.write("b.csv", "url,name\n\(server.url("png/rgb.png")),x\n")
            let result = try await kf.run("prefetch", "a.csv", "b.csv", "a.csv", "--results", "out.csv", "--ordered")
            #expect(result.status == 2 && result.errors.contains("b.csv: its columns are not those"), "\(result)")
            #expect(try await csv("out.csv").count == 2)
            #expect(try await server.requests().count == 1)
            let both = try await kf.run("prefetch", "a.csv", "b.csv", "--results", "out.jsonl")
            #expect(both.status == 0, "\(both)")
        }
    }
}
