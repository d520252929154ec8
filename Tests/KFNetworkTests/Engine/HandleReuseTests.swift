import KFNetwork
import Support
import Testing

@Suite("Transfers after a broken one", .bounded, .engines)
struct HandleReuseTests {
    /// An engine whose last transfer could not connect.
    private func engine() async throws -> TransferEngine {
        let engine = Engines.make()
        let port = try FaultServer.lastingPort()
        #expect(await fetch("http://127.0.0.1:\(port)/", engine: engine).failure == "connect")
        return engine
    }

    @Test("A refused connection does not change a later error") func reason() async throws {
        let server = try FaultServer { _ in
            [.head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("zz\r\n"), .hold]
        }
        let fetched = try await fetch(server.url(), engine: engine())
        let detail = "Illegal or missing hexadecimal sequence in chunked-encoding"
        #expect(fetched.error == .protocolError(detail: detail))
    }

    @Test("Transfers after a refused connection share one") func refused() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = try await engine()
        for _ in 0..<5 { #expect(await fetch(server.url(), engine: engine).body == "hello") }
        #expect(server.accepted == 1)
    }

    @Test("Transfers after a cancelled one share a connection") func cancelled() async throws {
        let server = try FaultServer {
            $0.path == "/hold" ? [.head("HTTP/1.1 200 OK", "Content-Length: 100"), .text("abc"), .hold] : [.reply()]
        }
        let engine = Engines.make()
        let (begun, signal) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            await fetch(server.url("/hold"), sink: CollectingSink(onBytes: { signal.finish() }), engine: engine).error
        }
        for await _ in begun {}
        task.cancel()
        #expect(await task.value == .cancelled)
        for _ in 0..<5 { #expect(await fetch(server.url(), engine: engine).body == "hello") }
        #expect(server.accepted == 2)
    }

    @Test("A used handle sends the target of each URL as a new one") func targets() async throws {
        let servers = try (0..<2).map { _ in try FaultServer { _ in [.reply()] } }
        let targets = [
            "/a?b=c", "/a", "/b", "/%2Fa%2f", "/c", "/a?b=%2F", "/?", "/?q", "/", "/?a?b", "//d", "/a;b", "/a?c=/./d",
            "/a/.b",
            #"/a|b"<>^`{}\?d=|"<>^`{}\"#, "/e?f",
        ]
        let engine = Engines.make()
        for target in targets {
            for server in servers { #expect(await fetch(server.url(target), engine: engine).body == "hello") }
        }
        #expect(await fetch(servers[0].url("/x/../y"), engine: engine).body == "hello")
        #expect(await fetch(servers[0].url("/z"), engine: engine).body == "hello")
        #expect(servers[0].requests.map(\.path) == targets + ["/y", "/z"])
        #expect(servers[1].requests.map(\.path) == targets)
    }
}
