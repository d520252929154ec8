/// Reads what an image is without decoding it.
package enum ImageProbe {
    /// Reads the header. The first part of a file is enough when it holds the header; an animation's frames are then
    /// counted in that part.
    ///
    /// - Throws: `notAnImage`, `unsupported` for a format that is only recognised, `truncated`, `corrupt`, and the
    ///   errors of the limits.
    package static func probe(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init()
    ) throws(ImagingError) -> ImageInfo {
        try probe(bytes, limits: limits, passage: .silent)
    }

    /// Reads the header and reports to `passage` how far the walk has come.
    package static func probe(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits, passage: ReadPassage
    ) throws(ImagingError) -> ImageInfo {
        let info = try ContentKind.reader(of: bytes).probe(bytes, passage: passage)
        try limits.check(width: info.width, height: info.height, frames: info.frames)
        return info
    }

    /// Finds truncation and gross damage at a fraction of a decode's cost, and returns the faults that cost no pixel.
    /// Formats that kf only recognises pass.
    ///
    /// - Throws: `notAnImage`, `truncated`, `corrupt`.
    @discardableResult
    package static func checkStructure(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [ImageWarning] {
        try checkStructure(bytes, passage: .silent)
    }

    /// Checks the structure and reports to `passage` how far the walk has come.
    package static func checkStructure(
        _ bytes: UnsafeRawBufferPointer, passage: ReadPassage
    ) throws(ImagingError) -> [ImageWarning] {
        switch ContentKind.sniff(bytes) {
        case .image(let format): return try format.codec.reader?.checkStructure(bytes, passage: passage) ?? []
        case let other: throw .notAnImage(other)
        }
    }
}
