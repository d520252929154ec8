import CImageCodecs

/// The C shim's status codes as errors.
enum CodecStatus {
    /// - Throws: the error for anything but `KF_OK`.
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

    /// The same for a writer.
    static func check(
        writing status: kf_status, _ format: ImageFormat, bytes: Int, _ message: @autoclosure () -> UnsafePointer<CChar>
    ) throws(ImagingError) {
        switch status {
        case KF_OK: return
        case KF_LATE: throw Allowance.current?.deadline.error ?? .timeLimit(.zero)
        case KF_NO_MEMORY:
            // Whether it was the allowance or the machine that had no more.
            if let budget = Allowance.current?.memory { throw .memoryLimit(bytes: .max, limit: budget.limit) }
            throw .outOfMemory(bytes: bytes)
        default: throw .encodingFailed(format, reason: String(cString: message()))
        }
    }
}
