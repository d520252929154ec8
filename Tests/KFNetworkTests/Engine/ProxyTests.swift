import KFNetwork
import Support
import Testing

@Suite("Proxies", .bounded)
struct ProxyTests {
    @Test("A proxy gets the whole address") func address() async throws {
        let proxy = try FaultServer { _ in [.reply()] }
        let fetched = await fetch("http://origin.test/a.png?x") { $0.options.proxy = proxy.url() }
        #expect(fetched.body == "hello")
        #expect(proxy.requests.map(\.path) == ["http://origin.test/a.png?x"])
    }

    @Test("A proxy's password is sent only to the proxy") func password() async throws {
        let proxy = try FaultServer { request in
            request.header("Proxy-Authorization") == "Basic bWU6c2VjcmV0"
                ? [.reply()] : [.reply("407 Proxy Authentication Required", headers: ["Proxy-Authenticate: Basic"])]
        }
        let authority = "127.0.0.1:\(proxy.port)"
        let refused = await fetch("http://origin.test/") { $0.options.proxy = "http://\(authority)" }
        #expect(refused.refusal == 407, "\(refused.result)")
        #expect(refused.error?.isRetryable == false)
        let fetched = await fetch("http://origin.test/") { $0.options.proxy = "http://me:secret@\(authority)" }
        #expect(fetched.body == "hello")
        #expect(proxy.requests.last?.header("Authorization") == nil)
    }

    @Test("A refused tunnel reports the proxy's status", arguments: [407, 403, 502])
    func tunnel(_ status: Int) async throws {
        let proxy = try FaultServer { _ in [.reply("\(status) No")] }
        let fetched = await fetch("https://origin.test/") { $0.options.proxy = proxy.url() }
        #expect(fetched.error == .proxyStatus(status))
        #expect(fetched.error?.isRetryable == (status == 502))
        #expect(proxy.requests.map(\.method) == ["CONNECT"])
        #expect(proxy.requests.first?.path == "origin.test:443")
    }

    @Test("Exceptions are reached without the proxy") func exceptions() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let proxy = try FaultServer { _ in [.reply(body: Array("proxy".utf8))] }
        let fetched = await fetch(server.url()) {
            $0.options.proxy = proxy.url()
            $0.options.noProxy = "other.test,127.0.0.1"
        }
        #expect(fetched.body == "hello")
        #expect(proxy.requests.isEmpty)
    }

    @Test("A silent proxy is named in the error", arguments: ["http://origin.test/", "https://origin.test/"])
    func silent(url: String) async throws {
        let proxy = try FaultServer { _ in [.hold] }
        let fetched = await fetch(url) {
            $0.options.proxy = "http://me:secret@127.0.0.1:\(proxy.port)/"
            $0.options.timeout = .milliseconds(300)
        }
        let message = fetched.error?.message ?? ""
        #expect(message.contains("the proxy 127.0.0.1:\(proxy.port)"), "\(message)")
        #expect(!message.contains("cret") && !message.contains("origin"), "\(message)")
        #expect(fetched.error?.isRetryable == true)
    }

    @Test("A silent origin behind a tunnel is named") func silentOrigin() async throws {
        let proxy = try FaultServer { _ in [.head("HTTP/1.1 200 OK"), .hold] }
        let fetched = await fetch("https://origin.test/") {
            $0.options.proxy = proxy.url()
            $0.options.timeout = .milliseconds(300)
        }
        #expect(fetched.error == .connectTimeout(host: "origin.test"))
    }

    @Test("A proxy that is down is named") func down() async throws {
        let proxy = try FaultServer(port: FaultServer.lastingPort()) { _ in [.reply()] }
        proxy.stop()
        let fetched = await fetch("http://origin.test/") { $0.options.proxy = proxy.url() }
        #expect(fetched.failure == "proxy", "\(fetched.result)")
        let words = try #require(fetched.error?.message)
        #expect(words.contains(#/^proxy: could not connect to [^ ]+: Connection refused$/#), "\(words)")
    }
}
