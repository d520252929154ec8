import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Few descriptors")
    final class DescriptorTests: CommandSuite {
        private let image = FixturesDirectory.image("png/one-pixel.png")

        @Test("With few descriptors kf works or names the limit", arguments: Array(4...40))
        func few(limit: Int) async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            try kf.home.write("list.txt", "\(server.url("/a.png"))\n\(server.url("/b.png"))\nhttp://127.0.0.1:1/\n")
            let commands = [
                ["fetch", server.url("/a.png"), "-o", "x.png"], ["cache", "stat"],
                ["prefetch", "list.txt", "--retry", "0", "--failures", "f", "--output-dir", "out"],
            ]
            for command in commands {
                let result = try await kf.run(command, under: "prlimit", "--nofile=\(limit)")
                // With the fewest, the dynamic loader cannot even load the libraries.
                if result.status == 127 { continue }
                #expect(result.status <= 3, "\(result)")
                if limit <= 20 {
                    #expect(result.status == 2 && result.errors.contains("ulimit -n"), "\(result)")
                }
                if limit >= 35 { #expect(result.status == (command[0] == "prefetch" ? 1 : 0), "\(result)") }
            }
        }

        /// Prefetches a list under a limit: every image must come, and nothing is said.
        private func prefetch(_ urls: [String], limit: Int, _ options: [String]) async throws {
            let result = try await kf.run(
                ["prefetch", "-q", "-"] + options, under: "prlimit", "--nofile=\(limit)",
                input: Data(urls.map { $0 + "\n" }.joined().utf8))
            #expect(result.status == 0 && result.errors == "", "\(result)")
        }

        @Test("A prefetch of many images needs few descriptors", arguments: [40, 64])
        func prefetch(limit: Int) async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            try await prefetch(
                (0..<300).map { server.url("/\($0).png") }, limit: limit, ["-j", "64", "--max-per-host", "64"])
            #expect(try await kf.run("cache", "verify", "-q").status == 0)
        }

        @Test(
            "Copies, processors, shards and remotes need few descriptors",
            arguments: [35, 48, 80], [["-P", "out", "-p", "resize:3x3", "-p", "rotate:90"], ["--shards", "out"], []])
        func outputs(limit: Int, options: [String]) async throws {
            let server = try FaultServer { [image] _ in [.reply(body: image)] }
            let remote = ["--remote", kf.home.url.appendingPathComponent("remote").absoluteString, "--remote-write"]
            try await prefetch((0..<100).map { server.url("/\($0).png") }, limit: limit, remote + options)
        }

        @Test("Connections to many hosts need few descriptors")
        func hosts() async throws {
            let server = try FaultServer(address: "0.0.0.0") { [image] _ in [.reply(body: image)] }
            let urls = (1...150).map { "http://127.0.1.\($0):\(server.port)/a.png" }
            try await prefetch(urls, limit: 64, ["-j", "64", "--retry", "0"])
        }
    }
}
