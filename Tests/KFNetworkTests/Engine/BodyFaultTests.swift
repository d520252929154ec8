import KFNetwork
import Support
import Testing

@Suite("A body that is not what its head said", .bounded)
struct BodyFaultTests {
    @Test func wellFormedArrivesWhole() async throws {
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

    @Test func shorterThanItsLengthIsTruncated() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", "Content-Length: 100"), .text("abc"), .close)
        #expect(fetched.error == .truncated(expected: 100, got: 3))
        #expect(fetched.error?.isRetryable == true)
    }

    @Test func withoutLengthTheHeadSaysThatTheEndProvesNothing() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK"), .text("abc"), .close)
        #expect(fetched.body == "abc")
        #expect(fetched.head?.contentLength == nil)
        #expect(fetched.head?.isDelimited == false)
    }

    @Test func chunksAreJoined() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"))
        #expect(fetched.body == "abcde")
        #expect(fetched.head?.framing == .chunked)
        #expect(fetched.head?.isDelimited == true)
    }

    @Test func cutChunksAreTruncated() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("5\r\nab"), .close)
        #expect(fetched.error == .truncated(expected: nil, got: 2))
    }

    @Test func chunksThatLackTheirEndAreTruncated() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("2\r\nab\r\n"), .close)
        #expect(fetched.error == .truncated(expected: nil, got: 2))
    }

    @Test func badChunkIsAProtocolError() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), .text("zz\r\nab\r\n"), .hold)
        guard case .protocolError = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(fetched.error?.isRetryable == true)
    }

    @Test func resetIsALostConnection() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", "Content-Length: 100"), .text("abc"), .reset)
        #expect(fetched.error == .connectionLost(detail: "Connection reset by peer"))
    }

    @Test func closedWithoutAWordIsAnEmptyReply() async throws {
        let fetched = try await fetch(from: .close)
        #expect(fetched.error == .emptyReply)
    }

    @Test func announcedSizePastTheLimitIsRefusedAheadOfTheBody() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 200 OK", "Content-Length: 1001"), .hold) {
            $0.options.maxBytes = 1000
        }
        #expect(fetched.error == .tooLarge(limit: 1000))
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test func chunkedPastTheLimitIsCountedAsItComes() async throws {
        let chunk = FaultStep.text("400\r\n" + String(repeating: "x", count: 1024) + "\r\n")
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked"), chunk, chunk, chunk, .hold
        ) {
            $0.options.maxBytes = 2048
        }
        #expect(fetched.error == .tooLarge(limit: 2048))
        #expect(fetched.sink.byteCount <= 2048)
    }

    @Test func bodyOfExactlyTheLimitPasses() async throws {
        let fetched = try await fetch(from: .reply()) { $0.options.maxBytes = 5 }
        #expect(fetched.body == "hello")
    }

    @Test func sinkThatRefusesEndsTheTransferWithItsReason() async throws {
        let head = try await fetch(from: .reply(), sink: CollectingSink(refusesHead: true))
        #expect(head.error == .sink(SinkError(reason: "no room")))
        let body = try await fetch(from: .reply(), sink: CollectingSink(refusesBodyAfter: 2))
        #expect(body.error == .sink(SinkError(reason: "disk full")))
    }
}
