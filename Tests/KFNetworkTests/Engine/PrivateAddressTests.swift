import KFNetwork
import Support
import Testing

@Suite("Denied private addresses", .bounded, .engines)
struct PrivateAddressTests {
    private func refused(_ url: String, engine: TransferEngine? = nil) async -> TransferError? {
        await fetch(url, engine: engine) {
            $0.options.deniesPrivateAddresses = true
            $0.options.proxy = nil
        }.error
    }

    @Test("Every spelling of loopback is refused") func loopback() async throws {
        let server = try FaultServer { _ in [.reply()] }
        for host in ["127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            #expect(await refused("http://\(host):\(server.port)/")?.name == "privateAddress", "\(host)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("A connection of a trusting transfer is not reused") func reuse() async throws {
        let server = try FaultServer { _ in [.reply()] }
        let engine = Engines.make()
        let url = "http://localhost:\(server.port)/"
        #expect(await fetch(url, engine: engine).body == "hello")
        #expect(await refused(url, engine: engine)?.name == "privateAddress")
        #expect(server.requests.count == 1)
    }
}
