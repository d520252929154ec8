import Foundation
import Support
import Synchronization
import Testing

/// Each option that says how an origin is asked, seen from the origin.
@Suite("Network options", .bounded, .ownThread) struct NetworkOptionTests {
    private let kf: KFCommand
    private let body: [UInt8]

    init() throws {
        kf = try KFCommand()
        body = try FixturesDirectory.bytes("png/rgb.png")
    }

    private func pictures() throws -> FaultServer { try FaultServer { [body] _ in [.reply(body: body)] } }

    @Test("Headers, user agent and user reach the origin")
    func headers() async throws {
        let server = try pictures()
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

    @Test("The trace of the caller reaches the origin and no cache key")
    func trace() async throws {
        let server = try pictures()
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        _ = try await kf.with(["TRACEPARENT": trace]).run("fetch", server.url("/a.png"), "-q")
        #expect(server.requests.map { $0.header("traceparent") } == [trace])
        #expect(try await kf.run("fetch", server.url("/a.png"), "--json").item().status == "disk")
        for wrong in ["x", trace + "\r\nX-A: b", trace.uppercased()] {
            _ = try await kf.with(["TRACEPARENT": wrong]).run("fetch", server.url("/a.png"), "--force-refresh", "-q")
            #expect(server.requests.last?.header("traceparent") == nil)
        }
    }

    @Test("A certificate opens what asks for it, for its owner alone")
    func clientCertificate() async throws {
        let certificates = try await TestCertificates.shared
        let good = certificates.identity(.wrongHost)
        let files = try TemporaryDirectory()
        try files.write("a.png", Data(body))
        let server = try FileServer(
            files: files,
            configuration: ["ssl_client_certificate \(certificates.authority);", "ssl_verify_client on;"],
            identity: certificates.identity(.good))
        let url = server.secureURL("a.png")
        let own = ["--cacert", certificates.authority, "--cert", good.certificate, "--cert-key", good.key]
        let item = try await kf.run(["fetch", url, "--json"] + own).item()
        #expect(item.status == "fetched" && item.path != nil, "\(item)")
        #expect(try await kf.run(["cache", "path", url] + own.prefix(4)).output == "\(item.path ?? "")\n")
        let other = try await kf.run("fetch", url, "--cacert", certificates.authority)
        #expect(other.status == 1 && kf.cachedObjects().count == 1, "\(other)")
        for wrong in [["--cert", "none.pem"], ["--cert-key", good.key]] {
            #expect(try await kf.run(["fetch", "https://h/a.png"] + wrong).status == 2)
        }
    }

    @Test("A server that also serves strangers gets the certificate at once", arguments: ["--http1.1", "--no-http1.1"])
    func optionalCertificate(version: String) async throws {
        let certificates = try await TestCertificates.shared
        let good = certificates.identity(.wrongHost)
        let files = try TemporaryDirectory()
        try files.write("SUCCESS/a.png", Data(body))
        try files.write("NONE/a.png", FixturesDirectory.named("png/grey.png").data)
        let server = try FileServer(
            files: files,
            configuration: [
                "ssl_client_certificate \(certificates.authority);", "ssl_verify_client optional;",
                "location /own/ { alias \(files.url.path)/$ssl_client_verify/; }",
            ],
            identity: certificates.identity(.good))
        let urls = ["a.png", "a.png?2"].map { server.secureURL("own/\($0)") }
        let stranger = ["fetch", "-j", "1", "--json", "--cacert", certificates.authority, version] + urls
        let own = stranger + ["--cert", good.certificate, "--cert-key", good.key]
        for (arguments, ways) in [(own, "fetched"), (stranger, "fetched"), (own, "disk"), (stranger, "disk")] {
            let items = try await kf.run(arguments).items()
            #expect(
                items.allSatisfy { $0.status == ways && ($0.bytes == body.count) == (arguments == own) }, "\(items)")
        }
        #expect(try await server.requests().count == 4)
        #expect(try await kf.run(["cache", "path", urls[0], "--cert", "none.pem"]).status == 2)
    }

    @Test("An alternative may be a file")
    func alternativeFile() async throws {
        let server = try FaultServer { _ in [.reply("404 Not Found", body: [])] }
        let file = FixturesDirectory.path("png/grey.png")
        let result = try await kf.run("fetch", server.url("/a.png"), "--alternative", file, "-o", "-")
        #expect(try result.status == 0 && result.standardOutput == FixturesDirectory.named("png/grey.png").data)
        #expect(try await kf.run("fetch", server.url("/a.png"), "--alternative", "missing.png").status == 2)
    }

