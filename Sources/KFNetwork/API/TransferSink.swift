/// Where a body goes. Called on the I/O thread alone, in order, and never after `perform` has returned. What is done
/// here holds up every other transfer of the engine, so it must not block for long; a sink that can take no more for
/// now pauses its transfer by the request's `TransferControl`.
package protocol TransferSink: AnyObject, Sendable {
    /// The final, accepted head. Redirects and refused statuses never come here.
    func begin(_ head: ResponseHead) throws(SinkError)
    /// The next bytes of the body; valid during the call.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError)
}
