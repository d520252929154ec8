/// The bytes of an array for a body whose error keeps its type, unlike that of `withUnsafeBytes`.
extension Array where Element: BitwiseCopyable {
    package func withBytes<Value, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withUnsafeBufferPointer { buffer throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
    }

    package mutating func withMutableBytes<Value, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try withUnsafeMutableBufferPointer { buffer throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
