import Support
import Testing

@testable import KFCore
@testable import KFNetwork
@testable import KFPipeline
@testable import KFRemote

@Suite("Addresses of remotes")
struct RemoteAddressTests {
    private static let keys = ["AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hushhush"]

    private func http(_ text: String, _ environment: [String: String] = [:]) throws -> HTTPCacheLayer {
        try #require(try RemoteCacheLayer.layer(text, environment: environment) as? HTTPCacheLayer)
    }

    private func bucket(_ text: String, _ environment: [String: String]) throws -> S3Bucket {
        try #require(try http(text, environment).server as? S3Bucket)
    }

    private func request(_ kind: CacheLayerRequest.Kind = .object) -> CacheLayerRequest {
        CacheLayerRequest(
            .read, kind, "ab" + String(repeating: "0", count: 62),
            of: Remote(MemoryLayer(), silence: .seconds(3600)) { _ in },
            for: SilentReceiver())
    }

    private func url(_ text: String, _ environment: [String: String] = [:]) throws -> String {
        let url = try http(text, environment).server.address.url(of: request())
        #expect(url.hasSuffix(String(repeating: "0", count: 62)))
        return String(url.dropLast(62))
    }

    private func problem(_ text: String, _ environment: [String: String] = [:]) -> String? {
        do {
            _ = try RemoteCacheLayer.layer(text, environment: environment)
            return nil
        } catch .requestError(reason: .invalidURL(let problem)) {
            return problem
        } catch {
            return "another error: \(error)"
        }
    }

