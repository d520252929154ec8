import KFNetwork
import Support
import Testing

private func redirect(to location: String, status: Int = 302) -> FaultStep {
    .reply("\(status) Moved", headers: ["Location: \(location)"], body: Array("moved".utf8))
}

@Suite("Redirects", .bounded)
struct RedirectTests {
    @Test("Redirects are followed over one connection", arguments: [301, 302, 303, 307, 308])
    func followed(_ status: Int) async throws {
        let server = try FaultServer { request in
            request.path == "/a/b.png" ? [redirect(to: "../c.png?x=1", status: status)] : [.reply()]
        }
        let fetched = await fetch(server.url("/a/b.png"))
        #expect(fetched.body == "hello")
        #expect(fetched.head?.via.count == 1)
        #expect(fetched.head?.effectiveURL == server.url("/c.png?x=1"))
        #expect(server.requests.map(\.path) == ["/a/b.png", "/c.png?x=1"])
        #expect(server.accepted == 1)
    }

    @Test("A response knows the redirects that led to it") func via() async throws {
        let other = try FaultServer { _ in [.reply()] }
        let target = other.url("/c").replacing("//", with: "//ann:word@")
        let server = try FaultServer { request in
            request.path == "/a"
                ? [.reply("302 Found", headers: ["Location: /b", "Cache-Control: private", "X-Long: 1"])]
                : [redirect(to: target, status: 301)]
        }
        let via = try #require(await fetch(server.url("/a")).head?.via)
        #expect(via.map(\.status) == [302, 301] && via.map(\.url) == [server.url("/a"), server.url("/b")])
        #expect(via.map { $0.headers["cache-control"] } == ["private", nil] && via[0].headers["X-Long"] == nil)
        #expect(via.allSatisfy { $0.address == "127.0.0.1" })
        #expect(via.map(\.givesCredentials) == [false, true])
    }

    @Test("A Location is asked for with the bytes that came", arguments: [[0xe9], [0xc3, 0xa9]] as [[UInt8]])
    func otherBytes(_ bytes: [UInt8]) async throws {
        let server = try FaultServer { request in
            if request.path != "/a" { return [.reply()] }
            let head = Array("HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /im/l".utf8)
            return [.send(head + bytes + Array(".png?é\r\n\r\n".utf8))]
        }
        #expect(await fetch(server.url("/a")).body == "hello")
        let escapes = bytes.map { "%" + String($0, radix: 16) }.joined()
        #expect(server.requests.last?.path == "/im/l\(escapes).png?%c3%a9")
    }

    @Test("A redirect loop ends at the limit") func loop() async throws {
        let server = try FaultServer { _ in [redirect(to: "/again", status: 302)] }
        let fetched = await fetch(server.url()) { $0.options.maxRedirects = 3 }
        #expect(fetched.error == .tooManyRedirects(limit: 3))
        #expect(server.requests.count == 4)
    }

    @Test(
        "Redirects to other schemes are refused",
        arguments: ["file:///etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/x", "FTP://127.0.0.1/x"])
    func schemes(_ location: String) async throws {
        let fetched = try await fetch(from: redirect(to: location))
        let scheme = location.split(separator: ":")[0].lowercased()
        #expect(fetched.error == .forbiddenRedirectScheme(scheme))
    }

    @Test("A redirect to a malformed address is refused") func malformed() async throws {
        #expect(try await fetch(from: redirect(to: "http://[::1")).error == .invalidRedirect)
    }

    @Test("Credentials are not sent to another origin") func credentials() async throws {
        let other = try FaultServer { _ in [.reply()] }
        let target = other.url("/there")
        let server = try FaultServer { request in
            [redirect(to: request.path == "/first" ? "/second" : target, status: 302)]
        }
        let fetched = await fetch(server.url("/first")) { request in
            request.options.credentials = .init(user: "me", password: "secret")
            request.headers = [
                ("Cookie", "a=b"), ("X-Api-Key", "k"), ("Host", "h"), ("Accept", "image/png"), ("DNT", "1"),
            ]
        }
        #expect(fetched.body == "hello")
        #expect(server.requests.count == 2)
        for request in server.requests {
            #expect(request.header("Authorization")?.hasPrefix("Basic ") == true)
            #expect(request.header("Cookie") == "a=b")
        }
        #expect(other.requests.count == 1)
        #expect(other.requests.first?.header("Authorization") == nil)
        #expect(other.requests.first?.header("Cookie") == nil)
        #expect(other.requests.first?.header("X-Api-Key") == nil)
        #expect(other.requests.first?.header("Host") == "127.0.0.1:\(other.port)")
        #expect(other.requests.first?.header("Accept") == "image/png")
        #expect(other.requests.first?.header("DNT") == "1")
    }

    @Test("An Authorization header stays with its origin") func authorization() async throws {
        let other = try FaultServer { _ in [.reply()] }
        let target = other.url("/there")
        let server = try FaultServer { _ in [redirect(to: target, status: 302)] }
        _ = await fetch(server.url()) { $0.headers = [("aUthorization", "Bearer x")] }
        #expect(server.requests.first?.header("Authorization") == "Bearer x")
        #expect(other.requests.first?.header("Authorization") == nil)
    }

    @Test("User info is sent but not shown") func userInfo() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let fetched = await fetch("http://me:secret@127.0.0.1:\(server.port)/x")
        #expect(fetched.head?.effectiveURL == server.url("/x"))
        #expect(server.requests.first?.header("Authorization") == "Basic bWU6c2VjcmV0")
    }

    @Test("A Set-Cookie header is ignored") func cookies() async throws {
        let server = try FaultServer { request in
            request.path == "/a"
                ? [.reply("302 Found", headers: ["Location: /b", "Set-Cookie: k=v"], body: [])] : [.reply()]
        }
        _ = await fetch(server.url("/a"))
        #expect(server.requests.count == 2)
        #expect(server.requests.allSatisfy { $0.header("Cookie") == nil })
    }

    @Test("The body of a redirect is not read") func body() async throws {
        let server = try FaultServer { request in
            request.path == "/a"
                ? [
                    .head("HTTP/1.1 302 Found", "Location: /b", "Content-Length: 10000000"),
                    .send(.init(repeating: 1, count: 1_000_000)), .hold,
                ]
                : [.reply()]
        }
        #expect(await fetch(server.url("/a")).body == "hello")
    }
}
