import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Offline mode")
    struct OfflineTests {
        let kf: KFCommand
        let server: FaultServer
        let picture: Data

        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.named("png/rgb.png").data
            self.picture = picture
            server = try FaultServer { _ in
                [.reply(headers: ["Cache-Control: max-age=0, must-revalidate"], body: [UInt8](picture))]
            }
        }

        @Test("Offline, an expired image is served as stale")
        func expired() async throws {
            let url = server.url("/a.png")
            for policy in ["ttl", "http"] {
                _ = try await kf.run("fetch", "-q", url, "--force-refresh", "--expire", "1ms", "--cache-policy", policy)
                let asked = server.requests.count
                let item = try await kf.run("fetch", url, "--offline", "--json", "--cache-policy", policy).item()
                #expect(item.status == "stale" && item.attempts == 0, "\(policy)")
                let made = try await kf.run(
                    "fetch", url, "--offline", "-p", "resize:8x8", "-o", "-", "--cache-policy", policy)
                #expect(made.status == 0 && !made.standardOutput.isEmpty, "\(made)")
                let processed = try await kf.run("cache", "ls", "--json").objects()
                #expect(processed.count == 1, "what was made of an expired image is not stored")
                #expect(server.requests.count == asked)
            }
            _ = try await kf.run("fetch", "-q", url, "--force-refresh")
            #expect(try await kf.run("fetch", url, "--offline", "--json").item().status == "disk")
            let missing = try await kf.run("fetch", server.url("/b.png"), "--offline")
            #expect(missing.status == 1)
            #expect(missing.errors == "kf: \(server.url("/b.png")): not in the cache [3006]\n")
        }

        @Test("An expired image is refused with a hint to --offline")
        func advice() async throws {
            let url = server.url("/a.png")
            _ = try await kf.run("fetch", "-q", url, "--expire", "1ms")
            let expected = "kf: \(url): in the cache, but it expired "
            for arguments in [["fetch", "--only-from-cache", url], ["cache", "path", url]] {
                let refused = try await kf.run(arguments)
                #expect(refused.status == 1 && refused.errors.hasPrefix(expected), "\(refused)")
                #expect(refused.errors.hasSuffix(" ago; use --offline to serve it [3006]\n"), "\(refused)")
            }
            let item = try await kf.run("fetch", "--only-from-cache", "--json", url).item()
            #expect(item.error?.code == 3006 && item.error?.reason == "imageNotExisting")
            #expect(try await kf.run("cache", "path", "--offline", url).status == 0)
            let explained = try await kf.run("cache", "explain", "--offline", url)
            #expect(explained.output.contains("the next fetch serves the expired image"), "\(explained)")
            #expect(server.requests.count == 1)
        }

        @Test("An offline prefetch reports the missing images")
        func prefetch() async throws {
            let urls = ["/a.png", "/b.png", "/c.png"].map { server.url($0) }
            for (url, span) in zip(urls, ["7d", "1ms"]) { _ = try await kf.run("fetch", "-q", url, "--expire", span) }
            let list = Data(urls.joined(separator: "\n").utf8)
            let items = try await kf.run("prefetch", "--offline", "--json", input: list)
            #expect(items.status == 1)
            let statuses = Dictionary(uniqueKeysWithValues: try items.items().map { ($0.source, $0.status) })
            #expect(statuses == [urls[0]: "cached", urls[1]: "stale", urls[2]: "failed"])
            let text = try await kf.run("prefetch", "--offline", input: list)
            #expect(text.errors.contains("kf: line 3: \(urls[2]): not in the cache [3006]"), "\(text)")
            #expect(text.errors.contains("0 fetched (0 B), 2 cached, 1 failed"), "\(text)")
            #expect(server.requests.count == 2)
        }

        @Test("Offline mode excludes options that make requests")
        func contradictions() async throws {
            for option in ["--force-refresh", "--revalidate", "--only-from-cache"] {
                let refused = try await kf.run("fetch", "a.png", "--offline", option)
                #expect(refused.status == 2 && refused.errors == "kf: --offline and \(option) exclude each other\n")
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--offline").status == 1)
            #expect(!FileManager.default.fileExists(atPath: kf.cacheDirectory.path))
            #expect(server.requests.isEmpty)
        }
    }
}
