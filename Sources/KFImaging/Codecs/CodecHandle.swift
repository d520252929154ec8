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

/// Calls `body` with the bytes of each array, which stay in place during the call.
func withBytes<Result>(
    of arrays: [UInt8]..., body: ([UnsafeBufferPointer<UInt8>]) throws(ImagingError) -> Result
) throws(ImagingError) -> Result {
    func add(_ rest: ArraySlice<[UInt8]>, to blocks: [UnsafeBufferPointer<UInt8>]) throws(ImagingError) -> Result {
        guard let next = rest.first else { return try body(blocks) }
        return try next.withUnsafeBufferPointer { (block) throws(ImagingError) in
            try add(rest.dropFirst(), to: blocks + [block])
        }
    }
    return try add(arrays[...], to: [])
}
