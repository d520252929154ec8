import Foundation
import Support
import Testing

/// One canary in each kind of secret, and every other place that a request leads to.
@Suite("Secrets and their origins", .bounded, .ownThread) struct SecretScopeTests {
    /// How the source gets its password.
    enum Way: CaseIterable { case user, userInfo, netrc }

    /// What a server got, or a file holds, with the passwords in it decoded.
    private static func canaries(in text: String) -> Set<String> {
        var text = text
        for match in text.matches(of: /Basic ([A-Za-z0-9+\/=]+)/) {
            text += Data(base64Encoded: String(match.1)).map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
        }
        return Set(
            text.matches(of: /canary-(password|header|cookie|jar|signature|mirror|remote|proxy)/).map { String($0.1) })
    }

    private static func canaries(in server: FaultServer) -> Set<String> {
        canaries(in: server.requests.map { "\($0)\n" + String(decoding: $0.body, as: UTF8.self) }.joined())
    }

    /// The passwords of a kind as Basic authentication sends them.
    private static func encoded(_ name: String) -> [String] {
        ["ann", "bob", "eve"].map { Data("\($0):canary-\(name)".utf8).base64EncodedString() }
    }

    @Test("The secrets of a source reach no other origin", arguments: Way.allCases)
    func others(way: Way) async throws {
        let image = try FixturesDirectory.bytes("png/rgb.png")
        func server(_ number: Int, has: @escaping @Sendable (FaultRequest) -> Bool = { _ in true }) throws
            -> FaultServer
        {
            try FaultServer(address: "127.0.0.\(number)") { request in
                request.method == "GET" && has(request) ? [.reply(body: image)] : [.reply("404 Not Found", body: [])]
            }
        }
        let (target, alternative, overlay, standIn) = (try server(2), try server(3), try server(4), try server(5))
        let mirror = try server(6) { $0.path.hasPrefix("/m/mirrored") }
        let remote = try server(7) { _ in false }
        let redirect = "Location: " + target.url("/b.png")
        let origin = try FaultServer { request in
            if request.path.hasPrefix("/moved") { return [.reply("302 Found", headers: [redirect], body: [])] }
            return [request.path.hasPrefix("/own") ? .reply(body: image) : .reply("404 Not Found", body: [])]
        }
        let kf = try KFCommand.withoutRetries()
        var own = [
            "-H", "X-Api-Key: canary-header", "-H", "Cookie: a=canary-cookie", "--cookie-jar", "jar", "--key-ignore",
            "sig",
            "--mirror", "\(origin.url())=\(mirror.url("/m", user: "bob:canary-mirror"))",
            "--remote", remote.url("/r", user: "eve:canary-remote"), "--remote-write", "--json", "-v",
        ]
        try kf.home.write("jar", "127.0.0.1\tFALSE\t/\tFALSE\t0\tb\tcanary-jar\n")
        switch way {
        case .user: own += ["-u", "ann:canary-password"]
        case .userInfo: break
        case .netrc:
            try kf.home.write(".netrc", "machine 127.0.0.1 login ann password canary-password\n")
            own.append("--netrc")
        }
        let urls = ["moved", "gone", "own", "mirrored"].map { name in
            origin.url("/\(name).png?sig=canary-signature", user: way == .userInfo ? "ann:canary-password" : nil)
        }
        let list = try await kf.run(
            ["prefetch", "-", "--alternative", alternative.url("/c.png"), "-p", "watermark:\(overlay.url("/e.png"))"]
                + own
                + ["-P", "out", "--results", "rows.csv", "--lock", "images.lock"],
            input: Data(urls.joined(separator: "\n").utf8))
        #expect(list.status == 0, "\(list)")
        let failed = try await kf.run(
            ["prefetch", "-", "--on-failure", standIn.url("/f.png"), "-P", "out", "--failures", "failed"] + own,
            input: Data(urls[1].utf8))
        #expect(failed.status == 1, "\(failed)")
        _ = try await kf.run("cache", "report", "-o", "page.html")

        for other in [target, alternative, overlay, standIn] {
            #expect(!other.requests.isEmpty && Self.canaries(in: other) == [], "\(other.requests)")
        }
        #expect(Self.canaries(in: mirror) == ["mirror"] && Self.canaries(in: remote).isSubset(of: ["remote"]))
        #expect(Self.canaries(in: origin) == ["password", "header", "cookie", "jar", "signature"])
        try expectNoCanaries(kf, list, failed)
    }

