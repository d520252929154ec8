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
}
