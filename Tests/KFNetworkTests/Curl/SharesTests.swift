import CCurl
import Testing

@testable import KFNetwork

@Suite("Shared DNS caches")
struct SharesTests {
    init() { #expect(kf_curl_load() == nil) }

    /// libcurl walks the cache of names for every transfer, so the number of its hosts bounds that work.
    @Test("A DNS cache serves a bounded number of hosts") func bounded() throws {
        let shares = Shares()
        var hosts: [ObjectIdentifier: Int] = [:]
        var kept: [Share] = []
        for _ in 1...2000 {
            var names: Share?
            let share = try shares.share(cookieJar: nil, names: &names)
            #expect(names === share)
            hosts[ObjectIdentifier(share), default: 0] += 1
            kept.append(share)
        }
        #expect(hosts.count == 8)
        #expect(hosts.values.allSatisfy { $0 <= Shares.hostsPerShare })
    }

    @Test("A host keeps its DNS cache") func kept() throws {
        let shares = Shares()
        var names: Share?
        let first = try shares.share(cookieJar: nil, names: &names)
        for _ in 1...600 {
            var others: Share?
            _ = try shares.share(cookieJar: nil, names: &others)
        }
        #expect(try shares.share(cookieJar: nil, names: &names) === first)
        names = nil
        #expect(try shares.share(cookieJar: nil, names: &names) !== first)
    }
}
