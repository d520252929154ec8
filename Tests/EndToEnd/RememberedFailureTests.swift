import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Remembered failures")
    struct RememberedFailureTests {
        let kf: KFCommand
        let server: FaultServer
        private let isBack = SharedFlag()

        private final class SharedFlag: Sendable {
            let value = Atomic(false)
        }

        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            let isBack = isBack
            server = try FaultServer { request in
                if isBack.value.load(ordering: .relaxed) { return [.reply(body: picture)] }
                if request.path.hasPrefix("/busy") { return [.reply("503 Service Unavailable")] }
                if request.path.hasPrefix("/gone") { return [.reply("410 Gone")] }
                return request.path.hasPrefix("/missing") ? [.reply("404 Not Found")] : [.reply(body: picture)]
            }
        }

        private func prefetch(_ paths: [String], _ options: String...) async throws -> CommandResult {
            let list = Data(paths.map { server.url($0) }.joined(separator: "\n").utf8)
            return try await kf.run(["prefetch", "--retry", "0"] + options, input: list)
        }

        @Test("A prefetch remembers 404 and 410 but not 503")
        func remembered() async throws {
            let paths = ["/missing.png", "/gone.png", "/busy.png", "/there.png"]
            #expect(try await prefetch(paths).status == 1)
            #expect(server.requests.count == 4)
            let again = try await prefetch(paths)
            #expect(again.status == 1)
            #expect(server.requests.count == 5)
            let url = server.url("/missing.png")
            #expect(
                again.errors.contains(
                    "kf: line 1: \(url): response 404 Not Found, remembered for another 10m; "
                        + "use --retry-failed to ask again [2002]\n"), "\(again)")
            #expect(
                again.errors.contains(
                    "kf: 0 fetched (0 B), 1 cached, 3 failed (2 remembered, not asked again), in "), "\(again)")
            let json = try await prefetch(paths, "--json").objects()
            let missing = try #require(json.first { $0["source"] as? String == url })
            let error = try #require(missing["error"] as? [String: Any])
            #expect(missing["http_status"] as? Int == 404 && missing["attempts"] as? Int == 0)
            #expect((1...600).contains(error["remembered_seconds"] as? Int ?? 0), "\(error)")
            #expect(error["advice"] as? String == "use --retry-failed to ask again")
            #expect(error["message"] as? String == "response 404 Not Found, remembered")
            #expect(json.last?["remembered"] as? Int == 2 && json.last?["failed"] as? Int == 3)
            #expect(server.requests.count == 6)
            // Copies need results, which take the other way through the prefetcher.
            _ = try await prefetch(["/missing.png"], "--output-dir", "out")
            #expect(server.requests.count == 6)
            let dry = try await prefetch(["/missing.png"], "--dry-run", "--json").objects().first
            #expect(dry?["status"] as? String == "missing" && dry?["next"] as? String == "answer")
            _ = try await prefetch(["/missing.png", "/gone.png"], "--retry-failed")
            #expect(server.requests.count == 8)
            _ = try await prefetch(["/missing.png"], "--negative-ttl", "0")
            #expect(server.requests.count == 9)
            #expect(
                try await prefetch(["/missing.png"], "--variant", "a=resize:9x", "--variant", "b=resize:8x").status == 1
            )
            #expect(server.requests.count == 9)
        }

        @Test("A fetch remembers a 404 only with --negative-ttl")
        func fetch() async throws {
            let url = server.url("/missing.png")
            for _ in 0..<2 {
                #expect(try await kf.run("fetch", url).errors == "kf: \(url): response 404 Not Found [2002]\n")
            }
            #expect(server.requests.count == 2)
            for _ in 0..<2 { #expect(try await kf.run("fetch", url, "--negative-ttl", "1h").status == 1) }
            #expect(server.requests.count == 3)
            let told = try await kf.run("fetch", url, "--negative-ttl", "1h")
            #expect(told.errors.contains("404 Not Found, remembered for another 1h; use --retry-failed"), "\(told)")
            #expect(try await kf.run("fetch", url).status == 1)
            #expect(server.requests.count == 4)
            // It is still remembered for those that want it, and not beyond its time.
            _ = try await prefetch(["/missing.png"])
            #expect(server.requests.count == 4)
            _ = try await prefetch(["/gone.png"], "--negative-ttl", "1ms")
            _ = try await prefetch(["/gone.png"])
            #expect(server.requests.count == 6)
            // Under the HTTP policy the server decides, and its silence leaves the decision to the option.
            let other = server.url("/missing-too.png")
            for options in [["--cache-policy", "http"], ["--cache-policy", "http", "--negative-ttl", "1m"], []] {
                _ = try await kf.run(["fetch", other] + options)
            }
            #expect(server.requests.count == 9)
            _ = try await kf.run("fetch", other, "--cache-policy", "http", "--negative-ttl", "1m")
            #expect(server.requests.count == 9)
            let excluded = try await kf.run("fetch", url, "--retry-failed", "--offline")
            #expect(excluded.status == 2 && excluded.errors.contains("--retry-failed and --offline exclude each other"))
        }

        @Test("Remembered failures can be listed, removed and replaced")
        func cache() async throws {
            let url = server.url("/missing.png")
            _ = try await prefetch(["/missing.png"])
            #expect(try await kf.run("cache", "ls").output.hasSuffix("\(url)@no-image (response 404)\n"))
            let row = try #require(try await kf.run("cache", "ls", "--json").objects().first)
            #expect(row["http_status"] as? Int == 404 && row["format"] is NSNull && row["path"] is NSNull)
            let stat = try await kf.run("cache", "stat").output
            #expect(stat.contains("1 (0 originals, 0 processed, 1 answer without an image)"), "\(stat)")
            let plain = try await kf.run("cache", "explain", url).output
            #expect(plain.contains("no image: response 404, expires in 10m"), "\(plain)")
            #expect(plain.contains("the next fetch downloads the image"), "\(plain)")
            #expect(plain.contains("the remembered response 404 does not count for this fetch"), "\(plain)")
            let obeying = try await kf.run("cache", "explain", "--negative-ttl", "10m", url).output
            #expect(obeying.contains("the next fetch fails: the server's error is cached [2002]"), "\(obeying)")
            #expect(try await kf.run("cache", "verify").status == 0)
            #expect(try await kf.run("fetch", "--offline", url).errors == "kf: \(url): not in the cache [3006]\n")
            #expect(try await kf.run("cache", "rm", url).output == "removed 1 entry, 0 B\n")
            _ = try await prefetch(["/missing.png"])
            #expect(server.requests.count == 2)

            isBack.value.store(true, ordering: .relaxed)
            #expect(try await prefetch(["/missing.png"]).status == 1)
            #expect(try await kf.run("fetch", "-q", url).status == 0)
            #expect(server.requests.count == 3)
            #expect(try await !kf.run("cache", "ls").output.contains("no-image"))
            #expect(try await prefetch(["/missing.png"]).status == 0)

            isBack.value.store(false, ordering: .relaxed)
            _ = try await prefetch(["/gone.png"])
            isBack.value.store(true, ordering: .relaxed)
            #expect(try await prefetch(["/gone.png"], "--retry-failed").status == 0)
            #expect(try await !kf.run("cache", "ls").output.contains("no-image"))
            #expect(server.requests.count == 5)
        }

        @Test("An alternative is tried although its source's failure is remembered")
        func alternative() async throws {
            for _ in 0..<2 {
                let run = try await prefetch(["/missing.png"], "--alternative", server.url("/there.png"))
                #expect(run.status == 0, "\(run)")
            }
            #expect(server.requests.map(\.path).filter { $0 == "/missing.png" }.count == 1)
        }
    }
}
