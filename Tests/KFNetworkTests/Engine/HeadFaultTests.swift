import KFNetwork
import Support
import Testing

@Suite("A head that is malformed or was not asked for", .bounded)
struct HeadFaultTests {
    private func error(_ lines: String...) async throws -> TransferError? {
        let head = lines.joined(separator: "\r\n") + "\r\n\r\nhello"
        return try await fetch(from: .text(head), .close).error
    }

    @Test func twoLengthsAreRefused() async throws {
        #expect(try await error("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6") == .conflictingLength)
        #expect(try await error("HTTP/1.1 200 OK", "Content-Length: 5, 6") == .conflictingLength)
        #expect(try await error("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 5") == nil)
    }

    @Test(arguments: ["-5", "99999999999999999999999", "0x5", "5a"])
    func lengthThatIsNoneIsRefused(_ text: String) async throws {
        guard case .badHeaders = try await error("HTTP/1.1 200 OK", "Content-Length: \(text)") else {
            Issue.record("Content-Length: \(text) was accepted")
            return
        }
    }

    @Test func transferCodingOtherThanChunkedIsRefused() async throws {
        #expect(
            try await error("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked") == .contentEncoding("gzip"))
    }

    @Test(arguments: [304, 206])
    func answerToAQuestionNotAskedIsRefused(_ status: Int) async throws {
        #expect(try await error("HTTP/1.1 \(status) X", "Content-Length: 5") == .unexpectedStatus(status))
    }

    @Test(arguments: ["HTTP/1.1 9999 X", "HTTP/1.1 099 X", "HTTP/1.1 600 X", "HTTP/1.1 abc X"])
    func statusOutsideTheRangeIsRefused(_ line: String) async throws {
        let error = try await error(line, "Content-Length: 5")
        switch error {
        case .badHeaders, .protocolError: break
        default: Issue.record("\(line): \(String(describing: error))")
        }
    }

    @Test func http09IsRefused() async throws {
        let fetched = try await fetch(from: .text("just some bytes, no head at all\n"), .close)
        #expect(fetched.error == .protocolError(detail: "not HTTP/1 or HTTP/2"))
    }

    @Test func nulInAHeaderIsRefused() async throws {
        guard case .badHeaders = try await error("HTTP/1.1 200 OK", "X-A: a\0b", "Content-Length: 5") else {
            Issue.record("a NUL was accepted")
            return
        }
    }

    @Test func tooManyHeaderBytesAreRefused() async throws {
        let many = (0..<200).map { "X-\($0): " + String(repeating: "y", count: 2000) }.joined(separator: "\r\n")
        #expect(try await error("HTTP/1.1 200 OK", many) == .badHeaders(detail: "more than 300 KiB of headers"))
    }

    @Test func tooManyHeadersAreRefused() async throws {
        let many = (0..<20_000).map { "X-\($0): y" }.joined(separator: "\r\n")
        #expect(try await error("HTTP/1.1 200 OK", many) == .badHeaders(detail: "more than 256 header lines"))
    }

    @Test func oneHugeHeaderIsAProtocolError() async throws {
        let huge = "X: " + String(repeating: "y", count: 200_000)
        #expect(
            try await error("HTTP/1.1 200 OK", huge) == .badHeaders(detail: "a header line of more than 100 KiB"))
    }

    @Test func endlessInterimAnswersEnd() async throws {
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1000)
        let fetched = try await fetch(from: .text(interim), .hold)
        #expect(fetched.error == .badHeaders(detail: "more than 256 header lines"))
    }

    @Test func interimAnswerIsSkipped() async throws {
        let fetched = try await fetch(from: .text("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), .reply())
        #expect(fetched.body == "hello")
        #expect(fetched.head?.headers["Link"] == nil)
    }

    @Test(arguments: [404, 410, 500, 503, 401, 204, 302])
    func otherStatusCarriesItsHead(_ status: Int) async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 \(status) Some Reason", "Retry-After: 7"), .close)
        guard case .httpStatus(status, let head) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(head.headers["retry-after"] == "7")
        #expect(fetched.error?.message == "response \(status) Some Reason")
        #expect(fetched.error?.isRetryable == (status >= 500))
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test func smallErrorPageKeepsTheConnection() async throws {
        let server = try FaultServer { [.reply($0.path == "/ok" ? "200 OK" : "404 Not Found")] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        for _ in 0..<3 { _ = await fetch(server.url("/missing"), engine: engine) }
        #expect(await fetch(server.url("/ok"), engine: engine).body == "hello")
        #expect(server.accepted == 1)
    }

    @Test func errorPageThatNeverEndsDoesNotHoldUpItsError() async throws {
        let start = ContinuousClock.now
        let fetched = try await fetch(from: .head("HTTP/1.1 404 Not Found", "Content-Length: 500"), .hold)
        // Before the stall timer's 15 s would have ended it.
        #expect(ContinuousClock.now - start < .seconds(14))
        guard case .httpStatus(404, _) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
    }
}
