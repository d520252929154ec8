import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Failures in shards")
    struct ShardFailureTests {
        let fixture: DataSet
        private var kf: KFCommand { fixture.kf }
        private let command = ["prefetch", "list", "--shards", "data", "--shard-size", "2", "-q"]

        init() throws { fixture = try DataSet() }

        /// A list of 12 items of which 5 fail: 404, no image, no URL.
        private func writeFailing(_ server: FaultServer) throws -> [String] {
            let rows = (0..<12).map { index in
                let name = [1: "missing", 4: "page", 5: "missing?x", 11: "missing?y"][index] ?? "\(index)"
                return index == 8 ? "no url,c" : "\(server.url("/\(name)")),\"a, \(index)\""
            }
            try kf.home.write("list.csv", "url,caption\n\(rows.map { $0 + "\n" }.joined())")
            return [1, 4, 5, 8, 11].map { rows[$0] }
        }

        private func failingServer() throws -> FaultServer {
            try FaultServer { [fixture] request in
                if request.path.hasPrefix("/missing") { return [.reply("404 Not Found")] }
                return [.reply(body: request.path == "/page" ? Array("<html>".utf8) : fixture.picture(request.path))]
            }
        }

        private var failing: [String] {
            [
                "prefetch", "list.csv", "--shards", "data", "--shard-size", "4", "--retry", "0", "--failures",
                "failed.csv",
                "--ordered",
            ]
        }

        private func failures() throws -> [String] {
            let text = try kf.text("failed.csv")
            return text.split(separator: "\n").dropFirst().map(String.init)
        }

        @Test("Repeated runs report the failures recorded in shards")
        func recordedFailures() async throws {
            let server = try failingServer()
            let expected = try writeFailing(server)
            let first = try await kf.run(failing + ["--json"])
            #expect(try first.status == 1 && failures() == expected, "\(first)")
            let asked = server.requests.count
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            for _ in 0..<2 {
                let again = try await kf.run(failing + ["--json"])
                #expect(try again.status == 1 && failures() == expected, "\(again)")
                let both = [try first.objects(), try again.objects()]
                for (old, new) in zip(both[0], both[1]) where old["status"] as? String == "failed" {
                    for name in ["status", "error", "http_status", "columns", "line", "sample", "key"] {
                        #expect(new[name] as? NSObject == old[name] as? NSObject, "\(name): \(new)")
                    }
                }
                #expect(both[1].compactMap { $0["status"] as? String }.filter { $0 == "exported" }.count == 7)
                let summary = try #require(both[1].last)
                #expect(summary["failed"] as? Int == 5 && summary["cached"] as? Int == 7, "\(summary)")
                #expect(summary["exit_status"] as? Int == 1 && summary["exported"] as? Int == 7, "\(summary)")
                #expect(again.errorLines.sorted() == first.errorLines.sorted())
            }
            let text = try await kf.run(failing + ["-v"])
            #expect(text.errors.contains("7 cached (7 in whole shards), 5 failed"), "\(text)")
            #expect(text.errors.contains("response 404 Not Found [2002]"), "\(text)")
            for (limit, status) in [("5", 4), ("6", 1)] {
                let limited = try await kf.run(failing + ["--max-failures", limit])
                #expect(limited.status == status, "\(limited)")
            }
            #expect(server.requests.count == asked)
            // The file is a list.
            try FileManager.default.copyItem(at: kf.home.path("failed.csv"), to: kf.home.path("again.csv"))
            let others = try await kf.run("prefetch", "again.csv", "--shards", "others", "--retry", "0", "-q")
            #expect(others.status == 1)
            #expect(try await fixture.shards("others")["00000"]?.rows.count == 5)
        }

        @Test("A failed variant stays failed on repeated runs")
        func recordedVariants() async throws {
            let server = try fixture.server()
            try fixture.write([server.url("/a"), server.url("/missing")])
            let command =
                self.command + [
                    "--retry", "0", "--json", "--variant", "whole=resize:8x8", "--variant",
                    "cut=resize:20000x2|>encode:webp",
                ]
            func failed(_ result: CommandResult) throws -> Set<String> {
                let rows = try result.objects().filter { $0["status"] as? String == "failed" }
                return Set(rows.map { "\($0["source"] ?? "") \($0["variant"] ?? "")" })
            }
            let expected = Set(["a cut", "missing cut", "missing whole"].map { server.url("/\($0)") })
            for _ in 0..<2 {
                let result = try await kf.run(command)
                #expect(try result.status == 1 && failed(result) == expected, "\(result)")
            }
            #expect(server.requests.count == 2)
        }

        @Test("A deeply nested record can fail and be read back")
        func deepRecord() async throws {
            let server = try failingServer()
            let deep = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
            let caption = String(repeating: "\\u0001", count: 150_000)
            let list = #"{"url":"\#(server.url("/missing"))","deep":\#(deep),"status":"\#(caption)"}"# + "\n"
            try kf.home.write("list", list)
            for _ in 0..<2 {
                let result = try await kf.run(command + ["--retry", "0", "--input-format", "jsonl", "--failures", "f"])
                #expect(result.status == 1 && result.errors.contains("404"), "\(result)")
                #expect(try kf.text("f") == list)
            }
        }

        @Test(
            "After a kill a run reports the same failures",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func killedAmongFailures() async throws {
            let server = try failingServer()
            let expected = try writeFailing(server)
            var kills = 0
            for call in ["renameat", "write"] {
                for number in 1...20 {
                    try fixture.remove("data", "failed.csv")
                    let killed = try await fixture.run(failing, killedAt: call, number, shards: 3)
                    if killed.status == 1 { break }
                    kills += 1
                    let again = try await kf.run(failing)
                    #expect(try again.status == 1 && failures() == expected, "\(call) \(number): \(again)")
                    #expect(again.errors.contains("5 failed"), "\(again)")
                }
            }
            #expect(kills > 4, "\(kills)")
        }

        @Test("Damaged rows end the run and name the file")
        func damagedRows() async throws {
            let server = try failingServer()
            _ = try writeFailing(server)
            #expect(try await kf.run(failing).status == 1)
            let path = kf.home.path("data/00001.jsonl")
            let rows = try String(contentsOf: path, encoding: .utf8).split(separator: "\n").map { "\($0)\n" }
            let damages: [[String]] = [
                Array(rows.dropLast()), rows + [rows[0]], rows.reversed(), [],
                [rows[0], rows[1].replacing("}", with: "")]
                    + rows[2...], rows.map { $0.replacing("\"code\"", with: "\"kode\"") },
                [rows[0], String(rows[1].dropLast(20))],
            ]
            for damage in damages {
                try kf.home.write("data/00001.jsonl", damage.joined())
                let result = try await kf.run(failing + ["-q"])
                #expect(
                    result.status == 3 && result.errors.contains("data/00001.jsonl is damaged"), "\(damage): \(result)")
            }
            // As the message says.
            try FileManager.default.removeItem(at: kf.home.path("data/00001.tar"))
            #expect(try await kf.run(failing).status == 1)
            #expect(try await fixture.shards()["00001"]?.rows.count == 4)
        }
    }
}
