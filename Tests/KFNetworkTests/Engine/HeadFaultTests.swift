import KFNetwork
import Support
import Testing

@Suite("Response heads", .bounded, .engines)
struct HeadFaultTests {
    private func error(_ lines: String...) async throws -> TransferError? {
        let head = lines.joined(separator: "\r\n") + "\r\n\r\nhello"
        return try await fetch(from: .text(head), .close).error
    }

    @Test(
        "A contradictory head is refused",
        arguments: [
            (
                "200 OK", "Content-Length: 5\r\nContent-Length: 6",
                .badHeaders(detail: "two different Content-Length values")
            ),
            ("200 OK", "Content-Length: 5, 6", .badHeaders(detail: "two different Content-Length values")),
            ("200 OK", "Content-Length: 5\r\nContent-Length: 5", nil),
            ("200 OK", "Transfer-Encoding: gzip, chunked", .contentEncoding("gzip")),
            ("304 X", "Content-Length: 5", .unexpectedStatus(304)),
            ("206 X", "Content-Length: 5", .unexpectedStatus(206)),
        ] as [(String, String, TransferError?)])
    func contradictory(_ status: String, _ fields: String, _ expected: TransferError?) async throws {
        #expect(try await error("HTTP/1.1 \(status)", fields) == expected)
    }

    @Test(
        "A malformed header field is refused",
        arguments: [
            "Content-Length: -5", "Content-Length: 99999999999999999999999", "Content-Length: 0x5",
            "Content-Length: 5a",
            "X-A: a\0b\r\nContent-Length: 5",
        ])
    func badField(_ fields: String) async throws {
        #expect(try await error("HTTP/1.1 200 OK", fields)?.name == "badHeaders")
    }

    @Test(
        "A status outside the range is refused",
        arguments: ["HTTP/1.1 9999 X", "HTTP/1.1 099 X", "HTTP/1.1 600 X", "HTTP/1.1 abc X"])
    func badStatus(_ line: String) async throws {
        let error = try await error(line, "Content-Length: 5")
        #expect(["badHeaders", "protocolError"].contains(error?.name), "\(line): \(String(describing: error))")
    }

    @Test("A response without a head is refused") func http09() async throws {
        let fetched = try await fetch(from: .text("just some bytes, no head at all\n"), .close)
        #expect(fetched.error == .protocolError(detail: "not HTTP/1 or HTTP/2"))
    }

    @Test("A server that speaks only HTTP/2 is named as that") func http2() async throws {
        // SETTINGS with one parameter, then GOAWAY.
        let frames: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100, 0, 0, 8, 7, 0, 0, 0, 0, 0]
        let fetched = try await fetch(from: .send(frames + [UInt8](repeating: 0, count: 8)), .close)
        let detail = "the server speaks only HTTP/2, which kf speaks over TLS alone"
        #expect(fetched.error == .protocolError(detail: detail))
    }

    @Test("More than 300 KiB of headers are refused") func tooLong() async throws {
        let many = (0..<200).map { "X-\($0): " + String(repeating: "y", count: 2000) }.joined(separator: "\r\n")
        #expect(try await error("HTTP/1.1 200 OK", many) == .badHeaders(detail: "more than 300 KiB of headers"))
    }

    @Test("More than 256 header lines are refused") func tooMany() async throws {
        let many = (0..<20_000).map { "X-\($0): y" }.joined(separator: "\r\n")
        #expect(try await error("HTTP/1.1 200 OK", many) == .badHeaders(detail: "more than 256 header lines"))
    }

    @Test("A header line of more than 100 KiB is refused") func hugeHeader() async throws {
        let huge = "X: " + String(repeating: "y", count: 200_000)
        #expect(
            try await error("HTTP/1.1 200 OK", huge) == .badHeaders(detail: "a header line of more than 100 KiB"))
    }

    @Test("Endless interim responses are refused") func endlessInterim() async throws {
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000)
        let fetched = try await fetch(from: .text(interim), .hold)
        #expect(fetched.error == .badHeaders(detail: "more than 256 header lines"))
    }

    @Test("An interim response is skipped") func interim() async throws {
        let fetched = try await fetch(from: .text("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), .reply())
        #expect(fetched.body == "hello")
        #expect(fetched.head?.headers["Link"] == nil)
    }

    @Test("A refused status carries its head", arguments: [404, 410, 500, 503, 401, 204, 302])
    func otherStatus(_ status: Int) async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 \(status) Some Reason", "Retry-After: 7"), .close)
        let head = try #require(fetched.refusedHead, "\(fetched.result)")
        #expect(head.status == status)
        #expect(head.headers["retry-after"] == "7")
        #expect(fetched.error?.message == "response \(status) Some Reason")
        #expect(fetched.error?.isRetryable == (status >= 500))
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test("A small error page keeps the connection") func errorPage() async throws {
        let server = try FaultServer { [.reply($0.path == "/ok" ? "200 OK" : "404 Not Found")] }
        let engine = Engines.make()
        for _ in 0..<3 { _ = await fetch(server.url("/missing"), engine: engine) }
        #expect(await fetch(server.url("/ok"), engine: engine).body == "hello")
        #expect(server.accepted == 1)
    }

    @Test("An endless error page does not delay its error") func endlessErrorPage() async throws {
        let start = ContinuousClock.now
        let fetched = try await fetch(from: .head("HTTP/1.1 404 Not Found", "Content-Length: 500"), .hold)
        // Before the stall timer's 15 s would have ended it.
        #expect(ContinuousClock.now - start < .seconds(14))
        #expect(fetched.refusal == 404, "\(fetched.result)")
    }
}
