import Testing

@testable import KFNetwork

@Suite("IP addresses")
struct IPAddressTests {
    @Test(
        "A private or reserved address is not public",
        arguments: [
            "127.0.0.1", "127.255.255.255", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1", "100.127.255.255", "0.0.0.0", "0.1.2.3", "224.0.0.1", "239.1.1.1", "240.0.0.1",
            "255.255.255.255", "192.0.0.1", "192.88.99.1", "198.18.0.1", "203.0.113.1",
            "::", "::1", "fe80::1", "fe80::1%lo", "febf::1", "fec0::1", "fc00::1", "fdff::1", "ff02::1", "2001:db8::1",
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::10.0.0.1", "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8", "5f00::1", "5f00:ffff::1", "::ffff:192.88.99.1", "2002:7f00:1::", "2002:a00:1::1",
            "2002:c0a8:101::1", "::ffff:0:127.0.0.1",
            "2001:0:7f00:1::", "2001:0:808:808:0:0:80ff:fffe",
        ])
    func refused(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic == false)
    }

    @Test(
        "A public address is public",
        arguments: [
            "8.8.8.8", "1.1.1.1", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.169.0.1", "192.88.98.1",
            "192.88.100.1", "5f01::1", "223.255.255.255",
            "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1",
        ])
    func accepted(_ text: String) throws {
        #expect(try #require(IPAddress(text)).isPublic)
    }

    @Test("A host name is not an address") func names() {
        for text in ["localhost", "1.2.3", "256.1.1.1", "[::1", ""] { #expect(IPAddress(text) == nil) }
        #expect(IPAddress("[::1]")?.description == "::1")
    }
}
