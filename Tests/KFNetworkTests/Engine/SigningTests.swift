import Foundation
import KFNetwork
import Support
import Testing

/// libcurl cannot be given a date, so AWS's vectors prove the verifier, and the verifier judges libcurl's requests.
@Suite("Signatures", .bounded, .engines)
struct SigningTests {
    private static let secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    @Test("The hash functions match the standards") func hashes() {
        #expect(PlainSHA256.hex(PlainSHA256.hash([])) == Self.emptyHash)
        // FIPS 180-2, B.2, and RFC 4231, 4.3 and 4.7.
        let text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"
        #expect(
            PlainSHA256.hex(PlainSHA256.hash(Array(text.utf8)))
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        #expect(
            PlainSHA256.hex(
                PlainSHA256.authenticate(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let long = Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)
        #expect(
            PlainSHA256.hex(PlainSHA256.authenticate(long, key: Array(repeating: 0xaa, count: 131)))
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    @Test("The verifier agrees with AWS's test vectors", .enabled(if: Corpora.has("sigv4"), "\(Corpora.absence)"))
    func vectors() throws {
        struct Context: Decodable {
            struct Credentials: Decodable {
                var accessKeyId: String
                var secretAccessKey: String
            }
            var credentials: Credentials
            var normalize: Bool
            var region: String
            var service: String
        }
        let folders = Corpora.files("sigv4").filter { $0.lastPathComponent == "context.json" }
        #expect(folders.count >= 38)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        for context in folders.map({ $0.deletingLastPathComponent() }) {
            func text(_ name: String) throws -> String {
                let text = try String(contentsOf: context.appendingPathComponent(name), encoding: .utf8)
                return text.replacing("\r\n", with: "\n")
            }
            let name = context.lastPathComponent
            let terms = try decoder.decode(Context.self, from: Data(text("context.json").utf8))
            let verifier = SignatureVerifier(
                secretKey: terms.credentials.secretAccessKey, normalizesPath: terms.normalize, encodesPath: true)
            var request = try #require(Self.request(text("header-signed-request.txt")), "\(name)")
            let field = try #require(request.values("Authorization").first)
            let authorization = try #require(SignatureVerifier.Authorization(field), "\(name)")
            #expect(authorization.accessKey == terms.credentials.accessKeyId)
            #expect(authorization.scope.hasSuffix("/\(terms.region)/\(terms.service)/aws4_request"))
            let canonical = verifier.canonicalRequest(request, signing: authorization.signedHeaders)
            #expect(try canonical == text("header-canonical-request.txt"), "\(name)")
            let date = try #require(request.values("x-amz-date").first)
            let string = verifier.stringToSign(canonical, date: date, scope: authorization.scope)
            #expect(try string == text("header-string-to-sign.txt"), "\(name)")
            #expect(try verifier.signature(of: string, scope: authorization.scope) == text("header-signature.txt"))
            #expect(verifier.problem(with: request) == nil, "\(name)")
            // The verifier refuses what was changed on the way.
            request.method = "PUT"
            #expect(verifier.problem(with: request) != nil, "\(name)")
        }
    }

    @Test(
        "Every method is signed correctly", arguments: [TransferMethod.get, .head, .put, .makeCollection],
        [nil, "token+/=="])
    func signed(_ method: TransferMethod, _ token: String?) async throws {
        let server = try Self.server()
        let engine = Engines.make()
        let signing = AWSSigning(
            accessKey: "AKIDEXAMPLE", secretKey: Self.secret, sessionToken: token, region: "eu-west-1")
        let terms = Self.terms
        for index in 0..<6 {
            let body = method == .put ? Array("body \(index)".utf8) : []
            let fetched = await fetch(server.url("/bucket/kf1/cas/ab/~c-\(index)_.d"), engine: engine) {
                $0.terms = terms
                $0.method = method
                $0.signing = signing
                $0.body = method == .put ? .bytes(body) : nil
                $0.headers = [("x-amz-content-sha256", PlainSHA256.hex(PlainSHA256.hash(body)))]
                if method == .put { $0.headers.append(("If-None-Match", "*")) }
            }
            #expect(fetched.error == nil)
        }
        #expect(server.accepted == 1)
        for upload in server.uploads {
            let request = Self.request(upload)
            #expect(SignatureVerifier(secretKey: Self.secret).problem(with: request) == nil)
            #expect(SignatureVerifier(secretKey: "another").problem(with: request) != nil)
            let authorization = try #require(
                SignatureVerifier.Authorization(request.values("Authorization").first ?? ""))
            #expect(authorization.accessKey == "AKIDEXAMPLE")
            #expect(authorization.scope.hasSuffix("/eu-west-1/s3/aws4_request"))
            #expect(request.values("x-amz-security-token") == (token.map { [$0] } ?? []))
            #expect(request.values("Authorization").count == 1)
            #expect(request.values("x-amz-date").count == 1)
            #expect(PlainSHA256.hex(PlainSHA256.hash(upload.body)) == request.values("x-amz-content-sha256").first)
            // libcurl signs every header that the engine adds, and none of its own but the host and the date.
            let own = ["host", "x-amz-content-sha256", "x-amz-date", "accept-encoding"]
            let expected =
                own + (token == nil ? [] : ["x-amz-security-token"]) + (method == .put ? ["if-none-match"] : [])
            #expect(authorization.signedHeaders == expected.sorted())
        }
        #expect(server.uploads.count == 6)
    }

