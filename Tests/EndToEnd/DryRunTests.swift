import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Dry runs")
    struct DryRunTests {
        let kf: KFCommand
        let server: FaultServer

        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            server = try FaultServer { _ in [.reply(headers: ["ETag: \"1\""], body: picture)] }
        }

        /// A list of a cached, an expired and a missing image, and of a line that is not a source.
        private func fill() async throws -> [String] {
            let urls = ["/hit.png", "/stale.png", "/missing.png?a=1&b=2"].map { server.url($0) }
            for (url, span) in zip(urls, ["7d", "1ms"]) {
                try #require(try await kf.run("fetch", "-q", url, "--expire", span).status == 0)
            }
            try kf.home.write("list.txt", Data((urls + ["http:///none"]).joined(separator: "\n").utf8))
            return urls
        }

        @Test("A dry run prints states and changes nothing")
        func states() async throws {
            let urls = try await fill()
            let asked = server.requests.count
            let before = try await kf.run("cache", "ls", "--json", "--long").output
            let run = try await kf.run("prefetch", "list.txt", "--dry-run")
            #expect(run.status == 0)
            #expect(
                run.output == "hit\t\(urls[0])\nstale\t\(urls[1])\nmissing\t\(urls[2])\ninvalid\thttp:///none\n")
            #expect(run.errorLines.first?.hasPrefix("kf: line 4: http:///none: ") == true, "\(run)")
            #expect(run.errorLines.last == "kf: 1 hit, 1 stale, 1 missing, 1 invalid")
            #expect(server.requests.count == asked)
            #expect(try await kf.run("cache", "ls", "--json", "--long").output == before)

            // Output and failure files are not written either.
            let quiet = try await kf.run(
                "prefetch", "list.txt", "--dry-run", "-q", "--failures", "failed.txt", "--output-dir", "out")
            #expect(quiet.output == "" && quiet.errorLines.count == 1, "\(quiet)")
            let remote = ["--remote", server.url("/remote"), "--remote-write", "--remote-dropped", "dropped.txt"]
            #expect(try await kf.run(["prefetch", "list.txt", "--dry-run"] + remote).status == 0)
            #expect(server.requests.count == asked)
            for name in ["failed.txt", "out", "dropped.txt"] {
                #expect(!FileManager.default.fileExists(atPath: kf.home.path(name).path))
            }
        }

        @Test("A dry run in JSON has one object for each line")
        func json() async throws {
            let urls = try await fill()
            let run = try await kf.run("prefetch", "list.txt", "--dry-run", "--json", "--check")
            #expect(run.status == 1)
            let objects = try run.objects()
            #expect(objects.map { $0["status"] as? String } == ["hit", "stale", "missing", "invalid", nil])
            #expect(objects.map { $0["next"] as? String } == ["disk", "revalidate", "request", nil, nil])
            #expect(objects[0]["source"] as? String == urls[0] && objects[0]["key"] as? String == urls[0])
            #expect(objects[2]["list"] as? String == "list.txt" && objects[2]["line"] as? Int == 3)
            let path = try await kf.run("cache", "path", urls[0]).printedPath
            #expect(objects[0]["path"] as? String == path)
            #expect((objects[0]["expires"] as? Double ?? 0) > Date.now.timeIntervalSince1970)
            #expect((objects[1]["expires"] as? Double ?? .infinity) <= Date.now.timeIntervalSince1970)
            #expect(objects[2]["path"] is NSNull && objects[2]["expires"] is NSNull)
            #expect((objects[3]["error"] as? [String: Any])?["code"] as? Int == 1002)
            let sum = try #require(objects.last)
            #expect(sum["summary"] as? Bool == true && sum["exit_status"] as? Int == 1)
            #expect(["hits", "stale", "missing", "invalid"].allSatisfy { sum[$0] as? Int == 1 })
        }

        @Test("A dry run with --check fails when an image is missing")
        func check() async throws {
            let urls = try await fill()
            let cached = Data(urls.prefix(2).joined(separator: "\n").utf8)
            #expect(try await kf.run("prefetch", "--dry-run", "--check", input: cached).status == 0)
            for arguments in [["--dry-run", "--check", "list.txt"], ["list.txt", "--check", "--dry-run"]] {
                #expect(try await kf.run(["prefetch"] + arguments).status == 1, "\(arguments)")
            }
            for arguments in [["--check", "full"], ["--check=structure"]] {
                let run = try await kf.run(["prefetch", "list.txt", "--dry-run"] + arguments)
                #expect(run.status == 0, "\(run)")
            }
            for command in [["fetch", urls[0]], ["prefetch", "list.txt"]] {
                let refused = try await kf.run([command[0], "--check", command[1]])
                #expect(refused.status == 2)
                #expect(
                    refused.errors
                        == "kf: --check needs a value: --check structure or --check full; alone it belongs to "
                        + "'kf prefetch --dry-run'\n")
            }
            #expect(try await kf.run("prefetch", "--help").output.contains("--check [structure|full]"))
        }

        @Test("An expired image is missing, or a hit where the run may serve it")
        func expired() async throws {
            let urls = try await fill()
            let stale = Data("\(urls[1])\n".utf8)
            let asked = server.requests.count
            for (option, state, status) in [
                ("--only-from-cache", "missing", 1), ("--offline", "hit", 0), ("--read-only", "missing", 3),
            ] as [(String, String, Int32)] {
                let dry = try await kf.run("prefetch", "--dry-run", "--check", "-", option, input: stale)
                #expect(dry.output == "\(state)\t\(urls[1])\n" && dry.status == min(status, 1), "\(dry)")
                let run = try await kf.run("prefetch", "-", option, "--json", input: stale)
                let said = try run.objects().first?["status"] as? String
                #expect(run.status == status && said == (status == 0 ? "stale" : "failed"), "\(run)")
            }
            #expect(server.requests.count == asked)
        }

        @Test("An image that can be derived is a hit")
        func derived() async throws {
            let urls = try await fill()
            func object(_ options: String...) async throws -> [String: Any] {
                let list = Data((urls[0] + "\n").utf8)
                let run = try await kf.run(["prefetch", "--dry-run", "--json", "-"] + options, input: list)
                return try #require(try run.objects().first)
            }
            let processed = try await object("-p", "resize:8x8")
            #expect(processed["status"] as? String == "hit" && processed["next"] as? String == "derive")
            _ = try await kf.run("fetch", "-q", urls[0], "-p", "resize:8x8")
            #expect(try await object("-p", "resize:8x8")["next"] as? String == "disk")
            _ = try await kf.run("fetch", "-q", urls[0], "--force-refresh", "--expire", "1ms")
            let variants = try await object("--variant", "a=resize:8x8", "--variant", "b=resize:9x9")
            #expect(variants["status"] as? String == "stale", "\(variants)")
            let each = variants["variants"] as? [[String: Any]]
            #expect(each?.map { $0["variant"] as? String } == ["a", "b"])
            #expect(each?.map { $0["status"] as? String } == ["hit", "stale"])
            let again = try await object("--revalidate")
            #expect(again["status"] as? String == "stale" && again["next"] as? String == "revalidate")
        }

        @Test("A dry run without a cache creates none")
        func nowhere() async throws {
            try kf.home.write("list.txt", Data("\(server.url("/a.png"))\n".utf8))
            let run = try await kf.run("prefetch", "list.txt", "--dry-run", "--check")
            #expect(run.status == 1 && run.output == "missing\t\(server.url("/a.png"))\n", "\(run)")
            #expect(!FileManager.default.fileExists(atPath: kf.cacheDirectory.path))
            var homeless = kf
            homeless.environment["HOME"] = nil
            homeless.environment["KF_CACHE_DIR"] = nil
            let nowhere = try await homeless.run("prefetch", "list.txt", "--dry-run")
            #expect(nowhere.status == 0 && nowhere.output == run.output, "\(nowhere)")
            for command in [["fetch", server.url("/a.png")], ["prefetch", "list.txt"]] {
                let offline = try await homeless.run(command + ["--offline"])
                #expect(offline.status == 1 && offline.errors.contains("not in the cache [3006]"), "\(offline)")
            }
            #expect(server.requests.isEmpty)
        }

        @Test(
            "A dry run reads a cache on a read-only file system",
            .enabled("no mounts here") { await MountedCache.isPossible() })
        func readOnly() async throws {
            let run = try await MountedCache(kf: kf).run(
                """
                kf fetch -q $F/png/grey.png >/dev/null; kf fetch -q --expire 1ms $F/png/rgb.png >/dev/null
                mount --bind "$C" "$C"; mount -o remount,bind,ro "$C"
                ls $F/png/grey.png $F/png/rgb.png $F/png/rgba.png >$H/list
                kf prefetch --allow-local --dry-run $H/list | cut -f1 | tr '\\n' ' '
                kf fetch --offline $F/png/rgb.png -o $H/out >/dev/null; cmp $H/out $F/png/rgb.png
                fails 1 kf prefetch --allow-local --offline $H/list --output-dir $H/copies >/dev/null
                ls $H/copies | wc -l
                """)
            #expect(run.status == 0, "\(run)")
            #expect(run.output == "hit stale missing 2\n", "\(run)")
        }
    }
}