    /// A query is no secret of its own: the index, JSON, rows and lists of failures have whole URLs.
    private func expectNoCanaries(_ kf: KFCommand, _ results: CommandResult...) throws {
        var texts = results.enumerated().flatMap {
            [("output \($0)", $1.standardOutput), ("errors \($0)", $1.standardError)]
        }
        for name in TemporaryDirectory.files(in: kf.home.url) where name != ".netrc" && name != "jar" {
            texts.append((name, try kf.contents(name)))
        }
        #expect(texts.contains { $0.0.contains("index.sqlite") })
        for (name, data) in texts {
            let text = String(decoding: data, as: UTF8.self)
            // The lines of a list that failed are written as they are.
            if name == "failed" { continue }
            #expect(Self.canaries(in: text).isSubset(of: ["signature"]), "\(name)")
            #expect(!["password", "mirror", "remote"].flatMap(Self.encoded).contains { text.contains($0) }, "\(name)")
            // Messages, copies, locks and what others may see have no query either.
            let hasURLs =
                name.hasPrefix("output") || name.contains("index.sqlite") || name == "rows.csv"
            if !hasURLs { #expect(!text.contains("canary"), "\(name)") }
        }
    }

    @Test("A proxy gets its own password and no secret of a source")
    func proxy() async throws {
        let image = try FixturesDirectory.bytes("png/rgb.png")
        let proxy = try FaultServer(address: "127.0.0.8") { _ in [.reply("502 Bad Gateway", body: []), .close] }
        let direct = try FaultServer(address: "127.0.0.9") { _ in [.reply(body: image)] }
        var kf = try KFCommand.withoutRetries()
        kf.environment["https_proxy"] = proxy.url("", user: "eve:canary-proxy")
        kf.environment["no_proxy"] = "127.0.0.9"
        let result = try await kf.run(
            "fetch", "https://127.0.0.1:9/a.png?sig=canary-signature", "--alternative", direct.url("/b.png"), "-u",
            "ann:canary-password", "-H", "X-Api-Key: canary-header", "--json", "-v")
        #expect(result.status == 0, "\(result)")
        #expect(Self.canaries(in: proxy) == ["proxy"] && proxy.requests.first?.method == "CONNECT")
        #expect(direct.requests.count == 1 && Self.canaries(in: direct) == [])
        try expectNoCanaries(kf, result)
    }

    @Test("A client certificate is presented to the origins of sources alone", .enabled(if: FileServer.isInstalled))
    func certificate() async throws {
        let certificates = try await TestCertificates.shared
        func server(_ lines: String...) throws -> FileServer {
            let asking = ["ssl_client_certificate \(certificates.authority);", "ssl_verify_client optional;"]
            return try FileServer(configuration: asking + lines, identity: certificates.identity(.good))
        }
        // Whoever presents a certificate here gets no image.
        let other = try server("if ($ssl_client_verify != NONE) { return 418; }", "location /remote { return 404; }")
        let image = "png/rgb.png"
        let own = try server(
            "if ($ssl_client_verify != SUCCESS) { return 403; }",
            FileServer.redirecting("/moved.png", to: other.secureURL("\(image)?moved")))
        let kf = try KFCommand.withoutRetries()
        let identity = certificates.identity(.wrongHost)
        let options = [
            "--cacert", certificates.authority, "--cert", identity.certificate, "--cert-key", identity.key, "--mirror",
            "\(own.secureURL("mirrored"))=\(other.secureURL("png"))", "--remote", other.secureURL("remote"), "--json",
            "-j",
            "1",
        ]
        let sources = ["moved.png", "gone.png", image, "mirrored/rgb.png"].map { own.secureURL($0) }
        let result = try await kf.run(
            ["fetch"] + sources + options
                + ["--alternative", other.secureURL(image), "-p", "watermark:\(other.secureURL("png/rgba.png"))"])
        #expect(result.status == 0, "\(result)")
        // The other server is a source now, on the connections of one run.
        let both = ["fetch", own.secureURL("\(image)?1"), other.secureURL("\(image)?2"), own.secureURL("moved.png?3")]
        let last = try await kf.run(both + options)
        #expect(try last.items().map(\.httpStatus) == [200, 418, 200], "\(last)")
        let failed = try await kf.run(
            ["fetch", own.secureURL("gone.png"), "--on-failure", other.secureURL("png/grey.png"), "-o", "f.png"]
                + options)
        #expect(failed.status == 1)
        #expect(try kf.contents("f.png") == FixturesDirectory.named("png/grey.png").data)
        let refused = try await (own.requests() + other.requests()).filter { ![200, 302, 404].contains($0.status) }
        #expect(refused.map(\.path) == ["/\(image)?2"], "\(refused)")
    }
}
