extension MetadataRemoval {
    static func jpeg(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        var result: [UInt8] = [0xFF, 0xD8]
        result.reserveCapacity(bytes.count)
        var exif = try exif(bytes).map { Array("Exif\0\0".utf8) + $0 }
        let hasProfile = try JPEGStructure.iccProfile(in: bytes) != nil
        var (hasHeader, scans) = (false, JPEGScanEnds(bytes))
        var walk = JPEGMarkerWalk(bytes)
        var last: JPEGMarkerWalk.Segment?
        func append(_ marker: UInt8, _ body: some Collection<UInt8>) {
            let length = body.count + 2
            result += [0xFF, marker, UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)]
            result += body
        }
        while let segment = try walk.next() {
            let isEnd = segment.marker == 0xD9
            // The data of a scan follows its header. In front of a segment's content are the marker and the length.
            if let last, last.marker == 0xDA {
                let data = last.body.upperBound..<segment.body.lowerBound - (isEnd ? 2 : 4)
                for part in try scans.parts(of: data) ?? [data] { result += bytes[part] }
            }
            if isEnd { return result + [0xFF, 0xD9] }
            if segment.marker != 0xE0, let block = exif {
                append(0xE1, block)
                exif = nil
            }
            let body = bytes.part(segment.body)
            switch segment.marker {
            case 0xE0 where !hasHeader && body.holds("JFIF\0", at: 0) && body.count >= 14:
                // Without the thumbnail, whose sides come last.
                append(0xE0, body[..<12] + [0, 0])
                hasHeader = true
            case 0xE2 where hasProfile && body.holds("ICC_PROFILE\0", at: 0): append(0xE2, body)
            // The colour transform.
            case 0xEE where body.holds("Adobe", at: 0) && body.count >= 12: append(0xEE, body[..<12])
            // Frames, tables, scans, and the interval of restarts.
            case 0xC0...0xCF, 0xDA...0xDF:
                append(segment.marker, body)
                scans.read(segment.marker, body)
            default: break
            }
            last = segment
        }
        throw .truncated(.jpeg)
    }
}
