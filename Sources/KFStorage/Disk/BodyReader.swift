/// Reads the bytes of a body in order while they are written, beside the body's hash and on the same thread.
///
/// A value type: a copy goes on from the same position.
package protocol BodyReader: Sendable {
    /// The next bytes; valid during the call.
    mutating func read(_ bytes: UnsafeRawBufferPointer)
}
