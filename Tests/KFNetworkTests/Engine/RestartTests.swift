import Foundation
import KFNetwork
import Support
import Testing

@Suite("Connections that end between requests", .bounded, .engines)
struct RestartTests {
    /// nginx refuses the streams past the seventh of each connection, or ends each one as soon as it is idle.
    @Test(
        "Refused streams continue on other connections", .enabled(if: FileServer.isInstalled),
        arguments: ["keepalive_requests 7;", "keepalive_timeout 0;"])
    func refusedStreams(configuration: String) async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "picture")
        let server = try FileServer(
            files: files, configuration: [configuration], identity: certificates.identity(.good))
        let engine = Engines.make()
        let (url, authority) = (server.secureURL("a.png"), certificates.authority)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<600 {
                group.addTask {
                    let fetched = await fetch(url, engine: engine) { $0.options.caFile = authority }
                    #expect(fetched.body == "picture", "\(fetched.result)")
                }
            }
        }
    }

    @Test("A request whose stream ended is sent once", arguments: [HTTP2Server.Step.refuse, .goAway, .close])
    func endedStream(step: HTTP2Server.Step) async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server([step], identity: certificates.identity(.good))
        let fetched = await fetch(server.url("a.png")) { $0.options.caFile = certificates.authority }
        #expect(fetched.error == .streamEnded)
        #expect(try server.requests() == 1)
    }

    /// libcurl repeats such a request over HTTP/1 by itself.
    @Test("A demand for HTTP/1.1 is met") func http11() async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server(
            [.demandHTTP1], body: Data("picture".utf8), identity: certificates.identity(.good))
        let fetched = await fetch(server.url("a.png")) { $0.options.caFile = certificates.authority }
        #expect(fetched.body == "picture", "\(fetched.result)")
        #expect(try server.requests() == 2)
    }

    @Test("The end of a serving connection is survived once", arguments: [HTTP2Server.Step.goAway, .close, .refuse])
    func endOfServingConnection(step: HTTP2Server.Step) async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server(
            [.serve, step, .serve, step, step], body: Data("picture".utf8), identity: certificates.identity(.good))
        let engine = Engines.make()
        var fetched: [Fetched] = []
        for path in ["a", "b", "c"] {
            fetched.append(
                await fetch(server.url(path), engine: engine) {
                    $0.options.caFile = certificates.authority
                })
        }
        #expect(fetched[0].body == "picture" && fetched[1].body == "picture", "\(fetched)")
        // The request is alone on the new connection.
        #expect(fetched[2].error == .streamEnded)
        #expect(try server.requests() == 5)
    }

    /// A request is made again while it shares its connection, until the transfers of the host share none.
    @Test(
        "A server that ends every stream gets twice the requests at most",
        arguments: [HTTP2Server.Step.goAway, .refuse])
    func everyStream(step: HTTP2Server.Step) async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server([step], identity: certificates.identity(.good))
        let engine = Engines.make { $0.maxPerHost = 64 }
        let url = server.url("a.png")
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let fetched = await fetch(url, engine: engine) { $0.options.caFile = certificates.authority }
                    #expect(fetched.error == .streamEnded)
                }
            }
        }
        #expect(try server.requests() <= 2 * 40)
    }

    /// With eight kept connections, libcurl alone would try five of them.
    @Test("A request over old connections is sent at most twice") func twice() async throws {
        let server = try FaultServer { $0.path == "/first" ? [.reply()] : [.close] }
        let engine = Engines.make()
        for _ in 0..<2 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = await fetch(server.url("/first"), engine: engine) } }
            }
        }
        let before = server.requests.count
        #expect(await fetch(server.url("/second"), engine: engine).error == .emptyReply)
        #expect(server.requests.count - before == 2)
    }

    /// The server closes when the second request has come; libcurl gives up on that after five of them, over all the
    /// transfers of a handle.
    @Test("A request over a closed connection is sent again", arguments: [FaultStep.close, .reset])
    func oldConnection(_ end: FaultStep) async throws {
        let server = try FaultServer { $0.index == 0 ? [.reply()] : [end] }
        let engine = Engines.make()
        for _ in 0..<30 {
            let fetched = await fetch(server.url(), engine: engine)
            #expect(fetched.body == "hello", "\(fetched.result)")
        }
    }

    @Test("A new connection that ends is an error at once") func newConnection() async throws {
        let server = try FaultServer { _ in [.close] }
        #expect(await fetch(server.url()).error == .emptyReply)
        #expect(server.requests.count == 1)
    }
}
