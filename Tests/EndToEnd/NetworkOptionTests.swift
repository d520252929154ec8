import Foundation
import Support
import Synchronization
import Testing

/// Each option that says how an origin is asked, seen from the origin.
@Suite("Options of the network", .bounded, .ownThread) struct NetworkOptionTests {
    private static let picture = Result {
        [UInt8](try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/rgb.png")))
    }

    private func server(_ script: @escaping @Sendable (FaultRequest) -> [FaultStep]) throws -> FaultServer {
        try FaultServer(script)
    }

    private func pictures() throws -> FaultServer {
        let body = try Self.picture.get()
        return try server { _ in [.reply(body: body)] }
    }

    @Test("--header, --user-agent and --user reach the origin")
    func headers() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        let result = try await kf.run(
            "fetch", server.url("/a.png"), "-H", "X-One: 1", "--header", "X-Two:2", "--user-agent", "me/1", "-u",
            "ann:pa ss")
        #expect(result.status == 0)
        let request = try #require(server.requests.first)
        #expect(request.header("X-One") == "1")
        #expect(request.header("X-Two") == "2")
        #expect(request.header("User-Agent") == "me/1")
        #expect(request.header("Authorization") == "Basic \(Data("ann:pa ss".utf8).base64EncodedString())")
    }

