extension MetadataRemoval {
    /// The headers, the palette, the rows and an embedded profile stay. What is between them becomes 0, because their
    /// places are counted from the start. Nil for what is not decoded, whose end is not known.
    static func bmp(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8]? {
        let header = try BMPHeader(bytes)
        let pixels: [UInt8]
        switch header.storage {
        case .rows:
            try header.checkRows()
            pixels = Array(bytes[header.data...].prefix(header.bytesPerRow * header.size.height))
        // With the end mark.
        case .runs: pixels = try bytes[header.data..<BMPRuns.walk(header).end] + [0, 1]
        case .unsupported: return nil
        }
        let tables = header.palette.start + header.palette.count * header.palette.entrySize
        var result = bytes[..<tables] + [UInt8](repeating: 0, count: header.data - tables) + pixels
        // The header states the length of runs.
        if header.storage == .runs { result.replaceSubrange(14 + 20..<14 + 24, with: littleEndian(pixels.count)) }
        if let profile = header.profile {
            // The place of the profile counts from its header, which begins behind 14 bytes.
            result.replaceSubrange(14 + 112..<14 + 116, with: littleEndian(result.count - 14))
            result += bytes[profile]
        }
        // The length of the file, and reserved bytes.
        result.replaceSubrange(2..<10, with: littleEndian(result.count) + [0, 0, 0, 0])
        return result
    }
}
