import Testing

@testable import KFNetwork

@Suite("The reach of addresses")
struct NetworkReachTests {
    @Test(
        "Loopback addresses reach this machine",
        arguments: [
            "localhost", "127.0.0.1", "127.255.0.9", "::1", "[::1]", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1",
            "[::ffff:127.1.2.3]",
        ])
    func machine(_ host: String) { #expect(NetworkReach(host: host) == .machine) }

    @Test(
        "Private addresses reach the private network",
        arguments: [
            "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "fe80::1", "fe80::1%eth0",
            "[fd00::1]", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1",
        ])
    func privateNetwork(_ host: String) { #expect(NetworkReach(host: host) == .privateNetwork) }

    @Test(
        "Public addresses reach the internet",
        arguments: ["8.8.8.8", "2606:4700::1111", "[2606:4700::1111]", "::ffff:8.8.8.8", "172.32.0.1"])
    func internet(_ host: String) { #expect(NetworkReach(host: host) == .internet) }

    @Test(
        "The reach of other names is unknown",
        arguments: ["", "example.com", "localhost.example", "127.0.0", "[::1", "1.2.3.4.5"])
    func names(_ host: String) { #expect(NetworkReach(host: host) == nil) }

    @Test("Nearer reaches sort first") func order() {
        #expect([NetworkReach.internet, .machine, .privateNetwork].sorted() == [.machine, .privateNetwork, .internet])
    }
}
