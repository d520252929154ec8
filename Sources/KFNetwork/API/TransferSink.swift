/// Receives the body of a transfer. All calls come on the I/O thread, in order, and none after the transfer's end has
/// been reported. A call delays every other transfer of the engine, so it must not block.
package protocol TransferSink: AnyObject, Sendable {
    /// Receives the final, accepted head. Heads of redirects and error statuses are not passed on.
    func begin(_ head: ResponseHead) throws(SinkError)
    /// Receives the next bytes of the body, which are valid during the call only.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError)
    /// Notes a number of body bytes as the network brought them, before they are decoded.
    func arrived(_ count: Int)
}

extension TransferSink {
    package func arrived(_ count: Int) {}

    func take(_ bytes: UnsafeRawBufferPointer) throws(TransferError) {
        do throws(SinkError) { try receive(bytes) } catch { throw .sink(error) }
    }
}
