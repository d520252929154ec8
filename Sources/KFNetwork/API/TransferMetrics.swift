/// What a transfer cost. Phases that did not happen (a connection was reused, no TLS) are zero. Where redirects were
/// followed, the sums over all hops, and the last hop's address and protocol.
package struct TransferMetrics: Sendable, Equatable {
    /// Nanoseconds: arithmetic on durations is on 128 bits.
    struct Spans: Equatable {
        var dns: Int64 = 0
        var connect: Int64 = 0
        var tls: Int64 = 0
        var firstByte: Int64 = 0
        var total: Int64 = 0
    }

    var spans = Spans()
    /// Body bytes as they came, before a content coding was decoded.
    package var receivedBytes: Int64 = 0
    package var protocolName = ""
    package var remoteAddress = ""
    package var newConnections = 0
    /// Redirects followed.
    package var redirects = 0

    package init() {}

    package var dns: Duration { .nanoseconds(spans.dns) }
    /// The TCP handshake, without the name's lookup.
    package var connect: Duration { .nanoseconds(spans.connect) }
    /// The TLS handshake alone.
    package var tls: Duration { .nanoseconds(spans.tls) }
    /// From the start of the last hop to its first byte.
    package var firstByte: Duration { .nanoseconds(spans.firstByte) }
    /// From the first start to the end, waiting between hops included; without the wait for a place before the start.
    package var total: Duration { .nanoseconds(spans.total) }
}
