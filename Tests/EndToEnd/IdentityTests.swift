import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("User identity")
    final class IdentityTests: CommandSuite {
        private let ann = FixturesDirectory.image("png/rgb.png")
        private let bob = FixturesDirectory.image("png/grey.png")
        private let anybody = FixturesDirectory.image("png/rgba.png")

        /// Gives each user another image, whatever header names the user.
        private func server() throws -> FaultServer {
            let (ann, bob, anybody) = (ann, bob, anybody)
            return try FaultServer { request in
                let said = request.headers.joined()
                let secret = { (user: String) in Data("\(user):hunter2".utf8).base64EncodedString() }
                if said.contains("ann") || said.contains(secret("ann")) { return [.reply(body: ann)] }
                return [.reply(body: said.contains("bob") || said.contains(secret("bob")) ? bob : anybody)]
            }
        }

        @Test(
            "Each user gets their own image, and no secret is stored",
            arguments: [
                (["-H", "X-Api-Key: ann-hunter2"], ["-H", "X-Api-Key: bob-hunter2"]),
                (["-H", "Cookie: ann-hunter2"], ["-H", "Cookie: bob-hunter2"]),
                (["-u", "ann:hunter2"], ["-u", "bob:hunter2"]),
                (["-H", "Authorization: Bearer ann-hunter2"], ["-H", "Authorization: Bearer bob-hunter2"]),
            ])
        func users(first: [String], second: [String]) async throws {
            let server = try server()
            for _ in 1...2 {
                for (arguments, image) in [(first, ann), (second, bob), ([], anybody)] {
                    let result = try await kf.run(["fetch", server.url("/a.png"), "-o", "-"] + arguments)
                    // Compared outside: the expectation would look for the difference byte by byte.
                    let isOwn = result.standardOutput == Data(image)
                    #expect(isOwn, "\(arguments)")
                }
            }
            #expect(server.requests.count == 3)
            let report = try await kf.run(["fetch", server.url("/a.png"), "--json"] + first)
            #expect(!report.output.contains("hunter2"), "\(report)")
            for name in TemporaryDirectory.files(in: kf.cacheDirectory) where name.contains("index") {
                let index = try Data(contentsOf: kf.cacheDirectory.appendingPathComponent(name))
                #expect(index.range(of: Data("hunter2".utf8)) == nil, "\(name)")
            }
        }

        @Test("Harmless headers share one image")
        func neutral() async throws {
            let server = try server()
            for arguments in [
                [], ["-H", "User-Agent: x"], ["-H", "referer: x"], ["-H", "Accept-Language: de"],
                ["--user-agent", "y"],
            ] {
                #expect(try await kf.run(["fetch", server.url("/a.png")] + arguments).status == 0)
            }
            #expect(server.requests.count == 1)
            for arguments in [["-H", "X-A: 1", "-H", "X-B: 2"], ["-H", "x-b:  2 ", "-H", "X-a:1", "-H", "X-A: 1"]] {
                #expect(try await kf.run(["fetch", server.url("/a.png")] + arguments).status == 0)
            }
            #expect(server.requests.count == 2)
        }

        @Test("Headers in a list separate its images")
        func listHeaders() async throws {
            let server = try server()
            let lines = ["ann", "bob"].map { #"{"url":"\#(server.url("/a.png"))","headers":{"X-Api-Key":"\#($0)"}}"# }
            let arguments = ["prefetch", "-", "--input-format", "jsonl", "--headers-column", "headers", "--json"]
            let items = try await kf.run(arguments, input: Data(lines.joined(separator: "\n").utf8)).items()
            #expect(items.map(\.status) == ["fetched", "fetched"])
            #expect(Set(items.compactMap(\.key)).count == 2)
            let cached = try await kf.run("cache", "ls", "--json").objects().compactMap { $0["key"] as? String }
            #expect(Set(cached) == Set(items.compactMap(\.key)))
            let others = try await kf.run("fetch", server.url("/a.png"), "-o", "-").standardOutput
            let isPublic = others == Data(anybody)
            #expect(isPublic)
        }

        @Test("Passwords in .netrc need --netrc and stay with their hosts")
        func netrc() async throws {
            let image = anybody
            let other = try FaultServer(address: "127.0.0.2") { _ in [.reply(body: image)] }
            let first = try FaultServer { _ in [.reply("404 Not Found")] }
            try kf.home.write(
                ".netrc", "machine 127.0.0.1 login ann password one\nmachine 127.0.0.2 login bob password two\n")
            #expect(try await kf.run("fetch", first.url("/b.png")).status == 1)
            let result = try await kf.run(
                "fetch", first.url("/a.png"), "--netrc", "--alternative", "http://127.0.0.2:\(other.port)/b.png")
            #expect(result.status == 0, "\(result)")
            let sent = (first.requests + other.requests).map { $0.header("Authorization") }
            #expect(sent == [nil] + ["ann:one", "bob:two"].map { "Basic \(Data($0.utf8).base64EncodedString())" })
        }

        @Test("A user of the URL has the password of .netrc") func netrcOfUser() async throws {
            let image = anybody
            let server = try FaultServer { _ in [.reply(body: image)] }
            try kf.home.write(
                ".netrc", "machine 127.0.0.1 login bob password no\nmachine 127.0.0.1 login ann password one\n")
            let url = "http://ann@127.0.0.1:\(server.port)/a.png"
            #expect(try await kf.run("fetch", url, "--netrc").status == 0)
            let sent = server.requests.map { $0.header("Authorization") }
            #expect(sent == ["Basic \(Data("ann:one".utf8).base64EncodedString())"])
        }

        @Test("A redirect to another origin gets no credentials or cookies")
        func redirects() async throws {
            let image = anybody
            let other = try FaultServer { _ in [.reply(body: image)] }
            let target = other.url("/b.png")
            let first = try FaultServer { request in
                request.path == "/from.png"
                    ? [.reply("302 Found", headers: ["Location: \(target)", "Set-Cookie: a=b"])]
                    : [.reply(headers: ["Set-Cookie: c=d"], body: image)]
            }
            let result = try await kf.run(
                "fetch", "-j", "1", "-u", "me:secret", "-H", "Cookie: mine=1", "-H", "X-Api-Key: secret", "-H",
                "Accept: image/png", first.url("/from.png"), first.url("/one.png"), first.url("/two.png"))
            #expect(result.status == 0, "\(result)")
            let own = ["Authorization: Basic bWU6c2VjcmV0", "Cookie: mine=1", "X-Api-Key: secret"]
            #expect(first.requests.count == 3 && first.requests.allSatisfy { Set($0.headers).isSuperset(of: own) })
            let request = try #require(other.requests.first)
            for name in ["Authorization", "Cookie", "X-Api-Key"] { #expect(request.header(name) == nil, "\(name)") }
            #expect(request.header("Accept") == "image/png" && other.requests.count == 1)
        }

        @Test("Responses over an unchecked certificate are cached apart")
        func trustedHost() async throws {
            let certificates = try await TestCertificates.shared
            let server = try FileServer(identity: certificates.identity(.selfSigned))
            let url = server.secureURL("png/rgb.png")
            for key in [[], ["--key", "mine"]] {
                let trusting = ["fetch", url, "--trusted-host", "127.0.0.1", "--json"] + key
                #expect(try await kf.run(trusting).item().status == "fetched")
                #expect(try await kf.run(trusting).item().status == "disk")
                let checking = try await kf.run(["fetch", url, "--retry", "0", "--json"] + key).item()
                #expect(checking.status == "failed" && checking.error?.code == 2003, "\(checking)")
                let path = ["cache", "path", url] + key
                #expect(try await kf.run(path).status == 1)
                #expect(try await kf.run(path + ["--trusted-host", "127.0.0.1"]).status == 0)
            }
        }

        @Test(
            "A malformed header is refused without being printed",
            arguments: [
                "Authorization Bearer hunter2", "hunter2", "Bad Name hunter2: 1", ": hunter2", "X: hunter2\u{1}",
            ])
        func malformedHeader(text: String) async throws {
            let flag = try await kf.run("fetch", "http://127.0.0.1:1/a.png", "-H", text)
            var other = kf
            other.environment["KF_HEADER"] = text
            let variable = try await other.run("config", "--json")
            for result in [flag, variable] {
                #expect(result.status == 2 && result.errors.contains("--header"), "\(result)")
                #expect(!result.errors.contains("hunter2") && !result.output.contains("hunter2"), "\(result)")
            }
        }

        @Test(
            "A condition or range given by the user is refused",
            arguments: ["If-None-Match: \"1\"", "if-modified-since: x", "Range: bytes=0-9"])
        func ownConditions(_ header: String) async throws {
            let result = try await kf.run("fetch", "http://127.0.0.1:1/a.png", "-H", header)
            #expect(
                result.status == 2 && result.errors.contains("kf makes ranges and conditions by itself"), "\(result)")
        }

        @Test("A misplaced URL is shown without its user info")
        func misplacedURL() async throws {
            let url = "https://ann:hunter2@h/a.png?token=hunter2"
            for arguments in [[url], ["config", url], ["cache", "stat", url], ["fetch", "--alternative", url + " "]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 2 && !result.errors.contains("hunter2"), "\(result)")
            }
        }

        @Test("A malformed header in a list is refused without being printed")
        func malformedListHeader() async throws {
            let csv = "url,headers\nhttp://127.0.0.1:1/a.png,Authorization Bearer hunter2\n"
            let arguments = ["prefetch", "-", "--input-format", "csv", "--headers-column", "headers", "--json"]
            let result = try await kf.run(arguments, input: Data(csv.utf8))
            #expect(result.status == 1, "\(result)")
            #expect(!result.errors.contains("hunter2") && !result.output.contains("hunter2"), "\(result)")
            #expect(try result.item().source == "http://127.0.0.1:1/a.png")
        }

        @Test("The configuration is shown without secrets", arguments: [false, true])
        func config(isFile: Bool) async throws {
            let values = [
                ("user", "joan:hunter2"), ("header", "Authorization: Bearer hunter2"), ("header", "X-Api-Key:hunter2"),
                ("proxy", "http://joan:hunter2@127.0.0.1:1"), ("alternative", "https://joan:hunter2@h/a.png"),
                ("on-failure", "https://joan:hunter2@h/f.png"),
                (
                    "process",
                    "watermark:https://joan:hunter2@h/w.png,scale=0.5|>watermark:https://joan:hunter2@h/@2x.png"
                ),
            ]
            var kf = kf
            if isFile {
                try kf.home.write(".config/kf/config", values.map { "\($0) = \"\($1)\"" }.joined(separator: "\n"))
            } else {
                for (name, lines) in Dictionary(grouping: values, by: \.0) {
                    kf.environment["KF_\(name.uppercased().replacing("-", with: "_"))"] = lines.map(\.1).joined(
                        separator: "\n")
                }
            }
            for arguments in [["config"], ["config", "--json"]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 0, "\(result)")
                #expect(!result.output.contains("hunter2") && !result.output.contains("joan"), "\(result)")
                for shown in [
                    "Authorization: •••", "X-Api-Key: •••", "http://•••@127.0.0.1:1", "https://•••@h/a.png",
                    "https://•••@h/f.png",
                    "watermark:https://•••@h/w.png,scale=0.5|>watermark:https://•••@h/@2x.png",
                ] {
                    #expect(result.output.contains(shown), "\(shown) in \(result)")
                }
            }
            let rows = try await kf.run("config", "--json").objects()
            #expect(rows.first { $0["option"] as? String == "user" }?["value"] as? String == "•••")
        }

        @Test("An unusable proxy is named without its password", arguments: ["--proxy", "http_proxy"])
        func proxyErrors(place: String) async throws {
            for proxy in [
                "http://ann:hunter2@127.0.0.1:99999", "nonsense://ann:hunter2@127.0.0.1:1", "http://ann:hunter2@[::1",
                "ann:hunter2@ 127.0.0.1", "http://ann:hunter2@127.0.0.1:1", "http://ann:hun@ter2@127.0.0.1:x",
            ] {
                var kf = kf
                var arguments = ["fetch", "http://origin.test/a.png", "--retry", "0", "--json"]
                if place == "--proxy" { arguments += [place, proxy] } else { kf.environment[place] = proxy }
                let result = try await kf.run(arguments)
                #expect(result.status != 0, "\(result)")
                for secret in ["hunter2", "ter2", "ann"] {
                    #expect(!result.errors.contains(secret) && !result.output.contains(secret), "\(result)")
                }
            }
        }
    }
}
