import Foundation
import Support
import Testing

extension EndToEnd {
    /// What users see of a remote, from the built binary.
    @Suite("Remotes")
    struct RemoteCommandTests {
        /// An origin of one image that counts its requests.
        struct Origin {
            let server: FaultServer

            init() throws {
                let image = try FixturesDirectory.bytes("png/rgb.png")
                server = try FaultServer { _ in [.reply(body: image)] }
            }

            var url: String { server.url("/image") }
            var asked: Int { server.requests.count }
        }

        private func machine(_ environment: [String: String] = [:]) throws -> KFCommand {
            try .withoutRetries().with(environment)
        }

        /// Fetches the image on a machine with an empty cache, and returns its report.
        private func fetch(
            _ url: String, _ options: String..., environment: [String: String] = [:]
        ) async throws -> ItemReport {
            let result = try await machine(environment).run(["fetch", "--json", url] + options)
            #expect(result.status == 0, "\(result)")
            return try #require(try result.items().first, "\(result)")
        }

        // MARK: Options

        @Test("The environment and the config file set remotes")
        func environment() async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer())
            let url = remote.url("/base")
            _ = try await fetch(origin.url, environment: ["KF_REMOTE": url, "KF_REMOTE_WRITE": "1"])
            #expect(remote.tree.files.count == 2)
            let several = "http://127.0.0.1:\(try FaultServer.lastingPort())/none\n\(url)"
            #expect(try await fetch(origin.url, environment: ["KF_REMOTE": several]).status == "remote")
            let kf = try machine()
            try kf.home.write(".config/kf/config", "remote = \(url)\n")
            #expect(try await kf.run("fetch", "--json", origin.url).items().first?.status == "remote")
            #expect(origin.asked == 1)
        }

        @Test(
            "An invalid remote is a usage error without its secret",
            arguments: [
                "ftp://user:hunter2@host/", "http://user:hunter2@/x", "http://user:hunter2@host:99999/",
                "http://user:hunter2@host/?layout=other", "s3://user:hunter2@bucket/x?region=eu-1", "s3://bucket",
                "s3://bucket/a b?region=eu-1", "s3:///x?region=eu-1", "file://host/x", "file:///", "host/x",
                "http://user:hunter2@host/../x",
            ])
        func addresses(address: String) async throws {
            let result = try await machine().run("fetch", "http://127.0.0.1:1/x.png", "--remote", address)
            #expect(result.status == 2 && result.errors.contains("--remote"), "\(result)")
            #expect(!result.errors.contains("hunter2"), "\(result)")
        }

        @Test("Remote options need a remote")
        func companions() async throws {
            for option in ["--remote-write", "--remote-required"] {
                let result = try await machine().run("fetch", "http://127.0.0.1:1/x.png", option)
                #expect(result.status == 2 && result.errors.contains("needs a --remote"), "\(result)")
            }
        }

        @Test("Credentials of remotes and proxies are hidden from process lists")
        func hidden() async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer(.init(.silence)))
            let kf = try machine()
            let running = try kf.start([
                "fetch", origin.url, "--remote", remote.url("/base", user: "user:hunter2"),
                "--proxy=http://me:hunter2@127.0.0.1:1",
            ])
            #expect(await eventually { remote.accepted > 0 || running.errorsSoFar.contains("proxy") })
            let number = try #require(running.processNumber)
            let words = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(number)/cmdline"))
            #expect(words.firstRange(of: Data("hunter2".utf8)) == nil, "\(String(decoding: words, as: UTF8.self))")
            _ = try await running.wait()
        }

        @Test("Credentials of sources are hidden from process lists", arguments: ["fetch", "prefetch"])
        func hiddenSource(command: String) async throws {
            let gate = Gate()
            defer { gate.open() }
            let server = try FaultServer { _ in
                gate.wait()
                return [.close]
            }
            let kf = try machine()
            let url = server.url("/a.png?at=me@home").replacing("//", with: "//me:hunter2@", maxReplacements: 1)
            let words = command == "fetch" ? [url, "--retry", "0"] : ["-", "--alternative", url, "--retry", "0"]
            let running = try kf.start([command] + words, input: Data("\(server.url("/b.png"))\n".utf8))
            #expect(await eventually { !server.requests.isEmpty })
            let number = try #require(running.processNumber)
            let line = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(number)/cmdline"))
            let shown = String(decoding: line, as: UTF8.self)
            #expect(!shown.contains("hunter2") && shown.contains("***@127.0.0.1:"), "\(shown)")
            #expect(shown.contains("/a.png?at=me@home"), "\(shown)")
            gate.open()
            _ = try await running.wait()
            if command == "fetch" {
                #expect(server.requests.first?.header("Authorization") == "Basic bWU6aHVudGVyMg==")
            }
        }

        // MARK: Reports

        @Test("The command explain shows what each remote has")
        func explain() async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer())
            let url = remote.url("/base")
            let refusing = try RemoteFaultServer(.init(.status(403)))
            let options = ["cache", "explain", origin.url, "--remote", refusing.url("/x"), "--remote", url]
            let before = try await machine().run(options)
            #expect(before.output.contains("remote \(url): nothing"), "\(before)")
            #expect(before.output.contains("not known: it does not allow reading (status 403)"), "\(before)")
            #expect(before.output.contains("the next fetch downloads the image"), "\(before)")
            _ = try await fetch(origin.url, "--remote", url, "--remote-write")
            let after = try await machine().run(options)
            #expect(after.output.contains("remote \(url): the image, png, "), "\(after)")
            #expect(after.output.contains("the next fetch takes the image from a remote"), "\(after)")
            #expect(after.output.contains("the remote \(url) has it"), "\(after)")
            let json = try #require(try await machine().run(options + ["--json"]).objects().first)
            #expect(json["next"] as? String == "remote")
            let remotes = try #require(json["remotes"] as? [[String: Any]])
            #expect(remotes.count == 2 && remotes[1]["remote"] as? String == url)
            let image = try #require(remotes[1]["image"] as? [String: Any])
            #expect(image["object"] as? Bool == true && image["expired"] as? Bool == false)
            #expect((remotes[0]["problem"] as? String)?.contains("403") == true)
            // Nothing was stored or uploaded by asking.
            #expect(origin.asked == 1 && remote.requests("PUT").count == 2)
        }

        @Test("The statistics count remote traffic until they are reset")
        func stat() async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer())
            let url = remote.url("/base")
            let kf = try machine()
            func counts() async throws -> [String: Int]? {
                try await kf.run("cache", "stat", "--json").objects().first?["remote"] as? [String: Int]
            }
            for number in 0..<3 {
                _ = try await kf.run("fetch", origin.server.url("/\(number)"), "--remote", url, "--remote-write")
            }
            let none = ["hits": 0, "misses": 0, "errors": 0, "uploaded": 0, "dropped": 0]
            #expect(try await counts() == none.merging(["misses": 3, "uploaded": 3]) { $1 })
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            _ = try await kf.run("fetch", origin.server.url("/0"), "--remote", url)
            #expect(try await counts() == none.merging(["hits": 1, "misses": 3, "uploaded": 3]) { $1 })
            let text = try await kf.run("cache", "stat").output
            #expect(text.contains("remotes    1 hit, 3 misses, 3 uploaded"), "\(text)")
            _ = try await kf.run("cache", "stat", "--reset")
            #expect(try await counts() == none)
        }

        @Test("Summaries count remote traffic")
        func summaries() async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer())
            let url = remote.url("/base")
            let first = try await machine().run("fetch", "-v", origin.url, "--remote", url, "--remote-write")
            #expect(first.errors.contains("kf: remote: 0 hits, 1 miss, 1 uploaded"), "\(first)")
            let second = try await machine().run("fetch", "-v", origin.url, "--remote", url)
            #expect(second.errors.contains(": remote ") && second.errors.contains("remote: 1 hit"), "\(second)")
            let list = Data("\(origin.url)\n".utf8)
            let third = try await machine().run(["prefetch", "--remote", url, "-"], input: list)
            #expect(third.errors.contains("kf: 0 fetched (0 B), 1 from the remote ("), "\(third)")
            let without = try #require(try await machine().run("fetch", "--json", origin.url).objects().last)
            #expect(without["remote"] is NSNull)
        }

        @Test(
            "Requests with credentials do not use the remote",
            arguments: [
                ["-u", "me:pw"], ["-H", "Authorization: Bearer x"], ["-H", "Cookie: a=b"], ["-H", "X-Token: x"],
                ["--cookie-jar", "jar"], ["--netrc"], ["--key", "name", "-u", "me:pw"],
            ])
        func personal(options: [String]) async throws {
            let (origin, remote) = (try Origin(), try RemoteFaultServer())
            let result = try await machine().run(
                ["fetch", "--json", origin.url, "--remote", remote.url("/base"), "--remote-write"] + options)
            #expect(try result.items().first?.status == "fetched", "\(result)")
            #expect(remote.accepted == 0, "\(remote.requests)")
        }

        @Test("Local sources do not use the remote")
        func local() async throws {
            let remote = try RemoteFaultServer()
            let file = try FixturesDirectory.named("png/rgb.png").url.path
            let data =
                "data:image/png;base64,\(try FixturesDirectory.named("png/one-pixel.png").data.base64EncodedString())"
            for source in [file, "file://\(file)", data] {
                let result = try await machine().run(
                    "fetch", source, "-p", "resize:8x8", "--remote", remote.url("/base"), "--remote-write")
                #expect(result.status == 0, "\(result)")
            }
            #expect(remote.accepted == 0)
        }
    }
}
