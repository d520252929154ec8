import CCurl
import Testing

@testable import KFNetwork

@Suite("Parsed addresses")
struct TransferURLTests {
    init() { #expect(kf_curl_load() == nil) }

    @Test(
        "The authority is normalised",
        arguments: [
            ("http://Example.COM/a.png", "example.com"), ("https://h:8443/", "h:8443"), ("https://h:443/", "h"),
            ("http://h:443/", "h:443"), ("http://h", "h"), ("http://u:p@h/", "h"),
            ("http://0x7f.1/", "127.0.0.1"), ("http://2130706433/", "127.0.0.1"), ("http://[::1]:80/", "[::1]"),
            ("http://127.1/", "127.0.0.1"), ("http://[0:0::1]/", "[::1]"),
            ("http://[::FFFF:7f00:1]:81/", "[::ffff:127.0.0.1]:81"), ("http://[fe80:0::a%25Lo]/", "[fe80::a%25lo]"),
            ("http://H./", "h"), ("https://h.:8443/", "h:8443"), ("http://1.2.3.4.5/", "1.2.3.4.5"),
            ("HTTP://H/", "h"), ("http://h?q", "h"), ("http://h#f", "h"), ("http://h_x/", "h_x"),
        ])
    func authority(_ text: String, _ authority: String) throws {
        #expect(try TransferURL(text).origin.authority == authority)
    }

    @Test(
        "The target of a URL is that of its request line",
        arguments: [
            ("http://h/a/b.png?c=d&e", "/a/b.png?c=d&e"), ("http://h", "/"), ("http://h?q", "/?q"),
            ("http://u:p@h/a#f", "/a"), ("http://h/a/./b/../c", "/a/c"),
        ])
    func target(url: String, target: String) throws {
        #expect(try TransferURL(url).target == target)
    }

    @Test("A bare address has neither user info nor fragment") func bare() throws {
        let url = try TransferURL("http://me:secret@h/a?b#c")
        #expect(url.bare == "http://h/a?b")
        #expect(url.text == "http://me:secret@h/a?b")
    }

    @Test("Spaces and other bytes are percent-encoded") func encoded() throws {
        #expect(try TransferURL("http://h/a b/é.png?q=ü").text == "http://h/a%20b/%c3%a9.png?q=%c3%bc")
        #expect(try TransferURL("http://h/a%20b").text == "http://h/a%20b")
    }

    @Test(
        "A malformed address is refused",
        arguments: [
            "", "h/a.png", "not a url", "//h/x", "http://", "http://a@b@h/", "http://h:99999/", "http://[::1/",
            "http://h/\r\nX: y",
            "http://h/\0",
        ])
    func invalid(_ text: String) {
        #expect(throws: TransferError.invalidURL) { try TransferURL(text) }
    }

    @Test(
        "A relative address is resolved",
        arguments: [
            ("/x", "http://h/x"), ("x", "http://h/a/x"), ("../x", "http://h/x"), ("//o/x", "http://o/x"),
            ("?q", "http://h/a/b?q"),
            ("https://o/", "https://o/"), ("/a b", "http://h/a%20b"),
        ])
    func relative(_ reference: String, _ result: String) throws {
        let base = try TransferURL("http://h/a/b")
        #expect(try TransferURL(reference, relativeTo: base).text == result)
    }
}