    /// A large upload has an `Expect` header, which is not signed.
    @Test("A large upload is signed") func largeUpload() async throws {
        let server = try Self.server()
        let body = [UInt8](repeating: 7, count: 3 << 20)
        let fetched = await fetch(server.url("/b/large")) {
            $0.terms = Self.terms
            $0.method = .put
            $0.body = .bytes(body)
            $0.signing = AWSSigning(accessKey: "A", secretKey: Self.secret, sessionToken: nil, region: "us-east-1")
            $0.headers = [("x-amz-content-sha256", "UNSIGNED-PAYLOAD")]
        }
        #expect(fetched.error == nil)
        let upload = try #require(server.uploads.first)
        #expect(upload.body == body)
        #expect(SignatureVerifier(secretKey: Self.secret).problem(with: Self.request(upload)) == nil)
    }

    @Test("Requests over HTTP/2 are signed", .enabled(if: FileServer.isInstalled))
    func http2() async throws {
        let certificates = try await TestCertificates.shared
        let server = try Self.server()
        let proxy = try FileServer(
            configuration: [
                "location /b/ { proxy_pass http://127.0.0.1:\(server.port); proxy_set_header Host $http_host; }"
            ], identity: certificates.identity(.good))
        let engine = Engines.make()
        for index in 0..<6 {
            let body = index % 2 == 0 ? [UInt8](repeating: 7, count: index << 18) : []
            let fetched = await fetch(proxy.secureURL("b/\(index)"), engine: engine) {
                $0.options.caFile = certificates.authority
                $0.method = index % 2 == 0 ? .put : .get
                $0.body = .bytes(body)
                $0.signing = AWSSigning(accessKey: "A", secretKey: Self.secret, sessionToken: "t", region: "r-1")
                $0.headers = [
                    ("x-amz-content-sha256", PlainSHA256.hex(PlainSHA256.hash(body))), ("If-None-Match", "*"),
                ]
            }
            #expect(fetched.head?.protocolName == "HTTP/2", "\(fetched.result)")
            let upload = try #require(server.uploads.last)
            #expect(upload.body == body)
            #expect(SignatureVerifier(secretKey: Self.secret).problem(with: Self.request(upload)) == nil)
        }
        #expect(server.uploads.count == 6)
    }

