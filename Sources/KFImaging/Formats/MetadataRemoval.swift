/// Removes EXIF, XMP, IPTC, comments and whatever else shows nothing from a file, without decoding it: the pixels, the
/// profile and the animation stay as they are.
///
/// Each format lists the parts that stay: those that pixels and colours need, as far as their fields are defined.
package enum MetadataRemoval {
    /// Returns the file without its metadata; nil for a file that cannot be rewritten. What stands behind the end of the
    /// image is left out. An orientation other than upright stays, as EXIF with nothing else.
    ///
    /// - Throws: `truncated` and `corrupt`.
    package static func strip(_ bytes: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]? {
        try bytes.withRaw { (bytes) throws(ImagingError) in
            switch format {
            case .jpeg: try jpeg(bytes)
            case .png: try png(bytes)
            case .webp: try webp(bytes)
            case .gif: try gif(bytes)
            case .bmp: try bmp(bytes)
            default: nil
            }
        }
    }

    /// EXIF with the orientation and nothing else, as a TIFF file; nil for an upright image.
    static func exif(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8]? {
        let orientation = try ImageProbe.probe(bytes).orientation
        guard orientation != Orientation.upright.value else { return nil }
        let entry: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(clamping: orientation), 0, 0, 0]
        return Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0] + entry + [0, 0, 0, 0]
    }

    static func littleEndian(_ number: Int) -> [UInt8] { bigEndian(number, 4).reversed() }
}
