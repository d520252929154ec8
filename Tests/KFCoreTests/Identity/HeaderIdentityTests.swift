import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Cache keys of requests with headers", .bounded)
struct HeaderIdentityTests {
    private typealias Header = (name: String, value: String)

    private func key(_ url: String = "http://h/a.png", with change: (inout RequestOptions) -> Void) throws -> String {
        var request = RequestOptions()
        change(&request)
        return try Source.network(RequestURL(url)).cacheKey(for: request)
    }

    private func key(_ headers: Header...) throws -> String { try key(with: { $0.headers = headers }) }

    @Test(
        "A header that may identify a user is part of the key",
        arguments: [
            "Authorization", "Cookie", "Accept", "X-Api-Key", "X-User", "Host", "Origin", "X-Forwarded-For",
            "Proxy-Authorization", "Range", "DPR", "Width", "Sec-CH-DPR", "Forwarded", "Api-Key", "Token",
        ])
    func telling(name: String) throws {
        let one = try key((name, "one"))
        #expect(try one != key())
        #expect(try one != key((name, "two")))
        #expect(!one.contains("one"))
        #expect(one.hasPrefix("http://h/a.png#user="))
    }

    @Test(
        "A neutral header is not part of the key",
        arguments: [
            "User-Agent", "Referer", "From", "Accept-Language", "Accept-Encoding", "Accept-Charset", "Cache-Control",
            "Pragma", "Connection", "Keep-Alive", "TE", "DNT", "Sec-GPC", "Upgrade-Insecure-Requests", "Priority",
            "Traceparent", "Tracestate", "X-Request-ID", "X-Correlation-ID",
        ])
    func neutral(name: String) throws {
        #expect(try key((name, "one")) == "http://h/a.png")
        #expect(try key((name.uppercased(), "one"), (name.lowercased(), "two")) == "http://h/a.png")
    }

    @Test("The spelling of headers does not change the key")
    func normalised() throws {
        let plain = try key(("X-Key", "a b"), ("Cookie", "c=d"))
        #expect(try key(("cookie", "c=d"), ("x-kEY", "a b")) == plain)
        #expect(try key(("X-Key", " \ta b \t"), ("Cookie", "c=d")) == plain)
        #expect(try key(("X-Key", "a b"), ("Cookie", "c=d"), ("x-key", "a b"), ("User-Agent", "z")) == plain)
        // What is not the same is not taken for it.
        #expect(try key(("X-Key", "ab"), ("Cookie", "c=d")) != plain)
        #expect(try key(("X-Key", "A b"), ("Cookie", "c=d")) != plain)
        #expect(try key(("X", "1"), ("X", "2")) != key(("X", "2"), ("X", "1")))
        #expect(try key(("X", "")) != key())
    }

    @Test("A list of values has one key, in one field or several")
    func lists() throws {
        let key = try key(("Foo", "1,2"))
        #expect(try self.key(("Foo", "1"), ("foo", "2")) == key)
        #expect(try self.key(("Foo", " 1 ,\t2, ")) == key && self.key(("Foo", "1, 2"), ("Foo", "1")) == key)
        #expect(try self.key(("Foo", "2,1")) != key && self.key(("Foo", "\"1,2\"")) != key)
    }

    @Test("Different headers and credentials never share a key")
    func unambiguous() throws {
        let keys = try [
            key(("A", "1"), ("B", "2")), key(("A", "1\0b\u{0}2")), key(("A", "1"), ("B", "2\0")), key(("A", "1,2")),
            key(("Authorization", "Bearer x")),
            key(with: { $0.credentials = Credentials(user: "authorization", password: "Bearer x") }),
            key(with: { $0.credentials = Credentials(user: "a", password: "b:c") }),
            key(with: { $0.credentials = Credentials(user: "a:b", password: "c") }),
            key(with: { $0.credentials = Credentials(user: "a", password: "") }),
            key(with: { $0.credentials = Credentials(user: "a\0b", password: "c") }),
            key(with: { $0.credentials = Credentials(user: "a", password: "b\0c") }),
            key(with: { $0.netrcFile = "/nonexistent" }),
        ]
        #expect(Set(keys).count == keys.count)
    }

    @Test("The digest of a secret depends on the origin")
    func salted() throws {
        func digest(_ url: String) throws -> Substring {
            try #require(try key(url, with: { $0.headers = [("Cookie", "a=b")] }).split(separator: "#").last)
        }
        let urls = ["http://h/a.png", "https://h/a.png", "http://h:81/a.png", "http://g/a.png"]
        #expect(Set(try urls.map(digest)).count == 4)
    }

    @Test("A URL's own fragment is not taken for an identity")
    func forgedFragment() throws {
        #expect(try key(key(("Cookie", "a")), with: { _ in }) == key())
    }

    @Test("Other terms of trust have another key")
    func trust() throws {
        let change: [(inout RequestOptions) -> Void] = [
            { $0.trustedHosts = ["h"] }, { $0.caFile = "/nonexistent" }, { $0.deniesPrivateAddresses = true }, { _ in },
        ]
        #expect(try Set(change.map { try key("https://h/a.png", with: $0) }).count == 4)
        // Without TLS, authorities vouch for nothing.
        #expect(try key(with: change[1]) == key())
        let own = Source.network(ImageResource(downloadURL: try RequestURL("https://h/a.png"), cacheKey: "mine"))
        let keys = change.map { change in
            var request = RequestOptions()
            change(&request)
            return own.cacheKey(for: request)
        }
        #expect(Set(keys).count == 4 && keys[3] == "mine")
    }

    @Test("Users of one cache each get their own image")
    func images() async throws {
        let server = try IdentityFixture()
        let ways: [@Sendable (inout KingfisherOptions, String) -> Void] = [
            { $0.request.headers = [("X-Api-Key", $1)] }, { $0.request.headers = [("Cookie", "u=\($1)")] },
            { $0.request.credentials = Credentials(user: $1, password: "pw") },
        ]
        for way in ways {
            for user in ["ann", "bob"] {
                let result = try await server.retrieve { way(&$0, user) }
                #expect(result.way == .fetched && result.user == user)
            }
        }
        #expect(try await server.retrieve().user == "")
    }
}
