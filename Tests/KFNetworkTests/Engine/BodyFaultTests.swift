import KFNetwork
import Support
import Testing

@Suite("Response bodies", .bounded)
struct BodyFaultTests {
    @Test("A well-formed body arrives whole") func whole() async throws {
        let fetched = try await fetch(from: .reply(headers: ["ETag: \"x\""]))
        #expect(fetched.body == "hello")
        #expect(fetched.head?.status == 200)
        #expect(fetched.head?.headers["etag"] == "\"x\"")
        #expect(fetched.head?.contentLength == 5)
        #expect(fetched.metrics?.receivedBytes == 5)
        #expect(fetched.metrics?.remoteAddress == "127.0.0.1")
        #expect(fetched.metrics?.newConnections == 1)
        #expect(fetched.sink.heads.count == 1)
    }

    private static let chunked = "Transfer-Encoding: chunked"

    @Test(
        "A broken body is a retryable error",
        arguments: [
            ("Content-Length: 100", "abc", .close, .truncated(expected: 100, got: 3)),
            ("Content-Length: 100", "abc", .reset, .connectionLost(detail: "Connection reset by peer")),
            (chunked, "5\r\nab", .close, .truncated(expected: nil, got: 2)),
            (chunked, "2\r\nab\r\n", .close, .truncated(expected: nil, got: 2)),
            (
                chunked, "zz\r\nab\r\n", .hold,
                .protocolError(detail: "Illegal or missing hexadecimal sequence in chunked-encoding")
            ),
        ] as [(String, String, FaultStep, TransferError)])
    func broken(_ framing: String, _ body: String, _ end: FaultStep, _ error: TransferError) async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", framing), .text(body), end)
        #expect(fetched.error == error && fetched.error?.isRetryable == true)
    }

    @Test("A body without length is marked as undelimited") func undelimited() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK"), .text("abc"), .close)
        #expect(fetched.body == "abc")
        #expect(fetched.head?.contentLength == nil)
        #expect(fetched.head?.isDelimited == false)
    }

    @Test("Chunks are joined") func chunks() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
        #expect(fetched.body == "abcde")
        #expect(fetched.head?.framing == .chunked)
        #expect(fetched.head?.isDelimited == true)
    }

    @Test("An announced size over the limit is refused") func announced() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", "Content-Length: 1001"), .hold) {
            $0.options.maxBytes = 1000
        }
        #expect(fetched.error == .tooLarge(limit: 1000))
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test("A chunked body over the limit is refused") func counted() async throws {
        let chunk = FaultStep.text("400\r\n" + String(repeating: "x", count: 1024) + "\r\n")
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), chunk, chunk, chunk, .hold
        ) {
            $0.options.maxBytes = 2048
        }
        #expect(fetched.error == .tooLarge(limit: 2048))
        #expect(fetched.sink.byteCount <= 2048)
    }

    @Test("A body of exactly the limit is accepted") func limit() async throws {
        let fetched = try await fetch(from: .reply()) { $0.options.maxBytes = 5 }
        #expect(fetched.body == "hello")
    }

    @Test("A sink that refuses ends the transfer with its reason") func sink() async throws {
        let head = try await fetch(from: .reply(), sink: CollectingSink(refusesHead: true))
        #expect(head.error == .sink(SinkError(reason: "no room")))
        let body = try await fetch(from: .reply(), sink: CollectingSink(refusesBodyAfter: 2))
        #expect(body.error == .sink(SinkError(reason: "disk full")))
    }
}
