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
        let engine = TransferEngine()
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
