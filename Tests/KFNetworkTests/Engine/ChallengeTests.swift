import KFNetwork
import Support
import Synchronization
import Testing

/// Wants "me" and "secret".
private func guarded(_ scheme: String) throws -> FaultServer {
    try FaultServer { request in
        let sent = request.header("Authorization") ?? ""
        // "me:secret" in base64; `DigestServer` checks the answers of Digest.
        let isGood =
            scheme == "Basic"
            ? sent == "Basic bWU6c2VjcmV0" : sent.hasPrefix("Digest ") && sent.contains("username=\"me\"")
        let challenge = scheme == "Basic" ? "Basic realm=\"r\"" : "Digest realm=\"r\", nonce=\"abc\", qop=\"auth\""
        return isGood ? [.reply()] : [.reply("401 Unauthorized", headers: ["WWW-Authenticate: \(challenge)"])]
    }
}

private let me = Credentials(user: "me", password: "secret")

@Suite("Authentication challenges", .bounded)
struct ChallengeTests {
    @Test("Credentials are sent by the requested scheme", arguments: ["Basic", "Digest"])
    func given(_ scheme: String) async throws {
        let server = try guarded(scheme)
        let fetched = await fetch(server.url()) { $0.options.credentials = me }
        #expect(fetched.body == "hello")
        #expect(fetched.metrics?.redirects == 0)
        #expect(server.requests.count == (scheme == "Basic" ? 1 : 2))
    }

    @Test("Wrong credentials end with a 401", arguments: ["Basic", "Digest"])
    func wrong(_ scheme: String) async throws {
        let server = try guarded(scheme)
        let fetched = await fetch(server.url()) { $0.options.credentials = .init(user: "you", password: "x") }
        #expect(fetched.refusal == 401, "\(fetched.result)")
        #expect(server.requests.count <= 3)
    }

    @Test("User info of a redirect's target is sent to it", arguments: ["Basic", "Digest"])
    func ofRedirect(_ scheme: String) async throws {
        let other = try guarded(scheme)
        let target = other.url().replacing("127.0.0.1", with: "m%65:secret@127.0.0.1")
        let server = try FaultServer { _ in [.reply("302 Found", headers: ["Location: \(target)"], body: [])] }
        #expect(await fetch(server.url()).body == "hello")
        #expect(server.requests.first?.header("Authorization") == nil)
        #expect(other.requests.count == (scheme == "Basic" ? 1 : 2))
    }

    @Test(
        "A challenge for Digest bars Basic, even if it cannot be answered",
        arguments: [
            "realm=\"r\", nonce=\"n\", algorithm=SHA-512-256", "realm=\"r\", nonce=\"n\", algorithm=NEW",
            "realm=\"r\", nonce=\"n\", qop=\"auth-int\"", "realm=\"r\"",
        ])
    func barred(_ challenge: String) async throws {
        let server = try FaultServer { _ in
            let headers = ["Digest \(challenge)", "Basic realm=\"r\""].map { "WWW-Authenticate: \($0)" }
            return [.reply("401 Unauthorized", headers: headers)]
        }
        let fetched = await fetch(server.url()) {
            $0.options.credentials = me
            $0.options.authentication = .any
        }
        #expect(fetched.refusal == 401, "\(fetched.result)")
        #expect(server.requests.map { $0.header("Authorization") } == [nil])
    }

    @Test(
        "A responder can provide credentials",
        arguments: [("Basic", DownloadChallenge.Scheme.basic), ("Digest", .digest)])
    func responder(_ name: String, _ scheme: DownloadChallenge.Scheme) async throws {
        let server = try guarded(name)
        let asked = Mutex<[DownloadChallenge]>([])
        let fetched = await fetch(server.url("/x")) { request in
            request.hooks.challenge = { challenge in
                asked.withLock { $0.append(challenge) }
                return .useCredential(me)
            }
        }
        #expect(fetched.body == "hello")
        let challenges = asked.withLock { $0 }
        #expect(challenges.map(\.kind) == [.password(realm: "r")])
        #expect(challenges.map(\.scheme) == [scheme] && challenges.first?.host == "127.0.0.1:\(server.port)")
    }

    @Test("A responder is asked once") func askedOnce() async throws {
        let server = try FaultServer { _ in [.reply("401 No", headers: ["WWW-Authenticate: Basic realm=\"r\""])] }
        let count = Mutex(0)
        let fetched = await fetch(server.url()) { request in
            request.hooks.challenge = { _ in
                count.withLock { $0 += 1 }
                return .useCredential(me)
            }
        }
        #expect(fetched.refusal == 401, "\(fetched.result)")
        #expect(count.withLock { $0 } == 1)
        #expect(server.requests.count == 2)
    }