    @Test("Another image is written for one that failed", arguments: ["fetch", "prefetch"])
    func onFailure(command: String) async throws {
        let server = try FaultServer { [body] request in
            request.path == "/good.png" ? [.reply(body: body)] : [.reply("404 Not Found", body: [])]
        }
        let urls = ["/good.png", "/gone.png"].map { server.url($0) }
        let file = FixturesDirectory.path("png/grey.png")
        func run(_ options: String...) async throws -> CommandResult {
            let options = ["-P", "out", "--retry", "0", "-p", "resize:40x", "--on-failure", file, "--json"] + options
            return command == "fetch"
                ? try await kf.run([command] + urls + options)
                : try await kf.run([command, "-"] + options, input: Data(urls.joined(separator: "\n").utf8))
        }
        for (options, status) in [([String](), 1), (["--allow-failures"], 0)] as [([String], Int32)] {
            let result = try await run(options.first ?? "--no-allow-failures")
            #expect(result.status == status, "\(result)")
            let items = try result.items()
            let failed = try #require(items.first { $0.source == urls[1] })
            #expect(failed.status == "failed" && failed.output == "out/gone.png" && failed.error?.code == 2002)
            let expected = try await kf.run("fetch", file, "-p", "resize:40x", "-o", "-").standardOutput
            #expect(try kf.contents("out/gone.png") == expected)
            #expect(TemporaryDirectory.files(in: kf.home.path("out")) == ["gone.png", "good.png"])
        }
        #expect(try await kf.run("fetch", urls[1], "--retry", "0", "--on-failure", file, "-o", "one.png").status == 1)
        #expect(try kf.contents("one.png") == FixturesDirectory.named("png/grey.png").data)
        for wrong in [["--on-failure", file], ["--on-failure", "missing.png", "-P", "out"]] {
            #expect(try await kf.run(["fetch", urls[1]] + wrong).status == 2)
        }
        // The good image is cached by now.
        let options = ["--on-failure", "missing.png", "-P", "none", "--create-dirs"]
        let early = try await kf.run(["fetch", urls[0], urls[1]] + options)
        #expect(early.status == 2 && early.output.isEmpty, "\(early)")
        #expect(!FileManager.default.fileExists(atPath: kf.home.path("none/good.png").path))
    }

    @Test("All downloads together keep to a rate", arguments: [1, 24])
    func limitRate(count: Int) async throws {
        // One of some 400 KB, or as many bytes in small ones.
        let size = try FixturesDirectory.bytes("png/grey.png").count
        let large =
            try FixturesDirectory.bytes("png/grey.png") + [UInt8](repeating: 0, count: count == 1 ? 23 * size : 0)
        let server = try FaultServer { _ in [.reply(body: large)] }
        let urls = (0..<count).map { server.url("/\($0).png") }
        let free = try await kf.run(["fetch", "-q", "--force-refresh"] + urls)
        let bound = try await kf.run(["fetch", "-q", "--force-refresh", "--limit-rate", "200K/s"] + urls)
        #expect(free.status == 0 && bound.status == 0, "\(bound)")
        let seconds = Double(24 * size) / Double(200 << 10)
        #expect(bound.wall > .seconds(seconds * 0.7) && free.wall < bound.wall, "\(seconds) s: \(bound.wall)")
        for wrong in ["0", "100", "fast", "-1"] {
            #expect(try await kf.run("fetch", "x.png", "--limit-rate", wrong).status == 2)
        }
    }

