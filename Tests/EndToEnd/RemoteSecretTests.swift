import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Remote credentials")
    struct RemoteSecretTests {
        private static let secret = "S3cr3t-hunter2"

        /// Neither the run's output nor its cache, index and log included, holds the secret or its Base64 form.
        private func expectNoSecret(
            in outcome: RemoteFleet.Outcome, _ kf: KFCommand, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let forms = [Self.secret, Data("user:\(Self.secret)".utf8).base64EncodedString()]
            var texts = ["stdout": outcome.result.standardOutput, "stderr": outcome.result.standardError]
            for name in TemporaryDirectory.files(in: kf.cacheDirectory) {
                texts[name] = try Data(contentsOf: kf.cacheDirectory.appendingPathComponent(name))
            }
            for (name, text) in texts {
                for form in forms {
                    #expect(text.firstRange(of: Data(form.utf8)) == nil, "\(name)", sourceLocation: sourceLocation)
                }
            }
        }

        @Test("Credentials in a URL are sent but never shown", arguments: [200, 401, 500])
        func basic(status: Int) async throws {
            let fleet = try RemoteFleet()
            let remote = try RemoteFaultServer(status == 200 ? [] : [.init(.status(status))])
            let url = remote.url("/base", user: "user:\(Self.secret)")
            let kf = try fleet.machine()
            let outcome = try await fleet.prefetch(by: kf, "--remote", url, "--remote-write")
            fleet.expectAll(outcome)
            try expectNoSecret(in: outcome, kf)
            let sent = "Basic " + Data("user:\(Self.secret)".utf8).base64EncodedString()
            #expect(!remote.requests.isEmpty && remote.requests.allSatisfy { $0.header("Authorization") == sent })
            #expect(fleet.origin.requests.allSatisfy { $0.header("Authorization") == nil })
            for words in [["cache", "explain", fleet.url(0), "--remote", url], ["cache", "stat", "--json"]] {
                let said = try await kf.run(words)
                #expect(!said.output.contains(Self.secret) && !said.errors.contains(Self.secret), "\(said)")
            }
            // Nor does what is stored name the images.
            let host = fleet.origin.url("")
            for (name, bytes) in remote.tree.files where name.contains("/ac/") {
                #expect(!String(decoding: bytes, as: UTF8.self).contains(host))
            }
        }

        @Test(
            "Credentials of S3 are sent as a signature only",
            .enabled("Debian's python3-botocore is missing") { await S3Server.isInstalled }, arguments: [true, false])
        func s3(isRight: Bool) async throws {
            let key = S3Server.Key("AKIDEXAMPLE", Self.secret, token: "token/\(Self.secret)+=")
            let server = try S3Server(keys: isRight ? [key] : [.usual])
            let fleet = try RemoteFleet()
            let kf = try fleet.machine(server.environment(key))
            let url = "s3://\(server.bucket)/team?region=\(server.region)"
            let outcome = try await fleet.prefetch(by: kf, "--remote", url, "--remote-write")
            fleet.expectAll(outcome)
            #expect(outcome.remote.uploaded == (isRight ? fleet.count : 0), "\(outcome.result)")
            try expectNoSecret(in: outcome, kf)
            #expect(try server.requests().contains { $0.status == (isRight ? 200 : 403) })
            #expect(server.errors == "")
            let other = try fleet.machine(server.environment(key))
            let next = try await fleet.prefetch(by: other, "--remote", url)
            #expect(next.asked == (isRight ? 0 : fleet.count), "\(next.result)")
            try expectNoSecret(in: next, other)
        }
    }
}
