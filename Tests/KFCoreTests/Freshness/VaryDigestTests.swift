import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

@Suite("Digests of request headers")
struct VaryDigestTests {
    private func digest(_ vary: String, _ headers: [(name: String, value: String)]) -> String? {
        var request = RequestOptions()
        request.headers = headers
        return VaryDigest.make(HeaderLines([("vary", vary)]), request)
    }

    private func isSame(_ name: String, _ first: [String], _ second: [String]) -> Bool {
        digest(name, first.map { (name, $0) }) == digest(name, second.map { (name.lowercased(), $0) })
    }

    @Test(
        "Repeated fields count as one list",
        arguments: [
            ("Foo", ["1, 2"], ["1", "2"]), ("Foo", ["1,2"], [" 1, 2 "]), ("Foo", ["1,\t2,"], ["1", "", "2"]),
            ("Foo", ["\"a, b\", c"], ["\"a, b\"", "c"]),
        ])
    func lists(_ name: String, _ first: [String], _ second: [String]) { #expect(isSame(name, first, second)) }

    @Test(
        "The order and case of preferences do not matter",
        arguments: [
            ("Accept-Language", "en, de", "de, en"), ("Accept-Language", "en, de", "eN, De"),
            ("Accept-Language", "en, de", " en ,   de"), ("Accept-Language", "en;q=1.0, de", "en, de;Q=1"),
            ("Accept-Language", "en;q=0.50", "EN ; q=0.5"), ("Accept-Encoding", "gzip, br", "BR,gzip"),
            ("Accept", "image/webp, image/*;q=0.8", "image/*; q=0.80,Image/WebP"),
        ])
    func preferences(_ name: String, _ first: String, _ second: String) { #expect(isSame(name, [first], [second])) }

    @Test(
        "Different header values have different digests",
        arguments: [
            ("Foo", ["1, 2"], ["2, 1"]), ("Foo", ["a"], ["A"]), ("Foo", ["1 2"], ["12"]), ("Foo", ["1"], []),
            ("Foo", ["\"a,b\""], ["\"a", "b\""]), ("Accept-Language", ["en"], ["en, de"]),
            ("Accept-Language", ["en;q=0.5"], ["en"]), ("Accept", ["a/b;v=X"], ["a/b;v=x"]),
        ])
    func differences(_ name: String, _ first: [String], _ second: [String]) {
        #expect(!isSame(name, first, second))
    }

    @Test("Only headers named by Vary count")
    func others() {
        let request = [("Foo", "1"), ("Bar", "abc")]
        #expect(digest("Foo, Bar", request) == digest("bar,FOO", request.reversed() + [("Other", "x")]))
        #expect(digest("Foo", request) != digest("Foo, Bar", request))
        #expect(digest("", request) == nil)
    }
}
