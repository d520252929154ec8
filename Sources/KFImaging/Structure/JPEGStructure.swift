/// A JPEG's markers, read without decoding.
struct JPEGStructure {
    var width = 0
    var height = 0
    var components = 0
    var bitDepth = 8
    var orientation = Orientation.upright
    /// Where the chunks of the ICC profile lie, in the order of their numbers.
    var profile: [Range<Int>] = []

    /// Reads the segments before the first scan.
    ///
    /// - Throws: `truncated` when the data ends before the frame header, `corrupt` when there is none.
    init(header bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        var walk = JPEGMarkerWalk(bytes)
        var sawExif = false
        var chunks: [Int: Range<Int>] = [:]
        var chunkCount = 0
        while let segment = try walk.next() {
            if segment.isFrameHeader {
                try readFrameHeader(UnsafeRawBufferPointer(rebasing: bytes[segment.body]))
            } else if segment.marker == 0xDA || segment.marker == 0xD9 {
                break
            } else if segment.marker == 0xE1, !sawExif, bytes.holds("Exif\0\0", at: segment.body.lowerBound) {
                sawExif = true
                orientation = ExifOrientation.read(UnsafeRawBufferPointer(rebasing: bytes[segment.body]))
            } else if segment.marker == 0xE2, segment.body.count > 14,
                bytes.holds("ICC_PROFILE\0", at: segment.body.lowerBound)
            {
                let number = Int(bytes[segment.body.lowerBound + 12])
                chunkCount = Int(bytes[segment.body.lowerBound + 13])
                if chunks[number] == nil { chunks[number] = segment.body.dropFirst(14) }
            }
        }
        guard components > 0 else {
            if walk.position >= bytes.count { throw .truncated(.jpeg) }
            throw .corrupt(.jpeg, reason: "no frame header")
        }
        // A profile with a chunk missing is worth nothing.
        let ordered = (0..<chunkCount).compactMap { chunks[$0 + 1] }
        if ordered.count == chunkCount { profile = ordered }
    }

    /// The embedded profile; nil when there is none or it is incomplete.
    func iccProfile(in bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        profile.isEmpty ? nil : profile.flatMap { bytes[$0] }
    }

    private mutating func readFrameHeader(_ body: UnsafeRawBufferPointer) throws(ImagingError) {
        guard components == 0 else { return }
        guard body.count >= 6 else { throw .corrupt(.jpeg, reason: "short frame header") }
        bitDepth = Int(body[0])
        height = body.bigEndian16(at: 1) ?? 0
        width = body.bigEndian16(at: 3) ?? 0
        components = Int(body[5])
        if width == 0 || height == 0 { throw .corrupt(.jpeg, reason: "an empty picture") }
        if components == 0 || body.count < 6 + 3 * components {
            throw .corrupt(.jpeg, reason: "short frame header")
        }
    }

    /// Walks every marker to the end of the image, through the scans; whatever follows the end marker is let be.
    ///
    /// - Throws: `truncated` when the end marker is missing, `corrupt` without a frame header or a scan.
    static func check(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) {
        _ = try JPEGStructure(header: bytes)
        var walk = JPEGMarkerWalk(bytes)
        var scans = 0
        while let segment = try walk.next() {
            if segment.marker == 0xD9 {
                if scans == 0 { throw .corrupt(.jpeg, reason: "no scan") }
                return
            }
            if segment.marker == 0xDA { scans += 1 }
        }
        throw .truncated(.jpeg)
    }
}
