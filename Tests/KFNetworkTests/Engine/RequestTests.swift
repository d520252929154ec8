import KFNetwork
import KFSystem
import Support
import Testing

@Suite("Requests", .bounded, .engines)
struct RequestTests {
    @Test("Headers, agent and credentials are sent") func headers() async throws {
        let server = try FaultServer { _ in [.reply()] }
        _ = await fetch(server.url("/p?q=1")) {
            $0.headers = [("X-A", "1"), ("X-Empty", "")]
            $0.options.userAgent = "kf-test"
            $0.options.credentials = .init(user: "u", password: "p:w")
        }
        let request = try #require(server.requests.first)
        #expect(request.method == "GET")
        #expect(request.path == "/p?q=1")
        #expect(request.header("X-A") == "1")
        #expect(request.header("X-Empty") == "")
        #expect(request.header("User-Agent") == "kf-test")
        #expect(request.header("Authorization") == "Basic dTpwOnc=")
        #expect(request.header("Cookie") == nil)
    }

    @Test(
        "A header with a line break is refused",
        arguments: [("X-A", "1\r\nX-B: 2"), ("X-A", "1\n"), ("X A", "1"), ("", "1"), ("X-A:", "1"), ("X-A", "a\0b")])
    func badHeader(_ name: String, _ value: String) async throws {
        let server = try FaultServer { _ in [.reply()] }
        let fetched = await fetch(server.url()) { $0.headers = [(name, value)] }
        #expect(fetched.error == .invalidRequestHeader(name: name))
        #expect(server.requests.isEmpty)
    }

    @Test(
        "Schemes other than HTTP are refused",
        arguments: ["ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/"])
    func schemes(_ url: String) async {
        #expect(await fetch(url).error == .unsupportedScheme(String(url.split(separator: ":")[0])))
    }

    @Test("A refused connection names its host") func refused() async throws {
        let server = try FaultServer(port: FaultServer.lastingPort()) { _ in [] }
        server.stop()
        let error = await fetch(server.url()).error
        #expect(error == .connect(host: "127.0.0.1:\(server.port)", detail: "Connection refused"))
    }

    @Test("An unknown host is named") func unknownHost() async {
        // RFC 2606: never resolves.
        #expect(await fetch("http://kf.invalid/").error == .resolve(host: "kf.invalid"))
    }

    @Test("One request does not affect the next") func next() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        _ = await fetch("http://u:p@127.0.0.1:\(server.port)/", engine: engine)
        _ = await fetch(server.url(), engine: engine) {
            $0.options.credentials = .init(user: "u", password: "p")
            $0.options.userAgent = "agent"
            $0.headers = [("X-A", "1")]
        }
        _ = await fetch(server.url(), engine: engine)
        let requests = server.requests
        #expect(requests.map { $0.header("Authorization") != nil } == [true, true, false])
        #expect(requests.map { $0.header("X-A") } == [nil, "1", nil])
        #expect(requests.map { $0.header("User-Agent") } == ["kf/\(Version.number)", "agent", "kf/\(Version.number)"])
        #expect(server.accepted == 1)
    }
}