    @Test(
        "The URL of a blob follows from the address",
        arguments: [
            ("http://h", "http://h/kf1/cas/ab/ab"), ("http://h/", "http://h/kf1/cas/ab/ab"),
            ("https://h/p", "https://h/p/kf1/cas/ab/ab"), ("https://h/p/q//", "https://h/p/q/kf1/cas/ab/ab"),
            ("HTTPS://H.Example:8443/P", "https://h.example:8443/P/kf1/cas/ab/ab"),
            ("http://[::1]:9/x", "http://[::1]:9/x/kf1/cas/ab/ab"),
            ("http://[2001:DB8::1]", "http://[2001:db8::1]/kf1/cas/ab/ab"),
            ("http://ann:word@h/p", "http://h/p/kf1/cas/ab/ab"),
            ("http://h/p?", "http://h/p/kf1/cas/ab/ab"),
        ])
    func urls(_ text: String, _ expected: String) throws { #expect(try url(text) == expected) }

    @Test("Entries and objects have separate folders")
    func kinds() throws {
        let address = try http("http://h/p").server.address
        #expect(address.path(of: request(.entry)).hasPrefix("p/kf1/ac/ab/ab00"))
        #expect(RemoteLayout.collections(above: "p/kf1/ac/ab/x") == ["p", "p/kf1", "p/kf1/ac", "p/kf1/ac/ab"])
    }

    @Test(
        "User info is decoded and left out of the name",
        arguments: [
            ("http://ann:pa%3ass%40word@h/p", "ann", "pa:ss@word"), ("http://ann@h/p", "ann", ""),
            ("http://ann:@h/p", "ann", ""), ("http://a%2Fb:c:d@h/p", "a/b", "c:d"), ("http://:pw@h/p", "", "pw"),
        ])
    func credentials(_ text: String, _ user: String, _ password: String) throws {
        let layer = try http(text)
        #expect(layer.server.credentials == Credentials(user: user, password: password))
        #expect(layer.name == "http://h/p")
        #expect(layer.server.address.root == "http://h/")
    }

    @Test(
        "The name has neither trailing slashes nor parameters",
        arguments: [
            ("https://H:1/p/?", "https://h:1/p"), ("http://h/", "http://h"),
            ("file:///mnt/a%20b/", "file:///mnt/a b/"), ("file:///mnt/cache", "file:///mnt/cache"),
            ("file://localhost/mnt", "file:///mnt"),
        ])
    func names(_ text: String, _ name: String) throws {
        #expect(try RemoteCacheLayer.layer(text, environment: [:]).name == name)
    }

    @Test("The region of an S3 address overrides the environment")
    func regions() throws {
        func region(_ text: String, _ environment: [String: String]) throws -> String? {
            let all = environment.merging(Self.keys) { $1 }
            return try bucket(text, all).signing?.provider
        }
        let both = ["AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"]
        #expect(try region("s3://b/p?region=us-west-2", both) == "aws:amz:us-west-2:s3")
        #expect(try region("s3://b/p", both) == "aws:amz:eu-west-1:s3")
        #expect(try region("s3://b/p", ["AWS_DEFAULT_REGION": "eu-west-2"]) == "aws:amz:eu-west-2:s3")
        #expect(try region("s3://b/p", ["AWS_REGION": "", "AWS_DEFAULT_REGION": "x-1"]) == "aws:amz:x-1:s3")
        #expect(try region("s3://b/p", ["AWS_ENDPOINT_URL": "http://h:9000"]) == "aws:amz:us-east-1:s3")
        #expect(problem("s3://b/p", Self.keys)?.contains("region") == true)
        #expect(problem("s3://b/p", ["AWS_REGION": ""])?.contains("region") == true)
    }

    @Test(
        "The URL of an S3 blob follows from bucket and endpoint",
        arguments: [
            ("s3://b/p", "", "https://s3.eu-1.amazonaws.com/b/p/kf1/cas/ab/ab"),
            ("s3://b", "", "https://s3.eu-1.amazonaws.com/b/kf1/cas/ab/ab"),
            ("s3://b/p/?region=us-2", "", "https://s3.us-2.amazonaws.com/b/p/kf1/cas/ab/ab"),
            ("s3://b/p", "http://127.0.0.1:9000", "http://127.0.0.1:9000/b/p/kf1/cas/ab/ab"),
            ("s3://b/p", "https://h/api/", "https://h/api/b/p/kf1/cas/ab/ab"),
            ("s3://b/p", "http://[::1]:9000/", "http://[::1]:9000/b/p/kf1/cas/ab/ab"),
        ])
    func buckets(_ text: String, _ endpoint: String, _ expected: String) throws {
        #expect(try url(text, ["AWS_REGION": "eu-1", "AWS_ENDPOINT_URL": endpoint]) == expected)
    }

    @Test("S3 requests are signed only with both keys")
    func keys() throws {
        let region = ["AWS_REGION": "r"]
        let signed = try bucket("s3://b/p", region.merging(Self.keys) { $1 })
        #expect(signed.signing?.accessKey == "AKIDEXAMPLE" && signed.signing?.secretKey == "hushhush")
        #expect(signed.signing?.sessionToken == nil && signed.credentials == nil)
        #expect(signed.name == "s3://b/p")
        let token = ["AWS_SESSION_TOKEN": "tok", "AWS_REGION": "r"]
        #expect(try bucket("s3://b", token.merging(Self.keys) { $1 }).signing?.sessionToken == "tok")
        for name in Self.keys.keys {
            #expect(try bucket("s3://b", region.merging([name: "x"]) { $1 }).signing == nil)
        }
    }

    @Test("The reach of a remote is known for IP addresses")
    func reaches() throws {
        #expect(try http("http://127.0.0.1:1/p").reach == .machine)
        #expect(try http("http://[::1]:1").reach == .machine)
        #expect(try http("http://10.0.0.1").reach == .privateNetwork)
        #expect(try http("http://8.8.8.8/").reach == .internet)
        #expect(try http("http://cache.example/").reach == nil)
        #expect(try RemoteCacheLayer.layer("file:///mnt", environment: [:]).reach == .machine)
    }

    @Test("A remote behind a proxy counts as on the internet")
    func proxied() throws {
        var options = TransferOptions()
        options.proxy = "http://127.0.0.1:1"
        func reach(_ text: String) throws -> NetworkReach? {
            try RemoteCacheLayer.layer(text, options: options, environment: [:]).reach
        }
        #expect(try reach("http://cache.example.com/x") == .internet)
        #expect(try reach("http://10.0.0.1/x") == .privateNetwork)
        options.proxy = ""
        #expect(try reach("http://cache.example.com/x") == nil)
    }

    @Test(
        "An error says what is wrong with an address",
        arguments: [
            ("", "must begin"), ("h/p", "must begin"), ("ftp://h/p", "must begin"), ("//h", "must begin"),
            ("http:/h", "must begin"), ("redis://h", "must begin"),
            ("http://", "no host"), ("http:///p", "no host"), ("https://:80/p", "no host"),
            ("http://ann@/p", "no host"),
            ("http://h:0/p", "port"), ("http://h:65536", "port"), ("http://h:x", "port"), ("http://h:/p", "port"),
            ("http://h:-1", "port"), ("http://[::1]:0", "port"), ("http://h:+80/p", "port"),
            ("http://h/a b", "blank"), ("http://h/a\nb", "blank"), ("http://h/\u{7f}", "blank"),
            ("http://h/p#x", "'#'"), ("http://h/../p", ".."), ("http://h/./p", ".."), ("http://h/a/..", ".."),
            ("http://h/%2e%2E/p", ".."), ("file:///a/%2e%2e/b", ".."), ("file:///mnt/../b", ".."),
            ("http://h/p?x=1", "not known"), ("http://h/p?region=r", "not known"),
            ("http://h/p?layout=bazel", "not known"), ("s3://b/p?region=r&token=x", "not known"),
            ("file://", "file:///mnt/cache"), ("file:///", "file:///mnt/cache"), ("file://h/mnt", "file:///mnt/cache"),
            ("file://mnt", "file:///mnt/cache"), ("file://ann:pw@localhost/mnt", "http(s) only"),
            ("file:///mnt?region=r", "not known"),
            ("s3://", "bucket"), ("s3:///p", "bucket"), ("s3://b:80/p", "bucket"), ("s3://a%20b/p", "bucket"),
            ("s3://ann:word@b/p", "environment"), ("s3://b/a%20b", "prefix"), ("s3://b/a+b", "prefix"),
            ("s3://b/ä", "prefix"), ("s3://b/p?region=a/b", "region"), ("s3://b/p?region=a%0ab", "region"),
            ("s3://b/p?region=", "region"),
        ])
    func problems(_ text: String, _ word: String) throws {
        let found = try #require(problem(text, ["AWS_REGION": "eu-1"]), "\(text) is accepted")
        #expect(found.contains(word))
    }

    @Test(
        "An invalid endpoint is reported",
        arguments: ["h:9000", "ftp://h", "s3://b", "http://", "http://h?x=1", "http://h:99999", "http://h/../x"])
    func endpoints(_ endpoint: String) {
        let found = problem("s3://b/p", ["AWS_REGION": "r", "AWS_ENDPOINT_URL": endpoint])
        #expect(found?.contains("AWS_ENDPOINT_URL") == true, "\(found ?? "accepted")")
    }

    @Test(
        "No message contains a secret",
        arguments: [
            "http://ann:hushhush@h:99999/p", "http://ann:hushhush@h/p#x", "http://ann:hushhush@h/p?x=hushhush",
            "s3://ann:hushhush@b/p", "ftp://ann:hushhush@h", "http://ann:hushhush@/p", "file://ann:hushhush@h/x",
            "http://ann:hush%ZZhush@h/p?hushhush", "http://ann:hushhush@h/..", "s3://b/hush+hush?region=",
            "http://ann:hushhush@h/p?layout=hushhush",
        ])
    func secrets(_ text: String) {
        let environment = ["AWS_REGION": "r", "AWS_ENDPOINT_URL": "http://ann:hushhush@h:0"]
        let found = problem(text, environment.merging(Self.keys) { $1 })
        #expect(found?.contains("hush") == false, "\(found ?? "accepted")")
    }

    @Test("An endpoint's user info appears in no name")
    func endpointSecrets() throws {
        let environment = ["AWS_REGION": "r", "AWS_ENDPOINT_URL": "http://ann:hushhush@h"]
        let layer = try http("s3://b/p", environment)
        #expect(!layer.name.contains("hush") && !layer.server.address.root.contains("hush"))
        #expect(layer.server.credentials == nil)
    }
}

/// A receiver that is not told anything in these tests.
final class SilentReceiver: RemoteWaiter {
    func receive(_ bytes: UnsafeRawBufferPointer, _ request: CacheLayerRequest) -> Bool { true }
    func ended(_ request: CacheLayerRequest, _ answer: CacheLayerAnswer) {}
}
