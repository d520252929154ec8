import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Who is served what, and who sees whose secrets")
    struct IdentityTests {
        let kf: KFCommand
        private let ann: [UInt8]
        private let bob: [UInt8]
        private let anybody: [UInt8]

        init() throws {
            kf = try KFCommand()
            ann = [UInt8](try FixturesDirectory.named("png/rgb.png").data)
            bob = [UInt8](try FixturesDirectory.named("png/grey.png").data)
            anybody = [UInt8](try FixturesDirectory.named("png/rgba.png").data)
        }

        /// Gives each user another image, whatever header names the user.
        private func server() throws -> FaultServer {
            let (ann, bob, anybody) = (ann, bob, anybody)
            return try FaultServer { request in
                let said = request.headers.joined()
                let secret = { (user: String) in Data("\(user):word".utf8).base64EncodedString() }
                if said.contains("ann") || said.contains(secret("ann")) { return [.reply(body: ann)] }
                return [.reply(body: said.contains("bob") || said.contains(secret("bob")) ? bob : anybody)]
            }
        }

        @Test(
            "Each user of a shared cache gets the own image",
            arguments: [
                (["-H", "X-Api-Key: ann"], ["-H", "X-Api-Key: bob"]), (["-H", "Cookie: ann"], ["-H", "Cookie: bob"]),
                (["-u", "ann:word"], ["-u", "bob:word"]),
                (["-H", "Authorization: Bearer ann"], ["-H", "Authorization: Bearer bob"]),
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
        }

        @Test("Headers that are known to be neutral share one image, and one spelling is as good as another")
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

        @Test("The headers of a list keep its images apart, and the key in JSON is the one in the cache")
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

        @Test("An alternative on another origin gets no secrets, one on the same origin does")
        func alternatives() async throws {
            let image = anybody
            let other = try FaultServer { _ in [.reply(body: image)] }
            let first = try FaultServer { request in
                request.path.hasPrefix("/good") ? [.reply(body: image)] : [.reply("404 Not Found")]
            }
            let secrets = [
                "-u", "ann:word", "-H", "Cookie: secret", "-H", "X-Api-Key: secret", "-H", "Accept: image/png",
            ]
            let fetch = try await kf.run(
                ["fetch", first.url("/a.png"), "--alternative", other.url("/b.png")] + secrets)
            #expect(fetch.status == 0, "\(fetch)")
            let list = try await kf.run(
                ["prefetch", "-", "--alternative", other.url("/c.png")] + secrets,
                input: Data("\(first.url("/1.png"))\n".utf8))
            #expect(list.status == 0, "\(list)")
            #expect(other.requests.count == 2 && first.requests.count == 2)
            for request in other.requests {
                for name in ["Authorization", "Cookie", "X-Api-Key"] { #expect(request.header(name) == nil) }
                #expect(request.header("Accept") == "image/png")
            }
            for request in first.requests { #expect(request.header("Cookie") == "secret") }
            _ = try await kf.run(["fetch", first.url("/d.png"), "--alternative", first.url("/good.png")] + secrets)
            #expect(first.requests.last?.path == "/good.png")
            #expect(first.requests.last?.header("X-Api-Key") == "secret")
        }

        @Test("A netrc's passwords go to their hosts, of alternatives too")
        func netrc() async throws {
            let image = anybody
            let other = try FaultServer(address: "127.0.0.2") { _ in [.reply(body: image)] }
            let first = try FaultServer { _ in [.reply("404 Not Found")] }
            try kf.home.write(
                ".netrc", "machine 127.0.0.1 login ann password one\nmachine 127.0.0.2 login bob password two\n")
            let result = try await kf.run(
                "fetch", first.url("/a.png"), "--netrc", "--alternative", "http://127.0.0.2:\(other.port)/b.png")
            #expect(result.status == 0, "\(result)")
            let sent = [first, other].map { $0.requests.first?.header("Authorization") }
            #expect(sent == ["ann:one", "bob:two"].map { "Basic \(Data($0.utf8).base64EncodedString())" })
        }

        @Test("A redirect to another origin takes no header along that may be a secret")
        func redirects() async throws {
            let image = anybody
            let other = try FaultServer { _ in [.reply(body: image)] }
            let target = other.url("/b.png")
            let first = try FaultServer { _ in [.reply("302 Found", headers: ["Location: \(target)"])] }
            let result = try await kf.run(
                "fetch", first.url("/a.png"), "-H", "X-Api-Key: secret", "-H", "Accept: image/png")
            #expect(result.status == 0, "\(result)")
            #expect(first.requests.first?.header("X-Api-Key") == "secret")
            #expect(other.requests.first?.header("X-Api-Key") == nil)
            #expect(other.requests.first?.header("Accept") == "image/png")
        }

        @Test("What came from a host whose certificate was not checked is served to nobody who did not ask for that")
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
            "A header that is none is refused without being repeated",
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
            "A condition or range of the caller's own is a usage error",
            arguments: ["If-None-Match: \"1\"", "if-modified-since: x", "Range: bytes=0-9"])
        func ownConditions(_ header: String) async throws {
            let result = try await kf.run("fetch", "http://127.0.0.1:1/a.png", "-H", header)
            #expect(
                result.status == 2 && result.errors.contains("kf makes ranges and conditions by itself"), "\(result)")
        }

        @Test("A URL in the wrong place is shown without its user info")
        func misplacedURL() async throws {
            let url = "https://ann:hunter2@h/a.png?token=hunter2"
            for arguments in [[url], ["config", url], ["cache", "stat", url], ["fetch", "--alternative", url + " "]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 2 && !result.errors.contains("hunter2"), "\(result)")
            }
        }

        @Test("A record of a list with a malformed header is refused without its values")
        func malformedListHeader() async throws {
            let csv = "url,headers\nhttp://127.0.0.1:1/a.png,Authorization Bearer hunter2\n"
            let arguments = ["prefetch", "-", "--input-format", "csv", "--headers-column", "headers", "--json"]
            let result = try await kf.run(arguments, input: Data(csv.utf8))
            #expect(result.status == 1, "\(result)")
            #expect(!result.errors.contains("hunter2") && !result.output.contains("hunter2"), "\(result)")
            #expect(try result.item().source == "http://127.0.0.1:1/a.png")
        }

        @Test("kf config shows no secret, wherever it was given", arguments: [false, true])
        func config(isFile: Bool) async throws {
            let values = [
                ("user", "ann:hunter2"), ("header", "Authorization: Bearer hunter2"), ("header", "X-Api-Key:hunter2"),
                ("proxy", "http://ann:hunter2@127.0.0.1:1"), ("alternative", "https://ann:hunter2@h/a.png"),
            ]
            var kf = kf
            if isFile {
                try kf.home.write(".config/kf/config", values.map { "\($0) = \"\($1)\"" }.joined(separator: "\n"))
            } else {
                for (name, lines) in Dictionary(grouping: values, by: \.0) {
                    kf.environment["KF_\(name.uppercased())"] = lines.map(\.1).joined(separator: "\n")
                }
            }
            for arguments in [["config"], ["config", "--json"]] {
                let result = try await kf.run(arguments)
                #expect(result.status == 0, "\(result)")
                #expect(!result.output.contains("hunter2") && !result.output.contains("ann"), "\(result)")
                for shown in ["Authorization: •••", "X-Api-Key: •••", "http://•••@127.0.0.1:1", "https://•••@h/a.png"] {
                    #expect(result.output.contains(shown), "\(shown) in \(result)")
                }
            }
            let rows = try await kf.run("config", "--json").objects()
            #expect(rows.first { $0["option"] as? String == "user" }?["value"] as? String == "•••")
        }

        @Test("A proxy that cannot be used is named without its password", arguments: ["--proxy", "http_proxy"])
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
