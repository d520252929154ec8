import Testing

@testable import KFNetwork

@Suite("Proxy variables of the environment")
struct ProxyEnvironmentTests {
    private func variable(_ scheme: String, _ host: String, _ values: [String: String]) -> String? {
        ProxyEnvironment { values[$0] }.variable(for: Origin(scheme: scheme, host: host, port: 80))
    }

    @Test("Each scheme has its own proxy variable") func schemes() {
        #expect(variable("http", "h", ["http_proxy": "p"]) == "http_proxy")
        #expect(variable("http", "h", ["HTTP_PROXY": "p"]) == nil)
        #expect(variable("https", "h", ["http_proxy": "p"]) == nil)
        #expect(variable("https", "h", ["HTTPS_PROXY": "p"]) == "HTTPS_PROXY")
        #expect(variable("https", "h", ["ALL_PROXY": "p"]) == "ALL_PROXY")
        #expect(variable("http", "h", ["http_proxy": ""]) == nil)
    }

    @Test("The no_proxy variable lists exceptions") func exceptions() {
        let values = ["all_proxy": "p", "no_proxy": "a.test, .b.test,127.0.0.1"]
        #expect(variable("http", "a.test", values) == nil)
        #expect(variable("http", "x.a.test", values) == nil)
        #expect(variable("http", "xa.test", values) == "all_proxy")
        #expect(variable("http", "x.b.test", values) == nil)
        #expect(variable("http", "127.0.0.1", values) == nil)
        #expect(variable("http", "any", ["all_proxy": "p", "NO_PROXY": "*"]) == nil)
    }
}
