/// The result of a successful transfer, whose body went to the sink.
package final class TransferResponse: Sendable {
    package let head: ResponseHead
    package let metrics: DownloadMetrics

    package init(head: ResponseHead, metrics: DownloadMetrics) {
        self.head = head
        self.metrics = metrics
    }
}

package struct EndedTransfer: Sendable {
    package let id: UInt64
    package let token: any AnyObject & Sendable
    package let result: Result<TransferResponse, TransferError>
    /// The address of the server that a failed transfer was connected to; nil if there was none, or after a success, whose
    /// metrics have it.
    package internal(set) var address: String?
    /// The number of times that the request was made: 0 if the transfer did not start, and one more for each refusal that it
    /// has outwaited. Redirects do not count.
    package let requests: Int

    package init(
        id: UInt64, token: any AnyObject & Sendable, result: Result<TransferResponse, TransferError>,
        requests: Int = 1
    ) {
        self.id = id
        self.token = token
        self.result = result
        self.requests = requests
    }
}

/// The timing and size of a transfer. Phases that did not take place (a reused connection, no TLS) are zero.
///
/// After redirects, the times of lookup, connect and TLS are sums over all requests. The address and protocol are those
/// of the last request.
public struct DownloadMetrics: Sendable, Equatable {
    /// The times in nanoseconds, because `Duration` computes with 128 bits.
    struct Spans: Equatable {
        var dns: Int64 = 0
        var connect: Int64 = 0
        var tls: Int64 = 0
        var firstByte: Int64 = 0
        var total: Int64 = 0
    }

    var spans = Spans()
    /// The number of body bytes received, before content decoding.
    public package(set) var receivedBytes: Int64 = 0
    /// `HTTP/1.1` or `HTTP/2`.
    public package(set) var protocolName = ""
    /// The address of the server that answered.
    public package(set) var remoteAddress = ""
    /// The number of redirects followed.
    public package(set) var redirects = 0
    package var newConnections = 0

    package init() {}

    /// The duration of the name lookup.
    public var dns: Duration { .nanoseconds(spans.dns) }
    /// The duration of the TCP handshake, without the name lookup.
    public var connect: Duration { .nanoseconds(spans.connect) }
    /// The duration of the TLS handshake.
    public var tls: Duration { .nanoseconds(spans.tls) }
    /// The time from the start of the last request to the first byte of its response.
    public var firstByte: Duration { .nanoseconds(spans.firstByte) }
    /// The time from the start of the first request to the end, without the wait before that start.
    public var total: Duration { .nanoseconds(spans.total) }
}
