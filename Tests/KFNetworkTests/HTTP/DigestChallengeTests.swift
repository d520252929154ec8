import Testing

@testable import KFNetwork

@Suite("Answers to Digest")
struct DigestChallengeTests {
    private static let mufasa = Credentials(user: "Mufasa", password: "Circle Of Life")

    private func answer(_ challenge: String, target: String = "/dir/index.html") throws -> String {
        let challenge = try #require(PasswordChallenges([challenge]).digest)
        return challenge.answer(Self.mufasa, method: "GET", target: target, count: 1, clientNonce: "0a4f113b")
    }

    @Test("The example of RFC 2617 has its response")
    func example() throws {
        let answer = try answer(
            "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
                + "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"")
        #expect(
            answer
                == "Digest username=\"Mufasa\", realm=\"testrealm@host.com\", "
                + "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", uri=\"/dir/index.html\", "
                + "response=\"6629fae49393a05397450978507c4ef1\", qop=auth, nc=00000001, cnonce=\"0a4f113b\", "
                + "opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"")
    }

    @Test(
        "Responses are those of other implementations",
        arguments: [
            // Computed with Python's hashlib.
            ("algorithm=SHA-256, qop=auth", "6147d0d7a4d4e4381bb18661d5a55a69544a291ccba288ae55d10c8dc37d4da2"),
            ("algorithm=MD5", "e2f9f8bed08c50a66181679ee5b58085"),
        ])
    func responses(parameters: String, response: String) throws {
        let answer = try answer("Digest realm=\"r\", nonce=\"n\", \(parameters)")
        #expect(answer.contains(", response=\"\(response)\","), "\(answer)")
    }

    @Test("A hashed user name stays hidden")
    func userHash() throws {
        let answer = try answer("Digest realm=\"r\", nonce=\"n\", userhash=true")
        #expect(!answer.contains("Mufasa") && answer.hasSuffix(", userhash=true"))
    }

    @Test(
        "Challenges that cannot be answered are passed over",
        arguments: [
            "Digest nonce=\"n\"", "Digest realm=\"r\"", "Digest realm=\"r\", nonce=\"n\", algorithm=SHA-512-256",
            "Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"",
        ])
    func unsupported(challenge: String) throws {
        #expect(PasswordChallenges([challenge]).digest == nil)
        let best = try #require(PasswordChallenges([challenge, "Basic realm=\"b\""]).best)
        #expect(best.scheme == .basic && best.realm == "b")
        let next = PasswordChallenges([challenge + ", Digest realm=\"s\", nonce=\"m\", stale=true"]).digest
        #expect(next?.realm == "s" && next?.isStale == true)
    }

    @Test("An origin that asked for Digest gets no Basic")
    func memory() throws {
        let origin = Origin(scheme: "http", host: "h", port: 80)
        var memory = PasswordMemory()
        memory.noteBasic(origin)
        if case .basic? = memory[origin] {} else { Issue.record("not remembered") }
        memory.note(try #require(PasswordChallenges(["Digest realm=\"r\", nonce=\"n\""]).digest), origin)
        memory.noteBasic(origin)
        memory.note(nextNonce: "m", origin)
        let answer = memory.answer(Self.mufasa, to: origin, method: "GET", target: "/")
        #expect(answer?.nonce == "m" && answer?.value.hasPrefix("Digest ") == true)
        #expect(memory[Origin(scheme: "https", host: "h", port: 443)] == nil)
    }
}
