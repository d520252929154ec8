import CImageCodecs

/// A reader or writer of the C code, which is destroyed with this value.
struct CodecHandle: ~Copyable {
    let pointer: OpaquePointer
    private let format: ImageFormat
    private let isWriter: Bool
    private let bytes: Int

    /// Takes what the C code has created. `bytes` is what the error of a failed allocation states.
    ///
    /// - Throws: `outOfMemory` when nothing was created.
    init(
        _ created: OpaquePointer?, _ format: ImageFormat, bytes: Int = 1 << 16, isWriter: Bool = false
    ) throws(ImagingError) {
        guard let created else { throw .outOfMemory(bytes: 1 << 16) }
        (pointer, self.format, self.bytes, self.isWriter) = (created, format, bytes, isWriter)
    }

    /// Creates a writer of an image within the bounds of the current allowance.
    ///
    /// - Throws: `encodingFailed` for an image with a side that the format cannot hold, and `outOfMemory`.
    init(
        writing image: Image, as format: ImageFormat, longestSide: Int, _ create: (kf_bounds) -> OpaquePointer?
    ) throws(ImagingError) {
        guard max(image.width, image.height) <= longestSide else {
            throw .encodingFailed(format, reason: "a side of more than \(longestSide) pixels")
        }
        try self.init(create(Allowance.bounds), format, bytes: image.bitmap.byteCount, isWriter: true)
    }

    deinit {
        kf_handle_destroy(pointer)
    }

    /// - Throws: the error for every status but `KF_OK`.
    func check(_ status: kf_status, bytes: Int? = nil) throws(ImagingError) {
        func reason() -> String { String(cString: kf_handle_message(pointer)) }
        switch status {
        case KF_OK: return
        case KF_NO_MEMORY:
            // A writer has the allowance's remainder as its bound, and cannot tell that bound from the machine's memory.
            if isWriter, let budget = Allowance.current?.memory { throw .memoryLimit(bytes: .max, limit: budget.limit) }
            throw .outOfMemory(bytes: bytes ?? self.bytes)
        case KF_LATE: throw Allowance.current?.deadline.error ?? .timeLimit(.zero)
        case _ where isWriter: throw .encodingFailed(format, reason: reason())
        case KF_TRUNCATED: throw .truncated(format)
        case KF_UNSUPPORTED: throw .unsupported(format, feature: reason())
        default: throw .corrupt(format, reason: reason())
        }
    }

    /// Returns the file that a writer completes.
    func file(
        _ finish: (OpaquePointer?, UnsafeMutablePointer<kf_bytes>?) -> kf_status
    ) throws(ImagingError) -> [UInt8] {
        var file = kf_bytes()
        try check(finish(pointer, &file))
        return Array(UnsafeBufferPointer(start: file.bytes, count: file.length))
    }
}

/// Calls `body` with a profile and metadata, which stay in place during the call.
func withBlocks<Result>(
    _ profile: [UInt8]?, exif: [UInt8]?, xmp: [UInt8]?, _ body: (inout kf_blocks) throws(ImagingError) -> Result
) throws(ImagingError) -> Result {
    try (profile ?? []).withUnsafeBufferPointer { (profile) throws(ImagingError) in
        try (exif ?? []).withUnsafeBufferPointer { (exif) throws(ImagingError) in
            try (xmp ?? []).withUnsafeBufferPointer { (xmp) throws(ImagingError) in
                var blocks = kf_blocks()
                (blocks.profile.bytes, blocks.profile.length) = (profile.baseAddress, profile.count)
                (blocks.exif.bytes, blocks.exif.length) = (exif.baseAddress, exif.count)
                (blocks.xmp.bytes, blocks.xmp.length) = (xmp.baseAddress, xmp.count)
                return try body(&blocks)
            }
        }
    }
}
