import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Passwords")
    struct PasswordTests {
        let kf: KFCommand
        private let png = FixturesDirectory.image("png/one-pixel.png")

        init() throws { kf = try .withoutRetries() }

        private func prefetch(_ urls: [String], _ options: String...) async throws -> CommandResult {
            try kf.home.write("list.txt", urls.map { $0 + "\n" }.joined())
            return try await kf.run(["prefetch", "list.txt", "-u", "ann:secret"] + options)
        }

        private func server(
            _ algorithm: String? = nil, quality: String? = "auth", usesPerNonce: Int = .max
        ) throws -> DigestServer {
            try DigestServer(algorithm: algorithm, quality: quality, usesPerNonce: usesPerNonce) { [png] _ in
                [.reply(headers: ["Connection: keep-alive"], body: png)]
            }
        }

        @Test("Digest costs a request for each place, not for each image", arguments: ["basic", "digest", "any"])
        func digest(method: String) async throws {
            let server = try server()
            let urls = (0..<300).map { server.url("/\($0).png?a=b&c") }
            let result = try await prefetch(urls, "--auth", method)
            #expect(result.status == 0, "\(result)")
            let seen = server.seen
            #expect(seen.count { $0 == .digest } == 300 && seen.count <= 300 + 2 * 8, "\(seen.count) requests")
            // Those that had begun before the first challenge.
            #expect(seen.count { $0 == .basic } <= (method == "basic" ? 8 : 0))
            let first = try #require(seen.firstIndex(of: .digest))
            #expect(!seen[(first + 16)...].contains(.basic) && !seen.contains(.wrong) && !seen.contains(.stale))
        }

        @Test(
            "Each algorithm and quality of protection is answered",
            arguments: ["MD5", "SHA-256", "MD5-sess", "SHA-256-sess"], ["auth", "auth-int,auth", nil])
        func algorithms(algorithm: String, quality: String?) async throws {
            let server = try server(algorithm, quality: quality)
            let result = try await prefetch((0..<4).map { server.url("/a/../\($0).png") }, "-j", "1")
            #expect(result.status == 0 && server.seen == [.basic] + Array(repeating: .digest, count: 4), "\(result)")
            // One at a time, the count grows with each request.
            guard quality != nil else { return }
            let counts = server.requests.compactMap { $0.header("Authorization")?.firstMatch(of: /nc=([0-9a-f]+)/)?.1 }
            #expect(counts == ["00000001", "00000002", "00000003", "00000004"])
        }

        @Test("A stale nonce is renewed")
        func stale() async throws {
            let server = try server(usesPerNonce: 10)
            let result = try await prefetch((0..<100).map { server.url("/\($0).png") }, "--auth", "digest", "-j", "1")
            #expect(result.status == 0, "\(result)")
            #expect(server.seen.count { $0 == .digest } == 100 && server.seen.count { $0 == .stale } == 9)
            #expect(server.seen.count == 110)
            let many = try await prefetch((100..<300).map { server.url("/\($0).png") }, "--auth", "digest")
            #expect(many.status == 0 && !server.seen.contains(.wrong), "\(many)")
        }

        @Test("A wrong password ends with a 401", arguments: ["basic", "digest", "any"])
        func wrong(method: String) async throws {
            let server = try server()
            let result = try await kf.run("fetch", server.url("/a.png"), "-u", "ann:wrong", "--auth", method)
            #expect(result.status == 1 && result.errors.contains("401 Unauthorized"), "\(result)")
            #expect(server.seen == [method == "basic" ? .basic : .none, .wrong])
        }

        @Test("Basic follows a challenge with any, and never with digest", arguments: ["digest", "any"])
        func basic(method: String) async throws {
            let server = try FaultServer { [png] request in
                guard request.header("Authorization") == "Basic YW5uOnNlY3JldA==" else {
                    let challenge = "WWW-Authenticate: Basic realm=\"r\""
                    return [.reply("401 Unauthorized", headers: [challenge, "Connection: keep-alive"])]
                }
                return [.reply(headers: ["Connection: keep-alive"], body: png)]
            }
            let result = try await prefetch((0..<60).map { server.url("/\($0).png") }, "--auth", method)
            let sent = server.requests.compactMap { $0.header("Authorization") }.count
            #expect(result.status == (method == "any" ? 0 : 1), "\(result)")
            #expect(sent == (method == "any" ? 60 : 0) && server.requests.count <= 60 + 8)
        }

        @Test("A password for strangers is never sent", arguments: ["digest", "any"])
        func strangers(method: String) async throws {
            let server = try FaultServer { [png] _ in [.reply(body: png)] }
            let result = try await prefetch([server.url("/a.png")], "--auth", method)
            #expect(result.status == 0 && server.requests.allSatisfy { $0.header("Authorization") == nil }, "\(result)")
            // An origin may serve strangers another image, so that the two have entries of their own.
            #expect(try await prefetch([server.url("/a.png")]).errors.contains("1 fetched"))
        }

        @Test("An Authorization header takes the place of the password", arguments: ["basic", "digest", "any"])
        func ownHeader(method: String) async throws {
            let server = try server()
            try kf.home.write(".netrc", "machine 127.0.0.1 login ann password secret\n")
            for password in [["-u", "ann:secret"], ["--netrc"]] {
                let options = password + ["--auth", method, "-H", "Authorization: Bearer token"]
                let result = try await kf.run(["fetch", server.url("/a.png")] + options)
                #expect(result.status == 1 && result.errors.contains("401 Unauthorized"), "\(result)")
            }
            // Each run asks once: the same request again would be refused again.
            #expect(server.requests.map { $0.header("Authorization") } == ["Bearer token", "Bearer token"])
        }

        @Test("The password does not follow a redirect to another origin that wants Digest")
        func redirected() async throws {
            let other = try server()
            let target = other.url("/b.png")
            let server = try DigestServer { _ in [.reply("302 Found", headers: ["Location: \(target)"], body: [])] }
            let result = try await prefetch([server.url("/a.png")])
            #expect(result.status == 1 && result.errors.contains("401 Unauthorized"), "\(result)")
            #expect(server.seen == [.basic, .digest] && other.seen == [.none])
        }

        @Test("Passwords of netrc files and of URLs answer Digest", arguments: ["basic", "digest", "any"])
        func ofCurl(method: String) async throws {
            let server = try server()
            try kf.home.write(".netrc", "machine 127.0.0.1 login ann password secret\n")
            let urls = (0..<3).map { server.url("/\($0).png") }
            let result = try await kf.run(["fetch", "-j", "1", "--netrc", "--auth", method] + urls)
            let first = method == "basic" ? DigestServer.Scheme.basic : .none
            #expect(result.status == 0 && server.seen == [first, .digest, .digest, .digest], "\(result)")
            let url = server.url("/u.png").replacing("127.0.0.1", with: "ann:secret@127.0.0.1")
            #expect(try await kf.run("fetch", "--auth", method, url).status == 0)
        }
    }
}
