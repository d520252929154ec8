import KFNetwork
import Support
import Testing

@Suite("TLS and HTTP/2", .bounded, .engines, .enabled(if: FileServer.isInstalled))
struct TLSTests {
    private func server(_ kind: TestCertificates.Kind) async throws -> (FileServer, TestCertificates) {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "picture")
        return (try FileServer(files: files, identity: certificates.identity(kind)), certificates)
    }

    @Test(
        "An invalid certificate is refused with its reason",
        arguments: [
            (TestCertificates.Kind.expired, TLSFailure.expired, "has expired"),
            (.selfSigned, .selfSigned, "is self-signed"),
            (.wrongHost, .wrongHost, "is for another host"),
        ])
    func badCertificate(_ kind: TestCertificates.Kind, _ failure: TLSFailure, _ words: String) async throws {
        let (server, certificates) = try await server(kind)
        let refused = await fetch(server.secureURL("a.png")) { $0.options.caFile = certificates.authority }
        #expect(refused.error?.tlsFailure == failure, "\(refused.result)")
        #expect(refused.error?.message == "the certificate of 127.0.0.1:\(server.securePort) \(words)")
        #expect(refused.error?.isRetryable == false)
        let trusted = await fetch(server.secureURL("a.png")) { $0.options.trustedHosts = ["127.0.0.1"] }
        #expect(trusted.body == "picture")
        let other = await fetch(server.secureURL("a.png")) { $0.options.trustedHosts = ["127.0.0.2"] }
        #expect(other.error != nil)
    }

    @Test("A certificate of an unknown authority is refused") func unknownAuthority() async throws {
        let (server, certificates) = try await server(.good)
        #expect(await fetch(server.secureURL("a.png")).error?.tlsFailure == .unknownAuthority)
        let engine = Engines.make()
        // A connection that was not checked is not used by a transfer that checks.
        _ = await fetch(server.secureURL("a.png"), engine: engine) { $0.options.trustedHosts = ["127.0.0.1"] }
        #expect(await fetch(server.secureURL("a.png"), engine: engine).error != nil)
        let known = await fetch(server.secureURL("a.png"), engine: engine) {
            $0.options.caFile = certificates.authority
        }
        #expect(known.body == "picture")
        #expect(known.head?.protocolName == "HTTP/2")
        #expect((known.metrics?.tls ?? .zero) > .zero)
    }

    @Test("Many transfers share one HTTP/2 connection") func oneConnection() async throws {
        let (server, certificates) = try await server(.good)
        let engine = Engines.make()
        let url = server.secureURL("a.png")
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

    @Test("HTTP/1.1 can be forced") func http11() async throws {
        let (server, certificates) = try await server(.good)
        let fetched = await fetch(server.secureURL("a.png")) {
            $0.options.caFile = certificates.authority
            $0.options.forcesHTTP11 = true
        }
        #expect(fetched.head?.protocolName == "HTTP/1.1")
    }

    @Test("A redirect from HTTPS to HTTP is refused") func insecureRedirect() async throws {
        let certificates = try await TestCertificates.shared
        let server = try FileServer(
            configuration: [FileServer.redirecting("/down", to: "http://localhost/a.png")],
            identity: certificates.identity(.good))
        let fetched = await fetch(server.secureURL("down")) { $0.options.caFile = certificates.authority }
        #expect(fetched.error == .insecureRedirect(host: "localhost"))
    }

    @Test("Trust in one host does not follow a redirect") func trust() async throws {
        let certificates = try await TestCertificates.shared
        let inner = try FileServer(identity: certificates.identity(.selfSigned))
        let outer = try FileServer(
            configuration: [FileServer.redirecting("/", to: inner.secureURL("a.png", host: "localhost"))],
            identity: certificates.identity(.selfSigned))
        let fetched = await fetch(outer.secureURL("")) { $0.options.trustedHosts = ["127.0.0.1"] }
        guard case .tls(.selfSigned, "localhost:\(inner.securePort)", _) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
    }

    @Test("Given authorities apply to a proxy too") func proxy() async throws {
        let (server, certificates) = try await server(.good)
        let other = try await TestCertificates(authority: "another-authority")
        for (file, isTrusted) in [(certificates.authority, true), (other.authority, false)] {
            // nginx answers a request with a whole address like one without.
            let fetched = await fetch("http://origin.test/a.png") {
                $0.options.proxy = "https://127.0.0.1:\(server.securePort)"
                $0.options.caFile = file
            }
            #expect((fetched.body == "picture") == isTrusted, "\(fetched.result)")
        }
    }
}
