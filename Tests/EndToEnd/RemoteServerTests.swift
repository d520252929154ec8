import Foundation
import Support
import Testing

extension EndToEnd {
    /// The servers that stand for remotes, asked by other clients than kf.
    @Suite("Remote servers")
    struct RemoteServerTests {
        private func curl(_ arguments: String...) async throws -> CurlResult { try await Tool.curl(arguments) }

        private func put(_ body: String, _ url: String, _ arguments: String...) async throws -> String {
            try await Tool.curl(["-X", "PUT", "--data-binary", body] + arguments + [url]).status
        }

        @Test("A protected remote refuses a wrong password", .enabled(if: ApacheServer.isInstalled))
        func passwords() async throws {
            let nginx = try FileServer.webDAV(FileServer.protecting(user: "me", password: "secret"))
            let apache = try ApacheServer(user: .init("me", "secret"))
            for url in [nginx.url("a"), apache.url("a")] {
                #expect(try await curl(url).status == "401")
                #expect(try await curl("-u", "me:other", url).status == "401")
                #expect(try await curl("-u", "me:secret", url).status == "404")
            }
        }

        @Test("Apache requires parents and refuses existing files", .enabled(if: ApacheServer.isInstalled))
        func apache() async throws {
            let server = try ApacheServer()
            let url = server.url("kf1/name")
            #expect(try await put("one", url) == "409")
            #expect(try await curl("-X", "MKCOL", server.url("kf1")).status == "201")
            #expect(try await curl("-X", "MKCOL", server.url("kf1")).status == "405")
            #expect(try await put("one", url, "-H", "If-None-Match: *") == "201")
            #expect(try await put("two", url, "-H", "If-None-Match: *") == "412")
            #expect(try await curl(url).body == "one")
            #expect(TemporaryDirectory.files(in: server.root) == ["kf1/name"])
        }

        @Test("The faulty remote stores like WebDAV without a fault")
        func stores() async throws {
            let server = try RemoteFaultServer()
            let url = server.url("/kf1/ac/ab/name")
            #expect(try await curl(url).status == "404")
            #expect(try await put("one", url) == "201")
            #expect(try await put("two", url, "-H", "If-None-Match: *") == "412")
            #expect(try await put("two", url, "-H", "Expect: 100-continue") == "204")
            let got = try await curl(url)
            #expect(got.status == "200" && got.body == "two")
            #expect(try await curl("-I", url).status == "200")
            #expect(server.tree.files == ["/kf1/ac/ab/name": Array("two".utf8)])
            #expect(server.requests.map(\.method) == ["GET", "PUT", "PUT", "PUT", "GET", "HEAD"])
            #expect(server.requests.map(\.body.count) == [0, 3, 3, 3, 0, 0])
            // Two requests on one connection: the body ends where its length says.
            let both = try await curl("-X", "PUT", "--data-binary", "12345", server.url("/[1-3]"))
            #expect(both.status == "201" && server.tree.files.count == 4)
        }

        @Test("A full listener neither accepts nor refuses")
        func full() async throws {
            let listener = try FullListener()
            #expect(try await curl("--connect-timeout", "1", listener.url).end == 28)
        }
    }

    /// The S3 of the tests, asked by curl and by botocore itself.
    @Suite("The S3 test server", .enabled("Debian's python3-botocore is missing") { await S3Server.isInstalled })
    struct S3ServerTests {
        let server: S3Server

        init() throws { server = try S3Server() }

        private func curl(
            _ key: S3Server.Key = .usual, region: String = "us-east-1", _ arguments: String...
        ) async throws -> CurlResult {
            try await Tool.curl(["--aws-sigv4", "aws:amz:\(region):s3", "-u", "\(key.id):\(key.secret)"] + arguments)
        }

        private func hash(_ text: String) async throws -> String {
            let result = try await Tool.run("sha256sum", input: Data(text.utf8))
            return "x-amz-content-sha256: \(result.output.prefix(64))"
        }

        @Test("The S3 server refuses wrong signatures, buckets and bodies")
        func refused() async throws {
            let url = server.url("name")
            let empty = try await hash("")
            let cases: [(answer: CurlResult, status: String, code: String)] = [
                (try await curl(.init("AKIDEXAMPLE", "other"), "-H", empty, url), "403", "SignatureDoesNotMatch"),
                (try await curl(.init("OTHER", "other"), "-H", empty, url), "403", "InvalidAccessKeyId"),
                (try await curl(.usual, region: "eu-west-1", "-H", empty, url), "301", "PermanentRedirect"),
                (try await curl(.usual, "-H", empty, server.address + "/other/name"), "404", "NoSuchBucket"),
                (try await curl(.usual, "-H", empty, url), "404", "NoSuchKey"),
                (try await curl(.temporary, "-H", empty, url), "400", "InvalidToken"),
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

        /// Signs with botocore, changes each request as one of its arguments says, and prints the status and S3's code.
        private static let client = """
            import datetime, json, re, sys, http.client
            from urllib.parse import urlsplit
            import botocore.auth
            from botocore.awsrequest import AWSRequest
            from botocore.credentials import Credentials
            url, key, secret = sys.argv[1:4]
            now = datetime.datetime.utcnow
            class Clock(datetime.datetime):
                @classmethod
                def utcnow(cls): return now() + datetime.timedelta(minutes=changes.get("minutes", 0))
            botocore.auth.datetime.datetime = Clock
            for changes in map(json.loads, sys.argv[4:]):
                request = AWSRequest(method="PUT", url=url, data=b"one", headers={"x-amz-meta-a": "1"})
                botocore.auth.S3SigV4Auth(Credentials(key, secret), "s3", "us-east-1").add_auth(request)
                headers = {**dict(request.headers.items()), **changes.get("headers", {})}
                parts = urlsplit(url)
                connection = http.client.HTTPConnection(parts.netloc, timeout=20)
                connection.request(
                    changes.get("method", "PUT"), changes.get("path", parts.path), changes.get("body", "one"), headers)
                answer = connection.getresponse()
                code = re.search(r"<Code>(\\w+)", answer.read().decode())
                print(answer.status, code.group(1) if code else "-")
            """

        @Test("The S3 server refuses requests changed after signing")
        func changed() async throws {
            let cases = [
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
            ]
            let key = S3Server.Key.usual
            let result = try await Tool.run(
                "/usr/bin/python3", ["-c", Self.client, server.url("name"), key.id, key.secret] + cases.map(\.0))
            #expect(result.outputLines == cases.map(\.1), "\(result) \(server.errors)")
        }

        @Test(
            "The S3 server agrees with the AWS test vectors",
            .enabled("\(Corpora.absence)") { Corpora.has("sigv4") })
        func vectors() async throws {
            let script = PackageRoot.url.appendingPathComponent("Tests/Support/s3_server.py").path
            let vectors = Corpora.url.appendingPathComponent("sigv4").path
            let result = try await Tool.run("/usr/bin/python3", script, "--vectors", vectors)
            #expect(result.status == 0, "\(result)")
            #expect(result.outputLines.count >= 38)
        }
    }
}

/// What curl got, and the status that it ended with.
private struct CurlResult {
    let status: String
    let body: String
    let end: Int32
}

extension Tool {
    fileprivate static func curl(_ arguments: [String]) async throws -> CurlResult {
        let result = try await RunningCommand(
            "curl", ["-sS", "-m", "20", "-w", "\n%{http_code}"] + arguments, environment: environment
        ).wait()
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        return CurlResult(
            status: String(lines.last ?? ""), body: lines.dropLast().joined(separator: "\n"), end: result.status)
    }
}