    @Test("A responder is not asked about Basic where only Digest is answered") func onlyDigest() async throws {
        let server = try guarded("Basic")
        let fetched = await fetch(server.url()) { request in
            request.options.authentication = .digest
            request.hooks.challenge = { _ in
                Issue.record("asked")
                return .useCredential(me)
            }
        }
        #expect(fetched.refusal == 401 && server.requests.count == 1, "\(fetched.result)")
    }

    @Test("A responder can trust a certificate", .enabled(if: FileServer.isInstalled))
    func trust() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "hello")
        let server = try FileServer(files: files, identity: certificates.identity(.selfSigned))
        for (answer, body) in [
            (DownloadChallengeAnswer.trust, "hello"), (.performDefaultHandling, ""), (.useCredential(me), ""),
        ] {
            let kinds = Mutex<[DownloadChallenge.Kind]>([])
            let fetched = await fetch(server.secureURL("a.png")) { request in
                request.hooks.challenge = { challenge in
                    kinds.withLock { $0.append(challenge.kind) }
                    return answer
                }
            }
            #expect(fetched.body == body)
            #expect(kinds.withLock { $0 } == [.serverTrust(problem: "it is self-signed")])
            if body.isEmpty {
                #expect(fetched.error?.tlsFailure == .selfSigned, "\(fetched.result)")
            }
        }
    }

    @Test("A responder can provide a client certificate", .enabled(if: FileServer.isInstalled))
    func certificate() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "hello")
        let server = try FileServer(
            files: files,
            configuration: ["ssl_client_certificate \(certificates.authority);", "ssl_verify_client on;"],
            identity: certificates.identity(.good))
        let good = certificates.identity(.wrongHost)
        let bad = certificates.identity(.selfSigned)
        let answers: [(DownloadChallengeAnswer, Int)] = [
            (.useClientCertificate(ClientCertificate(file: good.certificate, keyFile: good.key)), 200),
            (.useClientCertificate(ClientCertificate(file: bad.certificate, keyFile: bad.key)), 400),
            (.performDefaultHandling, 400), (.trust, 400), (.cancel, 0),
        ]
        for (answer, status) in answers {
            let kinds = Mutex<[DownloadChallenge.Kind]>([])
            let fetched = await fetch(server.secureURL("a.png")) { request in
                request.options.caFile = certificates.authority
                request.hooks.challenge = { challenge in
                    kinds.withLock { $0.append(challenge.kind) }
                    return answer
                }
            }
            #expect(kinds.withLock { $0 } == [.clientCertificate])
            switch (fetched.error, status) {
            case (nil, 200): #expect(fetched.body == "hello")
            case (.httpStatus(400, _), 400), (.cancelledByHook, 0): break
            default: Issue.record("\(answer): \(fetched.result)")
            }
        }
    }

    @Test("A certificate of the options needs no challenge", .enabled(if: FileServer.isInstalled))
    func ownCertificate() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "hello")
        let identity = certificates.identity(.wrongHost)
        let asking = ["ssl_client_certificate \(certificates.authority);", "ssl_verify_client optional;"]
        let server = try FileServer(
            files: files,
            configuration: asking + [
                "add_header X-Verify $ssl_client_verify always;"
            ], identity: certificates.identity(.good))
        let engine = Engines.make()
        let certificate = ClientCertificate(file: identity.certificate, keyFile: identity.key)
        func verify(_ url: String, _ certificate: ClientCertificate?) async -> String? {
            let fetched = await fetch(url, engine: engine) { request in
                request.options.caFile = certificates.authority
                request.options.clientCertificate = certificate
                request.hooks.challenge = { _ in
                    Issue.record("asked")
                    return .cancel
                }
            }
            return fetched.head?.headers["X-Verify"]
        }
        // Neither a connection nor a session of the one is used for the other.
        for _ in 0..<2 {
            #expect(await verify(server.secureURL("a.png"), certificate) == "SUCCESS")
            #expect(await verify(server.secureURL("a.png"), nil) == "NONE")
        }
        #expect(try await server.requests().count == 4)
    }

    @Test("A refused certificate over TLS is a challenge too", arguments: ["client-1.2", "client-1.3", "client-h2"])
    func certificateAlert(server: String) async throws {
        let certificates = try await TestCertificates.shared
        let server = try TLSServer(server, of: certificates)
        let kinds = Mutex<[DownloadChallenge.Kind]>([])
        let fetched = await fetch(server.url("a.png")) { request in
            request.options.caFile = certificates.authority
            request.hooks.challenge = { challenge in
                kinds.withLock { $0.append(challenge.kind) }
                return .performDefaultHandling
            }
        }
        #expect(kinds.withLock { $0 } == [.clientCertificate])
        #expect(fetched.error?.tlsFailure == .other && fetched.error?.isRetryable == false, "\(fetched.result)")
    }

    @Test(
        "An unusable client certificate is an error without a retry",
        arguments: [
            ("none.pem", "none.pem", nil), ("text.pem", "good.key", nil), ("good.pem", "none.key", nil),
            ("good.pem", "locked.key", "wrong"), ("good.pem", "locked.key", nil), ("good.pem", "other.key", nil),
            ("good.p12", nil, nil),
        ] as [(String, String?, String?)])
    func unreadableCertificate(file: String, key: String?, password: String?) async throws {
        let certificates = try await TestCertificates.shared
        let server = try TLSServer("client-1.2", of: certificates)
        let folder = try TemporaryDirectory()
        let identity = certificates.identity(.good)
        let sources = ["good.pem": identity.certificate, "good.key": identity.key]
            .merging(["other.key": certificates.identity(.wrongHost).key]) { $1 }
        for (name, path) in sources { try folder.write(name, String(contentsOfFile: path, encoding: .utf8)) }
        for name in ["text.pem", "good.p12"] { try folder.write(name, "text\n") }
        let locking = try await Tool.run(
            "openssl", "ec", "-aes128", "-passout", "pass:right", "-in", identity.key, "-out",
            folder.path("locked.key").path)
        try #require(locking.status == 0, "\(locking)")
        let certificate = ClientCertificate(
            file: folder.path(file).path, keyFile: key.map { folder.path($0).path }, password: password)
        let fetched = await fetch(server.url("a.png")) { request in
            request.options.caFile = certificates.authority
            request.hooks.challenge = { _ in .useClientCertificate(certificate) }
        }
        #expect(fetched.error?.tlsFailure == .other && fetched.error?.isRetryable == false, "\(fetched.result)")
        let message = fetched.error?.message ?? ""
        #expect(message.contains(" file") || message.contains("private key"), "\(message)")
        // The first handshake asks for the certificate; the second one has none to send.
        #expect(try server.connections() <= 2)
    }

    @Test("Trust in a host is not asked for its proxy")
    func proxyCertificate() async throws {
        let certificates = try await TestCertificates.shared
        let proxy = try TLSServer("serve", .expired, of: certificates)
        let fetched = await fetch("https://origin.test/a.png") { request in
            request.options.caFile = certificates.authority
            request.options.proxy = proxy.address
            request.hooks.challenge = { _ in
                Issue.record("asked")
                return .trust
            }
        }
        #expect(fetched.error?.tlsFailure == .expired, "\(fetched.result)")
        #expect(fetched.error?.message.contains("the proxy 127.0.0.1") == true, "\(fetched.result)")
    }

    @Test("A password can be required without a client certificate", .enabled(if: FileServer.isInstalled))
    func passwordOnly() async throws {
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("a.png", "hello")
        let server = try FileServer(
            files: files,
            configuration: [
                "ssl_client_certificate \(certificates.authority);", "ssl_verify_client optional;",
                "add_header WWW-Authenticate 'Basic realm=\"r\"' always;",
                "if ($http_authorization = '') { return 401; }",
            ], identity: certificates.identity(.good))
        let kinds = Mutex<[DownloadChallenge.Kind]>([])
        let fetched = await fetch(server.secureURL("a.png")) { request in
            request.options.caFile = certificates.authority
            request.hooks.challenge = { challenge in
                kinds.withLock { $0.append(challenge.kind) }
                return challenge.kind == .clientCertificate ? .performDefaultHandling : .useCredential(me)
            }
        }
        #expect(fetched.body == "hello")
        #expect(kinds.withLock { $0 } == [.clientCertificate, .password(realm: "r")])
    }

    @Test("A responder can cancel the transfer") func cancelled() async throws {
        let server = try guarded("Basic")
        let fetched = await fetch(server.url()) { $0.hooks.challenge = { _ in .cancel } }
        #expect(fetched.failure == "cancelledByHook", "\(fetched.result)")
        #expect(server.requests.count == 1)
    }

    @Test("A netrc file is read only on request") func netrc() async throws {
        let server = try guarded("Basic")
        let folder = try TemporaryDirectory()
        let file = try folder.write("netrc", "machine 127.0.0.1 login me password secret\n").path
        #expect(await fetch(server.url()) { $0.options.netrcFile = file }.body == "hello")
        #expect(await fetch(server.url()).refusal == 401)
    }
}