    @Test("Every header that may say who asks is a part of the key, and is nowhere to be read")
    func identity() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        for arguments in [[], ["-u", "ann:secret"], ["-H", "Cookie: secret"], ["-H", "X-Other: secret"]] {
            let result = try await kf.run(["fetch", server.url("/a.png"), "--json"] + arguments)
            #expect(result.status == 0)
            #expect(!result.output.contains("secret"))
        }
        #expect(server.requests.count == 4)
        let index = try Data(contentsOf: kf.cacheDirectory.appendingPathComponent("v1/index.sqlite"))
        #expect(index.range(of: Data("secret".utf8)) == nil)
    }

    @Test("--netrc looks into ~/.netrc, nothing else does")
    func netrc() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        try Data("machine 127.0.0.1 login ann password word\n".utf8).write(to: kf.home.path(".netrc"))
        #expect(try await kf.run("fetch", server.url("/a.png")).status == 0)
        #expect(try await kf.run("fetch", server.url("/b.png"), "--netrc").status == 0)
        #expect(server.requests.map { $0.header("Authorization") != nil } == [false, true])
    }

    @Test("--cookie-jar keeps cookies between runs; without it there are none")
    func cookieJar() async throws {
        let body = try Self.picture.get()
        let server = try server { _ in
            [.reply(headers: ["Set-Cookie: session=secret; Path=/; Max-Age=3600"], body: body)]
        }
        let other = try pictures()
        let kf = try KFCommand()
        let sent = { (server: FaultServer) in server.requests.map { $0.header("Cookie") } }

        // Within one run, the cookie of the first answer goes to the same host alone.
        let first = try await kf.run(
            "fetch", server.url("/a.png"), server.url("/b.png"), "http://localhost:\(other.port)/c.png", "-j", "1",
            "--cookie-jar", "jar")
        #expect(first.status == 0, "\(first)")
        #expect(sent(server) == [nil, "session=secret"] && sent(other) == [nil])
        let jar = kf.home.path("jar")
        let lines = try String(contentsOf: jar, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == 1 && lines[0].hasSuffix("\tsession\tsecret"), "\(lines)")
        #expect(try FileManager.default.attributesOfItem(atPath: jar.path)[.posixPermissions] as? Int == 0o600)

        // The jar has another content now, and so the image another key. A later expiry changes nothing.
        #expect(try await kf.run("fetch", server.url("/a.png"), "--cookie-jar", "jar").status == 0)
        #expect(sent(server) == [nil, "session=secret", "session=secret"])
        let text = try String(contentsOf: jar, encoding: .utf8)
        let expiry = try #require(lines[0].split(separator: "\t").dropFirst(4).first)
        try text.replacingOccurrences(of: expiry, with: "4102444800").write(to: jar, atomically: true, encoding: .utf8)
        #expect(try await kf.run("fetch", server.url("/a.png"), "--cookie-jar", "jar").status == 0)
        #expect(server.requests.count == 3)
        try text.replacingOccurrences(of: "secret", with: "another").write(to: jar, atomically: true, encoding: .utf8)
        #expect(try await kf.run("fetch", server.url("/a.png"), "--only-from-cache", "--cookie-jar", "jar").status == 1)

        // A link stays one, and another name of the same jar is the same jar. (A server without cookies leaves its content
        // as it is, and so the key.)
        try FileManager.default.createSymbolicLink(at: kf.home.path("link"), withDestinationURL: jar)
        #expect(try await kf.run("fetch", other.url("/d.png"), "--cookie-jar", "link").status == 0)
        let again = try await kf.run("fetch", other.url("/d.png"), "--only-from-cache", "--cookie-jar", "./jar")
        #expect(again.status == 0, "\(again)")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: kf.home.path("link").path) == jar.path)

        // Nothing of it without the option, and the value stands nowhere in the cache.
        #expect(try await kf.run("fetch", server.url("/a.png"), "-v").status == 0)
        #expect(sent(server).last == .some(nil) && server.requests.count == 4)
        let index = try Data(contentsOf: kf.cacheDirectory.appendingPathComponent("v1/index.sqlite"))
        #expect(index.range(of: Data("secret".utf8)) == nil)
    }

    @Test("a cookie jar that cannot be written is an error before any request")
    func unusableCookieJar() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        #expect(mkfifo(kf.home.path("fifo").path, 0o600) == 0)
        let huge = try kf.home.write("huge", "")
        #expect(truncate(huge.path, 1 << 43) == 0)
        for jar in ["/proc/jar", ".", "fifo", "huge"] {
            let result = try await kf.run("fetch", server.url("/a.png"), "--cookie-jar", jar)
            #expect(result.status == 1 && result.errors.contains("cookie jar "), "\(result)")
        }
        let missing = try await kf.run("fetch", server.url("/a.png"), "--cookie-jar", "missing/jar")
        #expect(missing.status == 2 && missing.errors.contains("--cookie-jar: missing: "), "\(missing)")
        #expect(server.requests.isEmpty)
    }

    @Test("Files of options without an end are an error before any request")
    func endlessFiles() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        let huge = try kf.home.write(".netrc", "")
        #expect(truncate(huge.path, 1 << 43) == 0)
        let uses = [["--netrc"], ["--cacert", ".netrc"], ["--cacert", "/dev/zero"]]
        for options in uses {
            let result = try await kf.run(["fetch", server.url("/a.png")] + options, timeout: .seconds(20))
            let isRefused = result.errors.contains("larger than 64 MiB") || result.errors.contains("a device")
            #expect(result.status == 1 && isRefused, "\(options): \(result)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("--proxy is asked in place of the host")
    func proxy() async throws {
        let proxy = try pictures()
        let kf = try KFCommand()
        let result = try await kf.run("fetch", "http://nowhere.invalid/a.png", "--proxy", proxy.url(""))
        #expect(result.status == 0)
        #expect(proxy.requests.first?.path == "http://nowhere.invalid/a.png")
    }

    @Test("--max-redirects is how many are followed")
    func redirects() async throws {
        let body = try Self.picture.get()
        let server = try server { request in
            request.path == "/3.png"
                ? [.reply(body: body)]
                : [.reply("302 Found", headers: ["Location: /\(Int(request.path.dropFirst().prefix(1))! + 1).png"])]
        }
        let kf = try KFCommand()
        #expect(try await kf.run("fetch", server.url("/0.png"), "--max-redirects", "2").status == 1)
        #expect(try await kf.run("fetch", server.url("/0.png"), "--max-redirects", "3").status == 0)
    }

    @Test("--max-bytes refuses what is larger, announced or not")
    func maxBytes() async throws {
        let body = try Self.picture.get()
        let server = try server { request in
            request.path == "/announced.png"
                ? [.reply(body: body)] : [.text("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), .send(body), .close]
        }
        let kf = try KFCommand()
        for path in ["/announced.png", "/streamed.png"] {
            let item = try await kf.run(
                "fetch", server.url(path), "--json", "--max-bytes", "\(body.count - 1)"
            ).items().first
            #expect(item?.error?.code == 2009)
            #expect(try await kf.run("fetch", server.url(path), "--max-bytes", "\(body.count)").status == 0)
        }
    }

    @Test("--deny-private refuses this machine, by whatever name")
    func denyPrivate() async throws {
        let server = try pictures()
        let kf = try KFCommand()
        for url in [server.url("/a.png"), "http://localhost:\(server.port)/a.png", "http://2130706433:\(server.port)/"]
        {
            #expect(try await kf.run("fetch", url, "--deny-private", "--retry", "0").status == 1)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("--max-time ends a transfer that comes steadily but slowly")
    func maxTime() async throws {
        let body = try Self.picture.get()
        let server = try server { _ in
            [.head("HTTP/1.1 200 OK", "Content-Length: \(body.count)"), .drip(body, every: .milliseconds(50))]
        }
        let kf = try KFCommand()
        let item = try await kf.run("fetch", server.url("/a.png"), "--json", "--max-time", "300ms", "--retry", "0")
            .items().first
        #expect(item?.error?.message.contains("longer than 0.3 s") == true)
    }

    @Test("--retry and --retry-delay: so often, and so far apart")
    func retries() async throws {
        let server = try server { _ in [.reply("503 Service Unavailable")] }
        let kf = try KFCommand()
        let started = ContinuousClock.now
        let item = try await kf.run(
            "fetch", server.url("/a.png"), "--json", "--retry", "3", "--retry-delay", "accumulated:20ms"
        ).items().first
        #expect(item?.httpStatus == 503)
        #expect(server.requests.count == 4)
        #expect(started.duration(to: .now) > .milliseconds(20 + 40 + 60))
    }

    @Test("--alternative is asked when the source fails; with all failed, every error is told")
    func alternatives() async throws {
        let server = try pictures()
        let broken = try self.server { _ in [.reply("404 Not Found")] }
        let kf = try KFCommand()
        let good = try await kf.run("fetch", broken.url("/a.png"), "--alternative", server.url("/b.png"), "--json")
            .items()
        #expect(good.first?.status == "fetched")
        let bad = try await kf.run("fetch", broken.url("/c.png"), "--alternative", broken.url("/d.png"), "--json")
            .items()
        #expect(bad.first?.error?.code == 5004)
        #expect(bad.first?.error?.message.components(separatedBy: "404").count == 3)
    }

    @Test("--cache-policy http obeys the server, ttl does not")
    func cachePolicy() async throws {
        let body = try Self.picture.get()
        let server = try server { request in
            request.header("If-None-Match") == nil
                ? [.reply(headers: ["Cache-Control: no-cache", "ETag: \"1\""], body: body)]
                : [.head("HTTP/1.1 304 Not Modified", "ETag: \"1\"")]
        }
        let kf = try KFCommand()
        var ways: [String?] = []
        for policy in ["http", "http", "ttl"] {
            ways.append(
                try await kf.run("fetch", server.url("/a.png"), "--json", "--cache-policy", policy).items().first?
                    .status)
        }
        #expect(ways == ["fetched", "revalidated", "revalidated"])
        #expect(try await kf.run("fetch", server.url("/a.png"), "--json").items().first?.status == "disk")
    }

    @Test("--stale-if-error uses what has expired when the origin is down")
    func staleIfError() async throws {
        let body = try Self.picture.get()
        let isDown = Atomic(false)
        let server = try server { _ in
            isDown.load(ordering: .relaxed) ? [.reply("500 Internal Server Error")] : [.reply(body: body)]
        }
        let kf = try KFCommand()
        #expect(try await kf.run("fetch", server.url("/a.png"), "--expire", "1ms").status == 0)
        isDown.store(true, ordering: .relaxed)
        #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
        let item = try await kf.run("fetch", server.url("/a.png"), "--retry", "0", "--stale-if-error", "1h", "--json")
            .items()
        #expect(item.first?.status == "stale")
        #expect(try await kf.run("fetch", server.url("/a.png"), "--only-from-cache").status == 1)
        #expect(
            try await kf.run("fetch", server.url("/a.png"), "--only-from-cache", "--stale-if-error", "1h").status == 0)
    }

    @Test("--revalidate asks about what is fresh; --stale-while-revalidate uses what expired, and asks afterwards")
    func revalidating() async throws {
        let body = try Self.picture.get()
        let server = try server { request in
            request.header("If-None-Match") == nil
                ? [.reply(headers: ["ETag: \"1\""], body: body)] : [.head("HTTP/1.1 304 Not Modified", "ETag: \"1\"")]
        }
        let kf = try KFCommand()
        let url = server.url("/a.png")
        func way(_ options: String...) async throws -> String? {
            try await kf.run(["fetch", url, "--json"] + options).items().first?.status
        }
        #expect(try await way() == "fetched")
        #expect(try await way() == "disk")
        #expect(try await way("--revalidate") == "revalidated")
        try kf.home.write("list.txt", url + "\n")
        let summary = try await kf.run("prefetch", "list.txt", "--revalidate", "--json")
        #expect(summary.output.contains("\"revalidated\""))
        #expect(server.requests.count == 3)
        #expect(try await kf.run("fetch", url, "--revalidate", "--only-from-cache").status == 2)

        #expect(try await way("--revalidate", "--expire", "1ms") == "revalidated")
        #expect(try await way("--stale-while-revalidate", "1h") == "stale")
        // The process has asked before it ended.
        #expect(server.requests.count == 5)
        #expect(try await way() == "disk")
    }

    @Test("--scale counts a processor's sizes in points")
    func scale() async throws {
        let kf = try KFCommand()
        let item = try await kf.run(
            "fetch", FixturesDirectory.url.appendingPathComponent("png/rgb.png").path, "-p", "resize:8x8", "--scale",
            "2", "--json"
        ).items().first
        #expect(item?.width == 16)
    }

    @Test(
        "Values that are none",
        arguments: [
            ["-H", "NoColon"], ["-H", "Bad Name: 1"], ["-H", "X: a\nb"], ["-u", "ann"], ["--retry-delay", "often"],
            ["--max-redirects", "-1"], ["--max-bytes", "many"], ["--alternative", "ftp://h/a"],
            ["--cache-policy", "no"],
            ["--stale-if-error", "long"], ["--max-time", "x"], ["--scale", "0"],
        ])
    func mistakes(_ arguments: [String]) async throws {
        let result = try await KFCommand().run(["fetch", "http://127.0.0.1:1/a.png"] + arguments)
        #expect(result.status == 2)
        #expect(
            result.errors.contains(
                arguments[0] == "-H" ? "--header" : arguments[0] == "-u" ? "--user" : arguments[0]))
    }
}
