import KFNetwork
import Support
import Testing

@Suite("Private addresses with deniesPrivateAddresses", .bounded)
struct PrivateAddressTests {
    private func refused(_ url: String, engine: TransferEngine? = nil) async -> TransferError? {
        await fetch(url, engine: engine) {
            $0.options.deniesPrivateAddresses = true
            $0.options.proxy = nil
        }.error
    }

    @Test func everySpellingOfLoopbackIsRefused() async throws {
        let server = try FaultServer { _ in [.reply()] }
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            guard case .privateAddress = await refused("http://\(host):\(server.port)/") else {
                Issue.record("\(host) was reached")
                continue
            }
        }
        #expect(server.requests.isEmpty)
    }

    @Test func connectionOpenedByATrustingTransferIsNotUsed() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        let url = "http://localhost:\(server.port)/"
        #expect(await fetch(url, engine: engine).body == "hello")
        guard case .privateAddress = await refused(url, engine: engine) else {
            Issue.record("the old connection was used")
            return
        }
        #expect(server.requests.count == 1)
    }
}
