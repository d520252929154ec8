import KFNetwork
import Support
import Synchronization
import Testing

@Suite("Redirect hooks", .bounded, .engines)
struct RedirectHookTests {
    private func server() throws -> FaultServer {
        try FaultServer { request in
            request.path == "/from"
                ? [.reply("302 Found", headers: ["Location: /to", "X-Said: hi"], body: [])] : [.reply()]
        }
    }

    @Test("A redirect hook can change the next request") func changes() async throws {
        let server = try server()
        let seen = Mutex<[String]>([])
        let fetched = await fetch(server.url("/from")) { request in
            request.headers = [("X-A", "1")]
            request.hooks.redirect = { head, proposed in
                seen.withLock { $0 += ["\(head.status)", head.headers["X-Said"] ?? "", proposed.url] }
                var next = proposed
                next.url += "?changed"
                next.headers.append(("X-B", "2"))
                return next
            }
        }
        #expect(fetched.body == "hello")
        #expect(seen.withLock { $0 } == ["302", "hi", server.url("/to")])
        #expect(server.requests.map(\.path) == ["/from", "/to?changed"])
        #expect(server.requests.last?.header("X-A") == "1")
        #expect(server.requests.last?.header("X-B") == "2")
        #expect(fetched.metrics?.redirects == 1)
        #expect(server.accepted == 1)
    }

    @Test("A redirect hook can refuse the redirect") func refuses() async throws {
        let server = try server()
        let fetched = await fetch(server.url("/from")) { $0.hooks.redirect = { _, _ in nil } }
        #expect(fetched.error == .redirectRefused(status: 302))
        #expect(server.requests.count == 1)
    }

    @Test("A hook's redirect to another scheme is refused") func scheme() async throws {
        let server = try server()
        let fetched = await fetch(server.url("/from")) {
            $0.hooks.redirect = { _, _ in .init(url: "file:///etc/passwd") }
        }
        #expect(fetched.error == .forbiddenRedirectScheme("file"))
    }

    @Test("A hook for another origin sees no secrets") func secrets() async throws {
        let other = try FaultServer { _ in [.reply()] }
        let target = other.url()
        let server = try FaultServer { _ in [.reply("302 Found", headers: ["Location: \(target)"], body: [])] }
        let fetched = await fetch(server.url()) { request in
            request.headers = [("Cookie", "a=b"), ("X-Api-Key", "1"), ("Accept", "*/*")]
            request.hooks.redirect = { _, proposed in
                proposed.headers.map(\.name) == ["Accept"] ? proposed : nil
            }
        }
        #expect(fetched.body == "hello")
    }

    @Test("A hook's redirect to another origin carries no secrets") func otherOrigin() async throws {
        let server = try server()
        let other = try FaultServer { _ in [.reply()] }
        let target = other.url("/other")
        let fetched = await fetch(server.url("/from")) { request in
            request.headers = [("Cookie", "a=b"), ("X-Api-Key", "1"), ("Accept", "*/*")]
            request.hooks.redirect = { _, proposed in
                .init(url: target, headers: proposed.headers + [("X-Own", "2")])
            }
        }
        #expect(fetched.body == "hello")
        let sent = try #require(other.requests.first)
        #expect(sent.header("Cookie") == nil && sent.header("X-Api-Key") == nil)
        #expect(sent.header("Accept") == "*/*" && sent.header("X-Own") == "2")
    }

    @Test("An undecided hook ends with the timeout") func undecided() async throws {
        let server = try server()
        let engine = Engines.make()
        let asked = AsyncStream.makeStream(of: Void.self)
        let stuck = Task {
            await fetch(server.url("/from"), engine: engine) { request in
                request.options.timeout = .milliseconds(300)
                request.hooks.redirect = { _, _ in
                    asked.continuation.yield()
                    // Ends when the engine has given up and cancels the question.
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                    return nil
                }
            }.error
        }
        for await _ in asked.stream { break }
        #expect(await fetch(server.url("/other"), engine: engine).body == "hello")
        #expect(await stuck.value == .undecided(after: .milliseconds(300)))
    }

    @Test("A transfer can be cancelled while its hook decides") func cancelled() async throws {
        let server = try server()
        let asked = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            await fetch(server.url("/from")) { request in
                request.hooks.redirect = { _, _ in
                    asked.continuation.yield()
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                    return nil
                }
            }.error
        }
        for await _ in asked.stream { break }
        task.cancel()
        #expect(await task.value == .cancelled)
    }
}
