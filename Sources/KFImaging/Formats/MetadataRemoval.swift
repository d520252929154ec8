import CImageCodecs

/// Removes EXIF, XMP, IPTC, comments and whatever else shows nothing from a file, without decoding it: the pixels, the
/// profile and the animation stay as they are.
package enum MetadataRemoval {
    /// Returns the file without its metadata; nil for a format whose files cannot be rewritten. What stands behind the end
    /// of the image is left out. An orientation other than upright stays, as EXIF with nothing else.
    ///
    /// - Throws: `truncated` and `corrupt`.
    package static func strip(_ bytes: [UInt8], _ format: ImageFormat) throws(ImagingError) -> [UInt8]? {
        try bytes.withRaw { (bytes) throws(ImagingError) in
            switch format {
            case .jpeg: try jpeg(bytes)
            case .png: try png(bytes)
            case .webp: try webp(bytes)
            case .gif: try gif(bytes)
            // They have none.
            case .bmp: Array(bytes)
            default: nil
            }
        }
    }

    /// EXIF with the orientation and nothing else, as a TIFF file; nil for an upright image.
    private static func exif(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8]? {
        let orientation = try ImageProbe.probe(bytes).orientation
        guard orientation != Orientation.upright.value else { return nil }
        let entry: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(orientation), 0, 0, 0]
        return Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0] + entry + [0, 0, 0, 0]
    }

    /// The application segments that stay are JFIF, the profile and Adobe's colour transform.
    private static func jpeg(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        var result: [UInt8] = [0xFF, 0xD8]
        result.reserveCapacity(bytes.count)
        var exif = try exif(bytes).map { Array("Exif\0\0".utf8) + $0 }
        var walk = JPEGMarkerWalk(bytes)
        var last: JPEGMarkerWalk.Segment?
        while let segment = try walk.next() {
            let isEnd = segment.marker == 0xD9
            // In front of the content are the marker and the length.
            let start = segment.body.lowerBound - (isEnd ? 2 : 4)
            // The data of a scan follows its header.
            if let last, last.marker == 0xDA { result += bytes[last.body.upperBound..<start] }
            if isEnd { return result + [0xFF, 0xD9] }
            if segment.marker != 0xE0, let block = exif {
                let length = block.count + 2
                result += [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + block
                exif = nil
            }
            if isShown(segment, bytes) { result += bytes[start..<segment.body.upperBound] }
            last = segment
        }
        throw .truncated(.jpeg)
    }

    private static func isShown(_ segment: JPEGMarkerWalk.Segment, _ bytes: UnsafeRawBufferPointer) -> Bool {
        let body = bytes.part(segment.body)
        return switch segment.marker {
        case 0xE0: body.holds("JFIF\0", at: 0)
        case 0xE2: body.holds("ICC_PROFILE\0", at: 0)
        case 0xEE: body.holds("Adobe", at: 0)
        case 0xE0...0xEF, 0xFE: false
        default: true
        }
    }

    /// The chunks that are not critical, and that a picture is shown with.
    private static let shownChunks: Set<FourCharacters> = [
        "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP", "mDCV", "cLLI", "bKGD", "hIST", "pHYs", "sPLT", "acTL",
        "fcTL", "fdAT",
    ]

    private static func png(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        var exif = try exif(bytes)
        var result = Array(bytes[..<8])
        result.reserveCapacity(bytes.count)
        var position = 8
        while let length = bytes.bigEndian32(at: position), let kind = bytes.name(at: position + 4) {
            let end = position + 12 + length
            guard end <= bytes.count else { break }
            if kind == "IDAT", let block = exif {
                result += pngChunk(Array("eXIf".utf8) + block)
                exif = nil
            }
            let isCritical = bytes[position + 4] & 0x20 == 0
            if isCritical || shownChunks.contains(kind) { result += bytes[position..<end] }
            if kind == "IEND" { return result }
            position = end
        }
        throw .truncated(.png)
    }

    /// A chunk of its name and its content.
    private static func pngChunk(_ named: [UInt8]) -> [UInt8] {
        bigEndian(UInt32(named.count - 4)) + named + bigEndian(kf_crc32(0, named, named.count))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static let webpChunks: Set<FourCharacters> = ["VP8X", "VP8 ", "VP8L", "ALPH", "ANIM", "ANMF", "ICCP"]

    private static func webp(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        let exif = try exif(bytes)
        var result = Array(bytes[..<12])
        result.reserveCapacity(bytes.count)
        var position = 12
        while let chunk = bytes.riffChunk(at: position, end: bytes.count) {
            if chunk.isTruncated { throw .truncated(.webp) }
            if webpChunks.contains(chunk.kind) {
                let start = result.count
                result += bytes[position..<chunk.body.upperBound]
                if chunk.body.count & 1 == 1 { result.append(0) }
                // The flags of EXIF and of XMP.
                if chunk.kind == "VP8X", !chunk.body.isEmpty { result[start + 8] &= ~0x0C }
                if chunk.kind == "VP8X", exif != nil, !chunk.body.isEmpty { result[start + 8] |= 0x08 }
            }
            position = chunk.next
        }
        // Its length is even.
        if let exif { result += Array("EXIF".utf8) + bigEndian(UInt32(exif.count).byteSwapped) + exif }
        result.replaceSubrange(4..<8, with: bigEndian(UInt32(result.count - 8).byteSwapped))
        return result
    }

    /// Comments go, and extensions of applications but for the loop count and the profile.
    private static func gif(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        guard bytes.count >= 13 else { throw .truncated(.gif) }
        var position = 13 + GIFStructure.tableLength(bytes[10])
        guard position <= bytes.count else { throw .truncated(.gif) }
        var result = Array(bytes[..<position])
        result.reserveCapacity(bytes.count)
        while position < bytes.count, bytes[position] != 0x3B {
            let start = position
            var isShown = true
            switch bytes[position] {
            case 0x00: isShown = false
            case 0x21 where position + 2 < bytes.count:
                let (kind, body) = (bytes[position + 1], position + 2)
                let isKnown = ["NETSCAPE2.0", "ANIMEXTS1.0", "ICCRGBG1012"].contains { bytes.holds($0, at: body + 1) }
                isShown = kind != 0xFE && (kind != 0xFF || isKnown)
                position = GIFStructure.skipBlocks(bytes, from: body) ?? bytes.count
            case 0x2C where position + 10 <= bytes.count:
                let data = position + 10 + GIFStructure.tableLength(bytes[position + 9]) + 1
                position = GIFStructure.skipBlocks(bytes, from: data) ?? bytes.count
            // Other decoders end here as well.
            default: return result + [0x3B]
            }
            if bytes[start] == 0 { position += 1 }
            if isShown { result += bytes[start..<position] }
        }
        return result + [0x3B]
    }
}
