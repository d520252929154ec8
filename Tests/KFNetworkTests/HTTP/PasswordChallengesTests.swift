import Testing

@testable import KFNetwork

@Suite("Challenges of a 401")
struct PasswordChallengesTests {
    @Test(
        "The strongest known scheme is chosen",
        arguments: [
            (["Basic realm=\"a b\""], DownloadChallenge.Scheme.basic, "a b"),
            (["basic"], .basic, ""),
            (["Basic realm=x, Digest realm=\"y, \\\"z\\\"\", nonce=\"n\", qop=\"auth,auth-int\""], .digest, "y, \"z\""),
            (["Negotiate", "Basic charset=\"UTF-8\", realm=\"r\""], .basic, "r"),
            (["Negotiate abc==, Digest nonce=\"n\", realm=\"r\""], .digest, "r"),
        ])
    func best(_ fields: [String], _ scheme: DownloadChallenge.Scheme, _ realm: String) throws {
        let best = try #require(PasswordChallenges(fields).best)
        #expect(best.scheme == scheme && best.realm == realm)
    }

    @Test(
        "A 401 without a known scheme has no challenge",
        arguments: [[], [""], ["Bearer realm=\"x\""], ["realm=\"Basic\""], ["\"Digest"], [",,,"]])
    func unknown(_ fields: [String]) {
        #expect(PasswordChallenges(fields).best == nil)
    }
}