    /// libcurl gives up a scheme that a 401 does not offer, for all later requests of the handle.
    @Test("A refused signature leaves the next request signed") func refused() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            let status = exchange.request.path.hasPrefix("/403") ? "403 Forbidden" : "401 Unauthorized"
            let isBare = exchange.request.path.hasSuffix("bare")
            exchange.reply(status, headers: isBare ? [] : ["WWW-Authenticate: Basic realm=\"r\""], body: "<Error/>")
        }
        let engine = Engines.make()
        let signing = AWSSigning(accessKey: "A", secretKey: Self.secret, sessionToken: "t", region: "us-east-1")
        for path in ["/401", "/401", "/401bare", "/403", "/403bare", "/401"] {
            let fetched = await fetch(server.url(path), engine: engine) {
                $0.terms = Self.terms
                $0.signing = signing
                $0.headers = [("x-amz-content-sha256", Self.emptyHash)]
            }
            guard case .httpStatus? = fetched.error else {
                Issue.record("\(fetched.result)")
                return
            }
            #expect(fetched.error.map { "\($0)\($0.message)" }?.contains(Self.secret) == false)
        }
        #expect(server.uploads.count == 6)
        for upload in server.uploads {
            #expect(SignatureVerifier(secretKey: Self.secret).problem(with: Self.request(upload)) == nil)
        }
    }

    @Test("A restarted request is signed again") func restarted() async throws {
        let server = try UploadServer { exchange in
            exchange.receive()
            exchange.request.index == 0 ? exchange.reply() : exchange.close()
        }
        let engine = Engines.make()
        let signing = AWSSigning(accessKey: "A", secretKey: Self.secret, sessionToken: nil, region: "us-east-1")
        for index in 0..<10 {
            let body = Array("body \(index)".utf8)
            let fetched = await fetch(server.url("/b/\(index)"), engine: engine) {
                $0.terms = Self.terms
                $0.method = .put
                $0.body = .bytes(body)
                $0.signing = signing
                $0.headers = [("x-amz-content-sha256", PlainSHA256.hex(PlainSHA256.hash(body)))]
            }
            #expect(fetched.error == nil)
        }
        for upload in server.uploads {
            let request = Self.request(upload)
            #expect(SignatureVerifier(secretKey: Self.secret).problem(with: request) == nil)
            #expect(PlainSHA256.hex(PlainSHA256.hash(upload.body)) == request.values("x-amz-content-sha256").first)
        }
    }

    /// One handle serves signed and unsigned requests in turn, and those of two accounts.
    @Test("A signature reaches no other request") func apart() async throws {
        let server = try Self.server()
        let engine = Engines.make()
        let accounts = ["A", "B"].map {
            AWSSigning(accessKey: $0, secretKey: "secret of \($0)", sessionToken: "token of \($0)", region: "us-east-1")
        }
        let order: [Int?] = [nil, 0, nil, 1, 0, 1, nil, nil, 0, 0]
        for account in order {
            _ = await fetch("http://u:p@127.0.0.1:\(server.port)/b/x", engine: engine) {
                $0.terms = Self.terms
                $0.options.credentials = account == nil ? nil : Credentials(user: "other", password: "other")
                $0.signing = account.map { accounts[$0] }
                $0.headers = [("x-amz-content-sha256", Self.emptyHash)]
            }
        }
        for (account, upload) in zip(order, server.uploads) {
            let request = Self.request(upload)
            guard let account else {
                #expect(request.values("Authorization") == ["Basic dTpw"])
                #expect(request.values("x-amz-date").isEmpty)
                #expect(request.values("x-amz-security-token").isEmpty)
                continue
            }
            let name = ["A", "B"][account]
            #expect(SignatureVerifier(secretKey: "secret of \(name)").problem(with: request) == nil)
            #expect(request.values("x-amz-security-token") == ["token of \(name)"])
        }
        #expect(server.uploads.count == order.count)
    }

    @Test("Invalid keys are refused without being shown") func invalid() async throws {
        let server = try Self.server()
        let bad = "se\r\ncret"
        let signings = [
            AWSSigning(accessKey: bad, secretKey: "s", sessionToken: nil, region: "r"),
            AWSSigning(accessKey: "", secretKey: "s", sessionToken: nil, region: "r"),
            AWSSigning(accessKey: "a/b", secretKey: "s", sessionToken: nil, region: "r"),
            AWSSigning(accessKey: "a", secretKey: "s", sessionToken: nil, region: "r:s"),
            AWSSigning(accessKey: "a", secretKey: "s", sessionToken: nil, region: ""),
            AWSSigning(accessKey: "a", secretKey: "s", sessionToken: bad, region: "r"),
        ]
        for (index, signing) in signings.enumerated() {
            let error = await fetch(server.url()) { $0.signing = signing }.error
            #expect(error == .invalidRequestHeader(name: index == 5 ? "x-amz-security-token" : "Authorization"))
            #expect("\(String(describing: error))\(signing)".contains("cret") == false)
        }
        #expect(server.accepted == 0)
    }

    // MARK: Requests

    private static let terms: TransferTerms = {
        var options = TransferOptions()
        options.timeout = .seconds(10)
        options.proxy = ""
        options.maxRedirects = 0
        options.acceptedStatus = [200, 201]
        return TransferTerms(options)
    }()

    private static func server() throws -> UploadServer {
        try UploadServer { exchange in
            exchange.receive()
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
    }

    private static func request(_ upload: UploadServer.Upload) -> SignatureVerifier.Request {
        let headers = upload.request.headers.map { line in
            let halves = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(halves[0]), String(halves.last ?? "").drop { $0 == " " }.description)
        }
        return SignatureVerifier.Request(
            method: upload.request.method, target: upload.request.path, headers: headers, body: upload.body)
    }

    /// Parses a request of the vectors.
    private static func request(_ text: String) -> SignatureVerifier.Request? {
        let halves = text.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        var lines = halves[0].split(separator: "\n")[...]
        // The path may contain a blank.
        guard let first = lines.popFirst(), let blank = first.firstIndex(of: " "),
            let last = first.lastIndex(of: " "), blank < last
        else { return nil }
        var headers: [(name: String, value: String)] = []
        for line in lines {
            if line.first == " ", !headers.isEmpty {
                headers[headers.count - 1].value += "\n\(line)"
                continue
            }
            guard let colon = line.firstIndex(of: ":") else { return nil }
            headers.append((String(line[..<colon]), String(line[line.index(after: colon)...])))
        }
        return SignatureVerifier.Request(
            method: String(first[..<blank]), target: String(first[first.index(after: blank)..<last]), headers: headers,
            body: halves.count > 1 ? Array(halves[1].utf8) : [])
    }
}
