import Foundation
import Support
import Testing

extension EndToEnd {
    /// The servers that stand for remotes, asked by clients that are no kf.
    @Suite("Servers of the remote tier")
    struct RemoteServerTests {
        static let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

        /// The status that curl is answered with.
        private func status(_ arguments: String...) async throws -> Int {
            let result = try await curl(["-o", "/dev/null", "-w", "%{http_code}"] + arguments)
            return try #require(Int(result.output), "\(result)")
        }

        private func curl(_ arguments: [String]) async throws -> CommandResult {
            try await RunningCommand(
                "curl", ["-s", "-m", "20"] + arguments, environment: Tool.environment
            ).wait()
        }

        // MARK: WebDAV

        @Test("nginx stores what is PUT and makes its directories", .enabled(if: FileServer.isInstalled))
        func nginx() async throws {
            let server = try FileServer.webDAV()
            let url = server.url("kf1/ac/ab/name")
            #expect(try await status(url) == 404)
            #expect(try await status("-X", "PUT", "--data-binary", "one", url) == 201)
            #expect(try await status("-X", "PUT", "--data-binary", "two", "-H", "If-None-Match: *", url) == 204)
            #expect(try await curl([url]).output == "two")
            #expect(
                try String(contentsOf: server.root.appendingPathComponent("kf1/ac/ab/name"), encoding: .utf8) == "two")
            let large = try TemporaryDirectory()
            let body = try large.write("body", Data(count: 3 << 20))
            #expect(try await status("-T", body.path, server.url("large")) == 201)
            #expect(
                try await server.requests().map(\.description) == [
                    "GET /kf1/ac/ab/name 404", "PUT /kf1/ac/ab/name 201", "PUT /kf1/ac/ab/name 204",
                    "GET /kf1/ac/ab/name 200", "PUT /large 201",
                ])
        }

        @Test("nginx that is read-only, forbids writes or wants a password", .enabled(if: FileServer.isInstalled))
        func nginxRefusing() async throws {
            let readOnly = try FileServer(files: TemporaryDirectory())
            #expect(try await status("-X", "PUT", "--data-binary", "one", readOnly.url("a")) == 405)
            let forbidding = try FileServer.webDAV(FileServer.forbiddingWrites)
            #expect(try await status("-X", "PUT", "--data-binary", "one", forbidding.url("a")) == 403)
            #expect(try await status("-X", "MKCOL", forbidding.url("a/")) == 403)
            #expect(try await status(forbidding.url("a")) == 404)
            let protected = try FileServer.webDAV(FileServer.protecting(user: "me", password: "secret"))
            #expect(try await status(protected.url("a")) == 401)
            #expect(try await status("-u", "me:other", protected.url("a")) == 401)
            #expect(try await status("-u", "me:secret", protected.url("a")) == 404)
            #expect(
                try await status("-u", "me:secret", "-X", "PUT", "--data-binary", "one", protected.url("b/a")) == 201)
        }

        @Test("Apache wants parents, and refuses what is there already", .enabled(if: ApacheServer.isInstalled))
        func apache() async throws {
            let server = try ApacheServer()
            let url = server.url("kf1/name")
            let put = ["-X", "PUT", "-H", "If-None-Match: *", "--data-binary"]
            #expect(try await status("-X", "PUT", "--data-binary", "one", url) == 409)
            #expect(try await status("-X", "MKCOL", server.url("kf1")) == 201)
            #expect(try await status("-X", "MKCOL", server.url("kf1")) == 405)
            #expect(try await curl(put + ["one", "-w", "%{http_code}", "-o", "/dev/null", url]).output == "201")
            #expect(try await curl(put + ["two", "-w", "%{http_code}", "-o", "/dev/null", url]).output == "412")
            #expect(try await curl([url]).output == "one")
            #expect(TemporaryDirectory.files(in: server.root) == ["kf1/name"])
            #expect(
                try await server.requests().map(\.description) == [
                    "PUT /kf1/name 409", "MKCOL /kf1 201", "MKCOL /kf1 405", "PUT /kf1/name 201", "PUT /kf1/name 412",
                    "GET /kf1/name 200",
                ])
            try await server.stop()
            #expect(try await curl([url]).status == 7)
        }

        @Test("Apache that wants a password", .enabled(if: ApacheServer.isInstalled))
        func apacheProtected() async throws {
            let server = try ApacheServer(user: .init("me", "secret"))
            #expect(try await status(server.url("a")) == 401)
            #expect(try await status("-u", "me:other", server.url("a")) == 401)
            #expect(try await status("-u", "me:secret", "-X", "PUT", "--data-binary", "one", server.url("a")) == 201)
            #expect(try await status("-u", "me:secret", server.url("a")) == 200)
        }
    }

    /// The S3 of the tests, asked by curl and by botocore itself.
    @Suite("The S3 of the tests", .enabled("Debian's python3-botocore is missing") { await S3Server.isInstalled })
    struct S3ServerTests {
        let server: S3Server

        init() throws { server = try S3Server() }

        private func curl(
            _ key: S3Server.Key = .usual, region: String = "us-east-1", _ arguments: String...
        ) async throws -> (status: String, body: String) {
            let signing = ["--aws-sigv4", "aws:amz:\(region):s3", "-u", "\(key.id):\(key.secret)"]
            let result = try await RunningCommand(
                "curl", ["-s", "-m", "20", "-w", "\n%{http_code}"] + signing + arguments,
                environment: Tool.environment
            ).wait()
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
        }

        private func hash(_ text: String) async throws -> String {
            let result = try await Tool.run("sha256sum", input: Data(text.utf8))
            return "x-amz-content-sha256: \(result.output.prefix(64))"
        }

        @Test("curl's signatures are accepted, with a session token and If-None-Match, too")
        func accepted() async throws {
            let url = server.url("team/kf1/cas/ab/name")
            let empty = try await hash("")
            #expect(try await curl(.usual, "-H", empty, url).status == "404")
            let one = try await hash("one")
            let put = ["-X", "PUT", "-H", "Content-Type:", "--data-binary"]
            #expect(try await curl(.usual, put[0], put[1], put[4], "one", "-H", one, url).status == "200")
            let got = try await curl(.usual, "-H", empty, url)
            #expect(got.status == "200" && got.body == "one")
            #expect(try await curl(.usual, "-I", "-H", empty, url).status == "200")
            let again = try await curl(
                .usual, put[0], put[1], put[4], "two", "-H", "If-None-Match: *", "-H", hash("two"), url)
            #expect(again.status == "412" && again.body.contains("PreconditionFailed"))
            let temporary = S3Server.Key.temporary
            let token = "x-amz-security-token: \(temporary.token ?? "")"
            #expect(try await curl(temporary, "-H", empty, "-H", token, url).status == "200")
            let without = try await curl(temporary, "-H", empty, url)
            #expect(without.status == "400" && without.body.contains("InvalidToken"))
            #expect(TemporaryDirectory.files(in: server.root) == ["team/kf1/cas/ab/name"])
            #expect(
                try server.requests().map { "\($0.method) \($0.status)" } == [
                    "GET 404", "PUT 200", "GET 200", "HEAD 200", "PUT 412", "GET 200", "GET 400",
                ])
            #expect(server.errors == "")
        }

        @Test("a wrong secret, key, region, bucket or body hash is refused")
        func refused() async throws {
            let url = server.url("name")
            let empty = try await hash("")
            let cases: [(answer: (status: String, body: String), status: String, code: String)] = [
                (try await curl(.init("AKIDEXAMPLE", "other"), "-H", empty, url), "403", "SignatureDoesNotMatch"),
                (try await curl(.init("OTHER", "other"), "-H", empty, url), "403", "InvalidAccessKeyId"),
                (try await curl(.usual, region: "eu-west-1", "-H", empty, url), "301", "PermanentRedirect"),
                (try await curl(.usual, "-H", empty, server.address + "/other/name"), "404", "NoSuchBucket"),
                (try await curl(.usual, "-H", empty, url), "404", "NoSuchKey"),
                (try await curl(.usual, url), "400", "InvalidRequest"),
                (
                    try await curl(.usual, "-X", "PUT", "--data-binary", "two", "-H", hash("one"), url), "400",
                    "XAmzContentSHA256Mismatch"
                ),
            ]
            for (answer, status, code) in cases {
                #expect(answer.status == status && answer.body.contains("<Code>\(code)</Code>"), "\(answer)")
            }
            let unsigned = try await Tool.run("curl", "-s", "-m", "20", url)
            #expect(unsigned.output.contains("<Code>AccessDenied</Code>"))
            let credulous = try S3Server(checksBodies: false, isConditional: false)
            let lie = try await curl(
                .usual, "-X", "PUT", "--data-binary", "x", "-H", hash("one"), credulous.url("name"))
            #expect(lie.status == "200")
            #expect(server.errors == "" && TemporaryDirectory.files(in: server.root).isEmpty)
        }

        /// Signs with botocore, changes the request as its arguments say, and prints the status and S3's code.
        private static let client = """
            import datetime, json, re, sys, http.client
            from urllib.parse import urlsplit
            from botocore.auth import S3SigV4Auth
            from botocore.awsrequest import AWSRequest
            from botocore.credentials import Credentials
            url, key, secret, changes = *sys.argv[1:4], json.loads(sys.argv[4])
            request = AWSRequest(method="PUT", url=url, data=b"one", headers={"x-amz-meta-a": "1"})
            if "minutes" in changes:
                now = datetime.datetime.utcnow() + datetime.timedelta(minutes=changes["minutes"])
                class Clock(datetime.datetime):
                    @classmethod
                    def utcnow(cls): return now
                import botocore.auth
                botocore.auth.datetime.datetime = Clock
            S3SigV4Auth(Credentials(key, secret), "s3", "us-east-1").add_auth(request)
            headers = {**dict(request.headers.items()), **changes.get("headers", {})}
            parts = urlsplit(url)
            connection = http.client.HTTPConnection(parts.netloc, timeout=20)
            connection.request(
                changes.get("method", "PUT"), changes.get("path", parts.path), changes.get("body", "one"), headers)
            answer = connection.getresponse()
            code = re.search(r"<Code>(\\w+)", answer.read().decode())
            print(answer.status, code.group(1) if code else "-")
            """

        @Test(
            "what botocore signs is accepted, and refused when it is changed on the way",
            arguments: [
                ("{}", "200 -"), (#"{"headers": {"User-Agent": "other"}}"#, "200 -"),
                (#"{"headers": {"x-amz-meta-a": "2"}}"#, "403 SignatureDoesNotMatch"),
                (#"{"headers": {"x-amz-meta-b": "2"}}"#, "403 AccessDenied"),
                (#"{"headers": {"x-amz-security-token": "t"}}"#, "403 AccessDenied"),
                (#"{"method": "POST"}"#, "403 SignatureDoesNotMatch"),
                (#"{"path": "/bucket/other"}"#, "403 SignatureDoesNotMatch"),
                (#"{"path": "/bucket/name?a=1"}"#, "403 SignatureDoesNotMatch"),
                (#"{"body": "two"}"#, "400 XAmzContentSHA256Mismatch"),
                (#"{"minutes": 10}"#, "200 -"), (#"{"minutes": 20}"#, "403 RequestTimeTooSkewed"),
                (#"{"minutes": -20}"#, "403 RequestTimeTooSkewed"),
            ])
        func changed(changes: String, answer: String) async throws {
            let key = S3Server.Key.usual
            let result = try await Tool.run(
                "/usr/bin/python3", "-c", Self.client, server.url("name"), key.id, key.secret, changes)
            #expect(result.output == answer + "\n", "\(result) \(server.errors)")
        }

        @Test(
            "the verifier agrees with the AWS SigV4 vectors",
            .enabled("\(Corpora.absence)") { Corpora.has("sigv4") })
        func vectors() async throws {
            let script = PackageRoot.url.appendingPathComponent("Tests/Support/s3_server.py").path
            let vectors = Corpora.url.appendingPathComponent("sigv4").path
            let result = try await Tool.run("/usr/bin/python3", script, "--vectors", vectors)
            #expect(result.status == 0, "\(result)")
            #expect(result.outputLines.count >= 38)
        }

        @Test("many requests over one connection, at once over many")
        func many() async throws {
            let files = try TemporaryDirectory()
            let body = try files.write("body", Data(count: 12_000))
            let digest = try await Tool.run("sha256sum", body.path).output.prefix(64)
            let key = S3Server.Key.usual
            let result = try await RunningCommand(
                "curl",
                [
                    "-s", "-m", "60", "-Z", "--parallel-max", "32", "--aws-sigv4", "aws:amz:us-east-1:s3", "-u",
                    "\(key.id):\(key.secret)", "-H", "x-amz-content-sha256: \(digest)", "-H", "Content-Type: a/b", "-X",
                    "PUT", "--data-binary", "@\(body.path)", server.url("many/[1-500]"),
                ], environment: Tool.environment
            ).wait()
            #expect(result.status == 0 && result.output == "", "\(result)")
            #expect(try server.requests().count { $0.method == "PUT" && $0.status == 200 } == 500)
            #expect(TemporaryDirectory.files(in: server.root).count == 500)
            #expect(server.errors == "")
        }
    }
}
