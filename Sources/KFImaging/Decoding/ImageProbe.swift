/// Reads the header of an image and checks its structure, without decoding it.
package enum ImageProbe {
    /// Reads the header. The first part of a file is enough when it holds the header; an animation's frames are then
    /// counted in that part.
    ///
    /// - Throws: `notAnImage`, `unsupported` for a format that is only recognised, `truncated`, `corrupt`, and the
    ///   errors of the limits.
    package static func probe(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init()
    ) throws(ImagingError) -> ImageInfo {
        let info = try ImageCodecs.decoder(of: bytes).header(bytes)
        try limits.check(info)
        return info
    }

    /// Reads the header in an array.
    package static func probe(_ bytes: [UInt8], limits: DecodeLimits = .init()) throws(ImagingError) -> ImageInfo {
        try bytes.withRaw { (bytes) throws(ImagingError) in try probe(bytes, limits: limits) }
    }

    /// Returns the format and what the header states, also of the first part of a file; nil for bytes that are not known to
    /// be an image, and for one whose header kf should be able to read and cannot.
    package static func measure(_ bytes: UnsafeRawBufferPointer) -> (format: ImageFormat, info: ImageInfo?)? {
        guard let codec = ImageCodecs.codec(for: bytes) else { return nil }
        let info = try? codec.header(bytes)
        return info == nil && ImageCodecs.decodes(codec) ? nil : (codec.format, info)
    }

    /// Reads the header, and finds truncation and gross damage at a fraction of a decode's cost. Returns the facts and
    /// the faults that cost no pixel; the facts are nil for a file of a format that kf only recognises, if its header does
    /// not state the size. Nil for bytes that are not
    /// an image.
    ///
    /// - Throws: `truncated`, `corrupt`, `unsupported`, and the errors of the limits.
    package static func inspect(
        _ bytes: UnsafeRawBufferPointer, limits: DecodeLimits = .init(), passage: ReadPassage = .silent
    ) throws(ImagingError) -> (format: ImageFormat, info: ImageInfo?, warnings: [ImageWarning])? {
        guard let codec = ImageCodecs.codec(for: bytes) else { return nil }
        // Bytes that kf does not decode are not refused, whatever their header says.
        guard ImageCodecs.decodes(codec) else { return (codec.format, try? codec.probe(bytes), []) }
        do {
            let found = try codec.inspect(bytes, limits: limits, passage: passage)
            return (codec.format, found.info, found.warnings)
        } catch {
            guard limits.toleratesDamage, error.isFault, [.jpeg, .png, .gif].contains(codec.format) else { throw error }
            let info = try codec.probe(bytes)
            try limits.check(info)
            return (codec.format, info, [.damaged(reason: error.message)])
        }
    }
}
