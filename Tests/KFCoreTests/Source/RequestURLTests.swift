import Foundation
import Testing

@testable import KFCore
@testable import KFLists
@testable import KFPipeline

@Suite("URLs of requests")
struct RequestURLTests {
    @Test(
        "Relative references are resolved as RFC 3986 says",
        arguments: [
            ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
            ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("..", "http://a/b/"),
            ("../g", "http://a/b/g"), ("../../../g", "http://a/g"), ("/../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ])
    func relative(reference: String, expected: String) throws {
        let base = try RequestURL("http://user:word@a/b/c/d;p?q")
        let found = try base.resolving(reference)
        #expect(found?.text == expected && found?.credentials == nil)
    }

    @Test("Texts with a scheme are not relative", arguments: ["http://h/g", "data:,x", "file:/x", "g:h"])
    func absolute(text: String) throws { #expect(try RequestURL("http://a/b").resolving(text) == nil) }

    @Test(
        "A neighbour in the normal form is the URL that its text has alone",
        arguments: [
            ("/b.png?c=d", true), ("/", true), ("/a@b:c", true), ("", false), ("?q", false), ("/a#b", false),
            ("/a b", false), ("/\u{e4}", false), ("1/a", false), ("@h/a", false), (".h/a", false), ("/a\n", false),
        ])
    func neighbour(end: String, isNear: Bool) throws {
        let first = try RequestURL("https://example.com:8080/a.png")
        let found = RequestURL("https://example.com:8080\(end)", near: first)
        #expect((found != nil) == isNear)
        guard let found else { return }
        let alone = try RequestURL(found.text)
        #expect(found == alone && found.scheme == alone.scheme && found.host == alone.host)
        #expect(RequestURL("http://example.com:8080\(end)", near: first) == nil)
    }

    @Test(
        "A URL is normalised for the key and the request",
        arguments: [
            ("http://example.com/a.png", "http://example.com/a.png"),
            ("HTTP://EXAMPLE.com/A.png", "http://example.com/A.png"),
            ("https://example.com:443/a", "https://example.com/a"),
            ("http://example.com:80", "http://example.com/"),
            ("https://example.com:80/a", "https://example.com:80/a"),
            ("http://example.com?q=1", "http://example.com/?q=1"),
            ("http://example.com/a?b=c#d", "http://example.com/a?b=c"),
            ("http://user:secret@example.com/a", "http://example.com/a"),
            ("http://[::1]:8080/a", "http://[::1]:8080/a"),
            ("http://example.com/ä", "http://example.com/%C3%A4"),
            ("http://example.com/%7e|[]", "http://example.com/%7e|[]"),
            ("http://example.com:/a", "http://example.com/a"),
            ("http://B\u{dc}CHER.example:80/\u{fc}", "http://xn--bcher-kva.example/%C3%BC"),
            ("https://bu\u{308}cher.example/", "https://xn--bcher-kva.example/"),
            ("http://fa\u{df}.de/", "http://xn--fa-hia.de/"), ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
            ("http://１２７.0.0.1:81/", "http://127.0.0.1:81/"), ("http://a_\u{fc}.b/", "http://xn--a_-yka.b/"),
            ("http://[FE80::A%25eth0.1]:8080/a", "http://[fe80::a%25eth0.1]:8080/a"),
            ("http://[fe80::1%25Lo]", "http://[fe80::1%25Lo]/"),
            ("http://127.1/", "http://127.0.0.1/"), ("http://0x7f.1:81/a", "http://127.0.0.1:81/a"),
            ("http://2130706433", "http://127.0.0.1/"), ("http://010.0.0.1/", "http://8.0.0.1/"),
            ("http://１２７.1/", "http://127.0.0.1/"), ("http://10.0.0.255/", "http://10.0.0.255/"),
            ("http://[0:0:0:0:0:0:0:1]:80/", "http://[::1]/"),
            ("http://[::FFFF:7F00:1]/", "http://[::ffff:127.0.0.1]/"),
            ("http://[FE80:0::A%25eth0.1]/", "http://[fe80::a%25eth0.1]/"),
            // Names, for curl.
            ("http://127.0.0.256/", "http://127.0.0.256/"), ("http://1.2.3.4.5/", "http://1.2.3.4.5/"),
            ("http://08.1/", "http://08.1/"), ("http://127.0.0.1./", "http://127.0.0.1./"),
            ("http://h./", "http://h./"), ("http://1a/", "http://1a/"), ("http://[zz]/", "http://[zz]/"),
        ])
    func normalForm(_ text: String, _ normal: String) throws {
        #expect(try RequestURL(text).text == normal)
    }

    @Test(
        "A malformed URL is refused with its reason",
        arguments: [
            ("", "http://"), ("example.com/a.png", "http://"), ("ftp://example.com/a", "ftp:"),
            ("http:///a", "no host"), ("http://a:99999/", "port"), ("http://a:8x/", "port"), ("http://a:0/", "port"),
            ("http://a/b ", "space"), (" http://a/b", "space"), ("http://a b/c", "host"), ("http://a/\u{1}", "control"),
            ("http://a/\n", "control"),
            ("http://[::1/", "bracket"), ("http://a\\b/", "character"), ("http://a%00b/", "character"),
            ("javascript:alert(1)", "http://"), ("http://[::1]x/", "malformed"),
            ("http://a\u{2100}b.com/", "character"), ("http://-\u{fc}.de/", "not a valid name"),
            ("http://\(String(repeating: "\u{fc}", count: 70)).de/", "not a valid name"), ("http://[\u{fc}]/", "name"),
            ("http://[fe80::1%25]/", "character"), ("http://[fe80::1%lo]/", "character"),
            ("http://[fe80::1%25a%2f]/", "character"), ("http://a%25b/", "character"),
        ])
    func refused(_ text: String, _ reason: String) {
        let error = #expect(throws: KingfisherError.self) { try RequestURL(text) }
        #expect(error?.errorCode == 1002)
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test("User info changes the key without appearing in it")
    func credentials() throws {
        let url = try RequestURL("http://wil%40ma:p%3aw@example.com/a")
        #expect(url.credentials == Credentials(user: "wil@ma", password: "p:w"))
        let key = Source.network(url).cacheKey
        #expect(key.hasPrefix("http://example.com/a#"))
        #expect(!key.contains("wil") && !key.contains("p:w"))
        #expect(try key != Source.network(RequestURL("http://other:p@example.com/a")).cacheKey)
        #expect(try Source.network(RequestURL("http://example.com/a")).cacheKey == "http://example.com/a")
    }

    @Test("Messages show neither user info nor query")
    func redacted() throws {
        #expect(RequestURL.redacted("https://u:p@h/a?token=x") == "https://h/a?…")
        #expect(RequestURL.redacted("not a url?") == "not a url?…")
        #expect(try RequestURL("https://u:p@h/a?token=x").redacted == "https://h/a?…")
        #expect(RequestURL.withoutUserInfo("https://u:p@h/a@b?c@d") == "https://h/a@b?c@d")
    }

    @Test("The last path component names a file")
    func names() throws {
        #expect(try RequestURL("http://h/a/b%20c.png?x").lastPathComponent == "b c.png")
        #expect(try RequestURL("http://h/").lastPathComponent == "")
        #expect(try Source.network(RequestURL("http://h/a/cat.tar.png")).fileStem == "cat.tar")
    }
}

@Suite("Sources other than URLs")
struct OtherSourceTests {
    @Test("A data URI is read as base 64 or percent code")
    func dataURI() throws {
        #expect(try DataURI.provider("data:image/png;base64,AQID").data() == [1, 2, 3])
        #expect(try DataURI.provider("data:image/png;base64,AQ").data() == [1])
        #expect(try DataURI.provider("data:,a%00b").data() == [0x61, 0, 0x62])
        for wrong in ["%%%", "A", "AQ=D", "=AAA", "A===", "AQI-", "====", "QUJD=QUI"] {
            #expect(throws: KingfisherError.self, "\(wrong)") {
                try DataURI.provider("data:image/png;base64,\(wrong)")
            }
        }
        #expect(try DataURI.provider("data:;base64,").data() == [])
        #expect(throws: KingfisherError.self) { try DataURI.provider("data:nothing") }
    }

    @Test("Equal bytes have the same key")
    func contentKey() throws {
        let one = try DataURI.provider("data:image/png;base64,AQID")
        let other = RawImageDataProvider(data: [1, 2, 3])
        #expect(one.cacheKey == other.cacheKey)
        #expect(one.cacheKey != RawImageDataProvider(data: [1, 2]).cacheKey)
    }

    @Test("Bad base 64 is an error")
    func base64() {
        let provider = Base64ImageDataProvider(base64String: "@@@", cacheKey: "k")
        #expect(
            throws: KingfisherError.sourceError(reason: .dataProviderError(detail: "the data is not valid base 64"))
        ) {
            try provider.data()
        }
    }

    @Test("A file's key changes with the file")
    func fileKey() throws {
        let path = NSTemporaryDirectory() + "/kf-\(UUID().uuidString)"
        try Data([1]).write(to: URL(fileURLWithPath: path))
        defer { unlink(path) }
        let first = try LocalFileImageDataProvider(path: path)
        #expect(try LocalFileImageDataProvider(fileURL: "file://" + path).cacheKey == first.cacheKey)
        #expect(try first.data() == [1])
        try Data([1, 2]).write(to: URL(fileURLWithPath: path))
        #expect(try LocalFileImageDataProvider(path: path).cacheKey != first.cacheKey)
        #expect(throws: KingfisherError.self) { try LocalFileImageDataProvider(path: path + ".missing") }
        #expect(throws: KingfisherError.self) { try LocalFileImageDataProvider(path: NSTemporaryDirectory()) }
        #expect(throws: KingfisherError.self) { try LocalFileImageDataProvider(fileURL: "file://host/a") }
    }
}
