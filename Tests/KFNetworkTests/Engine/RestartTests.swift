import Foundation
import KFNetwork
import Support
import Testing

@Suite("Connections that end between requests", .bounded)
struct RestartTests {
    /// nginx refuses the streams past the seventh of each connection.
    @Test(.enabled(if: FileServer.isInstalled))
    func streamsThatWereRefusedGoOnElsewhere() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "picture")
        let server = try FileServer(
            files: files, configuration: ["keepalive_requests 7;"], identity: certificates.identity(.good))
        var configuration = EngineConfiguration()
        configuration.streamRepetitions = 4
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
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

    @Test(arguments: [HTTP2Server.Step.refuse, .goAway, .close])
    func endedStreamIsSentOnce(step: HTTP2Server.Step) async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server([step], identity: certificates.identity(.good))
        let fetched = await fetch(server.url("a.png")) { $0.options.caFile = certificates.authority }
        #expect(fetched.error == .streamEnded(isServing: false))
        #expect(try server.requests() == 1)
    }

    /// libcurl repeats such a request over HTTP/1 by itself.
    @Test func demandForHTTP1IsMet() async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server(
            [.demandHTTP1], body: Data("picture".utf8), identity: certificates.identity(.good))
        let fetched = await fetch(server.url("a.png")) { $0.options.caFile = certificates.authority }
        #expect(fetched.body == "picture", "\(fetched.result)")
        #expect(try server.requests() == 2)
    }

    @Test func endedStreamOfAServingConnectionIsTold() async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server(
            [.serve, .goAway], body: Data("picture".utf8), identity: certificates.identity(.good))
        let engine = TransferEngine()
        defer { engine.shutdown() }
        let bodies = await [
            fetch(server.url("a"), engine: engine) { $0.options.caFile = certificates.authority },
            fetch(server.url("b"), engine: engine) { $0.options.caFile = certificates.authority },
        ]
        #expect(bodies[0].body == "picture")
        #expect(bodies[1].error == .streamEnded(isServing: true))
        #expect(try server.requests() == 2)
    }

    @Test("The end of a serving connection is survived once", arguments: [HTTP2Server.Step.goAway, .close, .refuse])
    func endOfServingConnection(step: HTTP2Server.Step) async throws {
        let certificates = try await TestCertificates.shared
        let server = try HTTP2Server(
            [.serve, step, .serve, step, step], body: Data("picture".utf8), identity: certificates.identity(.good))
        let engine = TransferEngine()
        defer { engine.shutdown() }
        var fetched: [Fetched] = []
        for path in ["a", "b", "c"] {
            fetched.append(
                await fetch(server.url(path), engine: engine) {
                    $0.options.caFile = certificates.authority
                    $0.survivesConnection = true
                })
        }
        #expect(fetched[0].body == "picture" && fetched[1].body == "picture", "\(fetched)")
        // The new connection has answered nothing.
        #expect(fetched[2].error == .streamEnded(isServing: false))
        #expect(try server.requests() == 5)
    }

    /// With eight kept connections, libcurl alone would try five of them.
    @Test func requestOverOldConnectionsIsMadeTwiceAtMost() async throws {
        let server = try FaultServer { $0.path == "/first" ? [.reply()] : [.close] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
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
    @Test func requestOverAnOldConnectionIsMadeAgain() async throws {
        let server = try FaultServer { $0.index == 0 ? [.reply()] : [.close] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        for _ in 0..<30 {
            let fetched = await fetch(server.url(), engine: engine)
            #expect(fetched.body == "hello", "\(fetched.result)")
        }
    }

    @Test func resetOfAnOldConnectionIsNoFailureEither() async throws {
        let server = try FaultServer { $0.index == 0 ? [.reply()] : [.reset] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        for _ in 0..<30 {
            let fetched = await fetch(server.url(), engine: engine)
            #expect(fetched.body == "hello", "\(fetched.result)")
        }
    }

    @Test func newConnectionThatEndsIsAFailureAtOnce() async throws {
        let server = try FaultServer { _ in [.close] }
        #expect(await fetch(server.url()).error == .emptyReply)
        #expect(server.requests.count == 1)
    }
}
