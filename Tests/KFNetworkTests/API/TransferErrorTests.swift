import KFNetwork
import Testing

@Suite("Messages of transfer errors")
struct TransferErrorTests {
    @Test("A message says what failed") func messages() {
        #expect(TransferError.stalled(host: "h", after: .seconds(15)).message == "h sent less than 1 KiB in 15 s")
        #expect(TransferError.maxTimeExceeded(.milliseconds(1050)).message == "took longer than 1.05 s")
        #expect(TransferError.truncated(expected: 9, got: 4).message == "broke off after 4 of 9 bytes")
        #expect(
            TransferError.httpStatus(404, ResponseHead(status: 404, reason: "Not Found")).message
                == "response 404 Not Found")
        #expect(TransferError.httpStatus(404, ResponseHead(status: 404)).message == "response 404")
    }

    @Test("Transient statuses can be retried") func retryable() {
        for status in [408, 425, 429, 500, 502, 503, 599] {
            #expect(TransferError.httpStatus(status, ResponseHead(status: status)).isRetryable)
        }
        for status in [400, 401, 403, 404, 410, 300, 204] {
            #expect(!TransferError.httpStatus(status, ResponseHead(status: status)).isRetryable)
        }
    }
}
