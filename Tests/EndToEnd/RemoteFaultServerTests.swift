import Foundation
import Support
import Testing

extension EndToEnd {
    /// The server of the remotes' faults, asked by curl.
    @Suite("The server that misbehaves as a remote")
    struct RemoteFaultServerTests {
        /// What curl got, and the status that it ended with.
        private func curl(_ arguments: String...) async throws -> (status: String, body: String, end: Int32) {
            let result = try await RunningCommand(
                "curl", ["-sS", "-m", "20", "-w", "\n%{http_code}"] + arguments, environment: Tool.environment
            ).wait()
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"), result.status)
        }

        private func put(_ body: String, _ url: String, _ arguments: String...) async throws -> String {
            try await RunningCommand(
                "curl",
                ["-sS", "-m", "20", "-w", "%{http_code}", "-X", "PUT", "--data-binary", body] + arguments + [url],
                environment: Tool.environment
            ).wait().output
        }

        @Test("without a fault it stores as WebDAV does")
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

        @Test("missing parents are refused, until they are made")
        func parents() async throws {
            let server = try RemoteFaultServer(missingParent: .isRefused(status: 409))
            #expect(try await put("one", server.url("/a/b/c")) == "409")
            #expect(try await curl("-X", "MKCOL", server.url("/a/b/")).status == "409")
            #expect(try await curl("-X", "MKCOL", server.url("/a")).status == "201")
            #expect(try await curl("-X", "MKCOL", server.url("/a")).status == "405")
            #expect(try await curl("-X", "MKCOL", server.url("/a/b/")).status == "201")
            #expect(try await put("one", server.url("/a/b/c")) == "201")
        }

        @Test("statuses, by method, path and count")
        func statuses() async throws {
            let server = try RemoteFaultServer(
                .init(.status(503, headers: ["Retry-After: 7"]), to: "PUT", at: "/cas/", times: 1),
                .init(.statusAtOnce(413), to: "PUT", at: "/large"), .init(.full(bytes: 5), to: "PUT"))
            let head = try await curl("-D", "-", "-X", "PUT", "--data-binary", "one", server.url("/cas/a"))
            #expect(head.body.contains("Retry-After: 7") && head.status == "503")
            #expect(try await put("one", server.url("/cas/a")) == "201")
            #expect(try await put("two", server.url("/cas/b")) == "507")
            let files = try TemporaryDirectory()
            let large = try files.write("large", Data(count: 8 << 20))
            #expect(try await put("@\(large.path)", server.url("/large")) == "413")
            #expect(server.requests.last?.body.isEmpty == true)
            #expect(server.tree.files.keys.sorted() == ["/cas/a"])
            server.misbehave()
            #expect(try await put("two", server.url("/cas/b")) == "201")
        }

        @Test("answers that never come, or end early")
        func broken() async throws {
            let server = try RemoteFaultServer()
            #expect(try await put("0123456789", server.url("/a")) == "201")
            let limit = ["-m", "1"]
            server.misbehave(.init(.silence))
            let silent = try await curl(limit[0], limit[1], server.url("/a"))
            #expect(silent.end == 28 && silent.status == "000")
            server.misbehave(.init(.stall(after: 4)))
            let stalled = try await curl(limit[0], limit[1], server.url("/a"))
            #expect(stalled.end == 28 && stalled.status == "200" && stalled.body == "0123")
            server.misbehave(.init(.truncate(after: 4)))
            #expect(try await curl(server.url("/a")).end == 18)
            server.misbehave(.init(.close))
            #expect(try await curl(server.url("/a")).end == 52)
            server.misbehave(.init(.reset))
            #expect(try await curl(server.url("/a")).end == 56)
            server.misbehave(.init(.delay(.milliseconds(300))), .init(.status(500)))
            let start = ContinuousClock.now
            #expect(try await curl(server.url("/a")).status == "500")
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            server.misbehave(.init(.takeSlowly(bytesPerSecond: 50)))
            let middle = ContinuousClock.now
            #expect(try await put("0123456789", server.url("/b")) == "201")
            #expect(ContinuousClock.now - middle >= .milliseconds(100))
        }

        @Test("lies")
        func lies() async throws {
            let server = try RemoteFaultServer()
            let entry = #"{"v":1,"bytes":41}"#
            #expect(try await put(entry, server.url("/kf1/ac/a")) == "201")
            #expect(try await put("other", server.url("/kf1/ac/b")) == "201")
            func lie(_ lie: RemoteLie) async throws -> String {
                server.misbehave(.init(.lie(lie), to: "GET", at: "/ac/"))
                let got = try await curl(server.url("/kf1/ac/a"))
                #expect(got.status == "200" && got.end == 0)
                return got.body
            }
            #expect(try await lie(.otherLastByte) == #"{"v":1,"bytes":41|"#)
            #expect(try await lie(.otherLength) == #"{"v":1,"bytes":42}"#)
            #expect(try await lie(.another) == "other")
            #expect(try await lie(.cutJSON) == String(entry.prefix(entry.count / 2)))
            #expect(try await lie(.longer).utf8.count == entry.count + 100)
            #expect(try await lie(.nothing) == "")
            #expect(try await curl(server.url("/kf1/ac/c")).status == "404")
            server.misbehave(.init(.zeros(200 << 20), to: "GET"))
            let huge = try await curl("-o", "/dev/null", server.url("/kf1/ac/a"))
            #expect(huge.end == 0)
        }

        @Test("a full listener neither accepts nor refuses")
        func full() async throws {
            let listener = try FullListener()
            #expect(try await curl("--connect-timeout", "1", listener.url).end == 28)
        }
    }
}
