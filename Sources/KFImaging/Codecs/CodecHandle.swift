import CImageCodecs

/// Converts status codes of the C code to errors.
enum CodecStatus {
    /// Checks the status of a decoder.
    ///
    /// - Throws: the error for every status but `KF_OK`.
    static func check(
        _ status: kf_status, _ format: ImageFormat, bytes: Int, _ message: @autoclosure () -> UnsafePointer<CChar>
    ) throws(ImagingError) {
        switch status {
        case KF_OK: return
        case KF_TRUNCATED: throw .truncated(format)
        case KF_NO_MEMORY: throw .outOfMemory(bytes: bytes)
        case KF_UNSUPPORTED: throw .unsupported(format, feature: String(cString: message()))
        default: throw .corrupt(format, reason: String(cString: message()))
        }
    }

    /// Checks the status of an encoder.
    static func check(
        writing status: kf_status, _ format: ImageFormat, bytes: Int, _ message: @autoclosure () -> UnsafePointer<CChar>
    ) throws(ImagingError) {
        switch status {
        case KF_OK: return
        case KF_LATE: throw Allowance.current?.deadline.error ?? .timeLimit(.zero)
        case KF_NO_MEMORY:
            // An encoder has the allowance's remainder as its bound, and cannot tell that bound from the machine's
            // memory.
            if let budget = Allowance.current?.memory { throw .memoryLimit(bytes: .max, limit: budget.limit) }
            throw .outOfMemory(bytes: bytes)
        default: throw .encodingFailed(format, reason: String(cString: message()))
        }
    }
}

/// Calls `body` with the bytes of each array, which stay in place during the call.
func withBytes(
    of arrays: [UInt8]..., body: ([UnsafeBufferPointer<UInt8>]) throws(ImagingError) -> Void
) throws(ImagingError) {
    func add(_ rest: ArraySlice<[UInt8]>, to blocks: [UnsafeBufferPointer<UInt8>]) throws(ImagingError) {
        guard let next = rest.first else { return try body(blocks) }
        try next.withUnsafeBufferPointer { (block) throws(ImagingError) in
            try add(rest.dropFirst(), to: blocks + [block])
        }
    }
    try add(arrays[...], to: [])
}
