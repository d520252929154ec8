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
        // With the end mark. The file may end before the padding of the last run.
        case .runs:
            let end = try BMPRuns.walk(header).end
            let padding = [UInt8](repeating: 0, count: max(0, end - bytes.count))
            pixels = bytes[header.data..<min(end, bytes.count)] + padding + [0, 1]
        case .unsupported: return nil
        }
        let tables = header.palette.start + header.palette.count * header.palette.entrySize
        var result = bytes[..<tables] + [UInt8](repeating: 0, count: header.data - tables) + pixels
        // The header states the length of runs, unless it ends before.
        if header.storage == .runs, header.palette.start >= 14 + 24 {
            result.replaceSubrange(14 + 20..<14 + 24, with: littleEndian(pixels.count))
        }
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
