import KFNetwork
import Support
import Testing

@Suite("TLS and HTTP/2, with nginx", .enabled(if: TLSNginxServer.isInstalled))
struct TLSTests {
    private func server(_ kind: TestCertificates.Kind) throws -> (TLSNginxServer, TestCertificates) {
        let certificates = try TestCertificates()
        let server = try TLSNginxServer(certificate: certificates.certificate(kind), key: certificates.key(kind))
        try server.write(Array("picture".utf8), to: "a.png")
        return (server, certificates)
    }

    @Test(arguments: [
        (TestCertificates.Kind.expired, TLSFailure.expired, "has expired"),
        (.selfSigned, .selfSigned, "is self-signed"),
        (.wrongHost, .wrongHost, "is for another host"),
    ])
    func certificateThatDoesNotHold(_ kind: TestCertificates.Kind, _ failure: TLSFailure, _ words: String) async throws
    {
        let (server, certificates) = try server(kind)
        defer { server.stop() }
        let refused = await fetch(server.tlsURL("/a.png")) { $0.options.caFile = certificates.authority }
        guard case .tls(failure, _, _) = refused.error else {
            Issue.record("\(refused.result)")
            return
        }
        #expect(refused.error?.message == "the certificate of 127.0.0.1:\(server.tlsPort) \(words)")
        #expect(refused.error?.isRetryable == false)
        let trusted = await fetch(server.tlsURL("/a.png")) { $0.options.trustedHosts = ["127.0.0.1"] }
        #expect(trusted.body == "picture")
        let other = await fetch(server.tlsURL("/a.png")) { $0.options.trustedHosts = ["127.0.0.2"] }
        #expect(other.error != nil)
    }

    @Test func goodCertificateOfAnUnknownAuthority() async throws {
        let (server, certificates) = try server(.good)
        defer { server.stop() }
        guard case .tls(.unknownAuthority, _, _) = await fetch(server.tlsURL("/a.png")).error else {
            Issue.record("was accepted")
            return
        }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        // A connection that was not checked is not used by a transfer that checks.
        _ = await fetch(server.tlsURL("/a.png"), engine: engine) { $0.options.trustedHosts = ["127.0.0.1"] }
        #expect(await fetch(server.tlsURL("/a.png"), engine: engine).error != nil)
        let known = await fetch(server.tlsURL("/a.png"), engine: engine) { $0.options.caFile = certificates.authority }
        #expect(known.body == "picture")
        #expect(known.head?.protocolName == "HTTP/2")
        #expect((known.metrics?.tls ?? .zero) > .zero)
    }

    @Test func manyTransfersShareOneHTTP2Connection() async throws {
        let (server, certificates) = try server(.good)
        defer { server.stop() }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        let url = server.tlsURL("/a.png")
        let authority = certificates.authority
        let connections = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let fetched = await fetch(url, engine: engine) { $0.options.caFile = authority }
                    #expect(fetched.error == nil)
                    return fetched.metrics?.newConnections ?? 0
                }
            }
            return await group.reduce(0, +)
        }
        #expect(connections == 1)
    }

    @Test func http11WhenForced() async throws {
        let (server, certificates) = try server(.good)
        defer { server.stop() }
        let fetched = await fetch(server.tlsURL("/a.png")) {
            $0.options.caFile = certificates.authority
            $0.options.forceHTTP11 = true
        }
        #expect(fetched.head?.protocolName == "HTTP/1.1")
    }

    @Test func redirectFromSecureToPlainIsRefused() async throws {
        let certificates = try TestCertificates()
        let server = try TLSNginxServer(
            certificate: certificates.certificate(.good), key: certificates.key(.good),
            locations: "location /down { return 302 http://localhost/a.png; }")
        defer { server.stop() }
        let fetched = await fetch(server.tlsURL("/down")) { $0.options.caFile = certificates.authority }
        #expect(fetched.error == .insecureRedirect(host: "localhost"))
    }

    @Test func trustInOneHostDoesNotFollowARedirect() async throws {
        let certificates = try TestCertificates()
        let inner = try TLSNginxServer(
            certificate: certificates.certificate(.selfSigned), key: certificates.key(.selfSigned))
        defer { inner.stop() }
        let outer = try TLSNginxServer(
            certificate: certificates.certificate(.selfSigned), key: certificates.key(.selfSigned),
            locations: "location / { return 302 \(inner.tlsURL("/a.png", host: "localhost")); }")
        defer { outer.stop() }
        let fetched = await fetch(outer.tlsURL("/")) { $0.options.trustedHosts = ["127.0.0.1"] }
        guard case .tls(.selfSigned, "localhost:\(inner.tlsPort)", _) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
    }
}
