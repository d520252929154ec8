import KFNetwork
import Support
import Testing

@Suite("Transfers to many hosts", .bounded, .engines)
struct ManyHostsTests {
    private static let hosts = 300

    private func visitAll(_ server: FaultServer, _ engine: TransferEngine) async {
        let port = server.port
        await withTaskGroup(of: Void.self) { group in
            for number in 1...Self.hosts {
                let host = "127.0.\(number / 250).\(1 + number % 250)"
                group.addTask {
                    #expect(await fetch("http://\(host):\(port)/a", engine: engine).body == "hello")
                }
            }
        }
    }

    /// Each host's connection is closed after its only transfer once enough are kept: libcurl's search for the oldest
    /// one grows with the hosts it has seen.
    @Test("Many hosts leave a bounded number of connections") func connections() async throws {
        let server = try FaultServer(address: "0.0.0.0") { _ in [.reply()] }
        let engine = Engines.make { $0.maxConnections = 4 }
        await visitAll(server, engine)
        #expect(server.accepted == Self.hosts)
        // The server's threads see the ends a little later.
        #expect(await eventually { server.open <= 4 })
    }

    @Test("The connection of an awaited host is kept") func awaited() async throws {
        let server = try FaultServer(address: "0.0.0.0") { _ in [.reply()] }
        let engine = Engines.make {
            $0.maxConnections = 2
            $0.maxPerHost = 1
        }
        let port = server.port
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    #expect(
                        await fetch("http://127.0.0.\(1 + number % 3):\(port)/a", engine: engine).body == "hello")
                }
            }
        }
        #expect(server.accepted <= 6)
    }
}
