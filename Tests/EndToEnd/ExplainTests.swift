import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Predictions of cache explain")
    struct ExplainTests {
        private let kf: KFCommand
        private let server: FaultServer

        /// The origin's image is expired by its headers already, and gone when it is asked whether it is still right.
        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            server = try FaultServer { request in
                guard request.path == "/there", request.header("If-None-Match") == nil else {
                    return [.reply("404 Not Found", headers: ["Cache-Control: max-age=3600"])]
                }
                return [.reply(headers: ["ETag: \"1\"", "Cache-Control: max-age=10", "Age: 20"], body: picture)]
            }
        }

        /// Runs `cache explain` and `fetch` with the same arguments.
        private func announced(
            _ arguments: String...
        ) async throws -> (next: String?, status: String?, code: Int?, requests: Int) {
            let said = try await kf.run(["cache", "explain", "--json"] + arguments).objects()
            let before = server.requests.count
            let done = try #require(try await kf.run(["fetch", "--retry", "0", "--json"] + arguments).objects().first)
            return (
                said.first?["next"] as? String, done["status"] as? String,
                (done["error"] as? [String: Any])?["code"] as? Int, server.requests.count - before
            )
        }

        @Test("A remembered 404 comes before an expired image")
        func answer() async throws {
            let url = server.url("/there")
            for _ in 0..<2 { _ = try await kf.run("fetch", url, "--cache-policy", "http") }
            let found = try await announced(url, "--cache-policy", "http", "--only-from-cache")
            #expect(found == ("answer", "failed", 2002, 0))
        }

        @Test("An expired image of a lower layer is served while revalidated")
        func layer() async throws {
            let lower = kf.home.path("lower").path
            let url = server.url("/there")
            _ = try await kf.run("fetch", url, "--cache-dir", lower, "--expire", "1ms")
            let found = try await announced(url, "--cache-from", lower, "--stale-while-revalidate", "1h")
            #expect(found.next == "stale" && found.status == "stale")
        }

        @Test("A 404 remembered by a lower layer does not count")
        func lowerAnswer() async throws {
            let lower = kf.home.path("lower").path
            let url = server.url("/missing")
            _ = try await kf.run("fetch", url, "--cache-dir", lower, "--negative-ttl", "1h")
            let found = try await announced(url, "--cache-from", lower, "--negative-ttl", "1h")
            #expect(found == ("request", "failed", 2002, 1))
        }

        @Test("A remote is asked before an expired image is served")
        func remote() async throws {
            let remote = kf.home.path("remote")
            try FileManager.default.createDirectory(at: remote, withIntermediateDirectories: true)
            let url = server.url("/there")
            let options = ["--remote", "file://\(remote.path)", "--remote-write"]
            _ = try await kf.run(["fetch", url, "--cache-dir", kf.home.path("other").path] + options)
            _ = try await kf.run("fetch", url, "--expire", "1ms")
            let found = try await announced(
                url, "--remote", "file://\(remote.path)", "--only-from-cache", "--stale-if-error", "1d")
            #expect(found == ("remote", "remote", nil, 0))
        }
    }
}
