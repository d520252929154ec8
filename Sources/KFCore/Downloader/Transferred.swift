import KFNetwork

/// What came of a transfer that reached its server.
enum Transferred: Sendable {
    /// The body is in the sink; a 304 has none.
    case body(BodySink, TransferResponse)
    /// A status without an image.
    case refused(ResponseFacts)
}