    @Test("A cookie jar keeps cookies between runs")
    func cookieJar() async throws {
        let server = try FaultServer { [body] _ in
            [.reply(headers: ["Set-Cookie: session=secret; Path=/; Max-Age=3600"], body: body)]
        }
        let other = try pictures()
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

    @Test("An unusable cookie jar is an error before any request")
    func unusableCookieJar() async throws {
        let server = try pictures()
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

    @Test("An endless option file is an error before any request")
    func endlessFiles() async throws {
        let server = try pictures()
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

    @Test("A proxy is asked in place of the host")
    func proxy() async throws {
        let proxy = try pictures()
        let result = try await kf.run("fetch", "http://nowhere.invalid/a.png", "--proxy", proxy.url(""))
        #expect(result.status == 0)
        #expect(proxy.requests.first?.path == "http://nowhere.invalid/a.png")
    }

    @Test("The option --max-redirects limits redirects")
    func redirects() async throws {
        let server = try FaultServer { [body] request in
            request.path == "/3.png"
                ? [.reply(body: body)]
                : [.reply("302 Found", headers: ["Location: /\(Int(request.path.dropFirst().prefix(1))! + 1).png"])]
        }
        #expect(try await kf.run("fetch", server.url("/0.png"), "--max-redirects", "2").status == 1)
        #expect(try await kf.run("fetch", server.url("/0.png"), "--max-redirects", "3").status == 0)
    }

    @Test("The option --max-bytes refuses larger bodies")
    func maxBytes() async throws {
        let server = try FaultServer { [body] request in
            request.path == "/announced.png"
                ? [.reply(body: body)] : [.text("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), .send(body), .close]
        }
        for path in ["/announced.png", "/streamed.png"] {
            let item = try await kf.run(
                "fetch", server.url(path), "--json", "--max-bytes", "\(body.count - 1)"
            ).items().first
            #expect(item?.error?.code == 2009)
            #expect(try await kf.run("fetch", server.url(path), "--max-bytes", "\(body.count)").status == 0)
        }
    }

    @Test("The option --deny-private refuses every name of this machine")
    func denyPrivate() async throws {
        let server = try pictures()
        for url in [server.url("/a.png"), "http://localhost:\(server.port)/a.png", "http://2130706433:\(server.port)/"]
        {
            #expect(try await kf.run("fetch", url, "--deny-private", "--retry", "0").status == 1)
        }
        #expect(server.requests.isEmpty)
    }

    @Test("Retries follow the given count and delays")
    func retries() async throws {
        let server = try FaultServer { _ in [.reply("503 Service Unavailable")] }
        let started = ContinuousClock.now
        let item = try await kf.run(
            "fetch", server.url("/a.png"), "--json", "--retry", "3", "--retry-delay", "accumulated:20ms"
        ).items().first
        #expect(item?.httpStatus == 503 && item?.attempts == 4)
        #expect(server.requests.count == 4)
        #expect(started.duration(to: .now) > .milliseconds(20 + 40 + 60))
    }

    @Test("An alternative is tried when the source fails")
    func alternatives() async throws {
        let server = try pictures()
        let broken = try FaultServer { _ in [.reply("404 Not Found")] }
        let good = try await kf.run("fetch", broken.url("/a.png"), "--alternative", server.url("/b.png"), "--json")
            .items()
        #expect(good.first?.status == "fetched")
        let bad = try await kf.run("fetch", broken.url("/c.png"), "--alternative", broken.url("/d.png"), "--json")
            .items()
        #expect(bad.first?.error?.code == 5004)
        #expect(bad.first?.error?.message.components(separatedBy: "404").count == 3)
    }

    @Test("The cache policy decides whether the server is obeyed")
    func cachePolicy() async throws {
        let server = try FaultServer { [body] request in
            request.header("If-None-Match") == nil
                ? [.reply(headers: ["Cache-Control: no-cache", "ETag: \"1\""], body: body)]
                : [.head("HTTP/1.1 304 Not Modified", "ETag: \"1\"")]
        }
        var ways: [String?] = []
        for policy in ["http", "http", "ttl"] {
            ways.append(
                try await kf.run("fetch", server.url("/a.png"), "--json", "--cache-policy", policy).items().first?
                    .status)
        }
        #expect(ways == ["fetched", "revalidated", "revalidated"])
        #expect(try await kf.run("fetch", server.url("/a.png"), "--json").items().first?.status == "disk")
    }

    @Test("An expired image is served when the origin is down")
    func staleIfError() async throws {
        let isDown = Atomic(false)
        let server = try FaultServer { [body] _ in
            isDown.load(ordering: .relaxed) ? [.reply("500 Internal Server Error")] : [.reply(body: body)]
        }
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

    @Test("A fresh image can be revalidated, and an expired one served first")
    func revalidating() async throws {
        let server = try FaultServer { [body] request in
            request.header("If-None-Match") == nil
                ? [.reply(headers: ["ETag: \"1\""], body: body)] : [.head("HTTP/1.1 304 Not Modified", "ETag: \"1\"")]
        }
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

    @Test(
        "An invalid option value is a usage error",
        arguments: [
            ["-H", "NoColon"], ["-H", "Bad Name: 1"], ["-H", "X: a\nb"], ["-u", "ann"], ["--retry-delay", "often"],
            ["--max-redirects", "-1"], ["--max-bytes", "many"], ["--alternative", "ftp://h/a"],
            ["--cache-policy", "no"],
            ["--stale-if-error", "long"], ["--max-time", "x"],
        ])
    func mistakes(_ arguments: [String]) async throws {
        let result = try await KFCommand().run(["fetch", "http://127.0.0.1:1/a.png"] + arguments)
        #expect(result.status == 2)
        #expect(
            result.errors.contains(arguments[0] == "-H" ? "--header" : arguments[0] == "-u" ? "--user" : arguments[0]))
    }
}
