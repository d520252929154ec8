import Support

@testable import KFImaging

/// Files built by hand that no encoder of kf writes.
enum Files {
    /// A JPEG with an EXIF segment inserted behind its start marker.
    static func jpeg(_ bytes: [UInt8], exif: [UInt8]) -> [UInt8] {
        jpeg(bytes, segment: Array("Exif\0\0".utf8) + exif)
    }

    /// A JPEG with an APP1 segment inserted behind its start marker.
    static func jpeg(_ bytes: [UInt8], segment body: [UInt8]) -> [UInt8] {
        let length = body.count + 2
        return Array(bytes[..<2]) + [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 255)] + body + bytes[2...]
    }

    /// A PNG with chunks inserted behind its header.
    static func png(_ bytes: [UInt8], chunks: [(kind: String, body: [UInt8])]) -> [UInt8] {
        let inserted = chunks.flatMap { PNGChunk.bytes($0.kind, $0.body) }
        return Array(bytes[..<33]) + inserted + bytes[33...]
    }

    /// A zlib stream of one stored block.
    static func zlib(_ bytes: [UInt8]) -> [UInt8] {
        let length = UInt16(bytes.count)
        var (low, high) = (UInt32(1), UInt32(0))
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let sizes = [length, ~length].flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
        let checksum = high << 16 | low
        return [0x78, 0x01, 1] + sizes + bytes + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: checksum >> $0) }
    }

    /// EXIF data with only an orientation.
    static func exif(orientation: Int, bigEndian: Bool = true) -> [UInt8] {
        let value = UInt8(truncatingIfNeeded: orientation)
        return bigEndian
            ? Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
            : Array("II*\0".utf8) + [8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0]
    }

    /// The least that counts as an ICC profile of RGB.
    static func profile(_ count: Int, filling: UInt8 = 0) -> [UInt8] {
        var profile = [UInt8](repeating: filling, count: count)
        profile.replaceSubrange(16..<20, with: Array("RGB ".utf8))
        profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
        return profile
    }

    struct GIFFrame {
        var left = 0
        var top = 0
        var width: Int
        var height: Int
        var indexes: [UInt8]
        var delay = 10
        var disposal = 0
        var transparent: UInt8?
        var interlaced = false
    }

    /// A GIF of uncompressed codes with the palette black, red, green, blue.
    static func gif(_ width: Int, _ height: Int, _ frames: [GIFFrame], loops: Int? = nil) -> [UInt8] {
        var bytes = Array("GIF89a".utf8) + word(width) + word(height) + [0x81, 0, 0]
        bytes += [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]
        if let loops { bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + word(loops) + [0] }
        for frame in frames {
            let flags = UInt8(frame.disposal << 2) | (frame.transparent == nil ? 0 : 1)
            bytes += [0x21, 0xF9, 4, flags] + word(frame.delay) + [frame.transparent ?? 0, 0]
            bytes += [0x2C] + word(frame.left) + word(frame.top) + word(frame.width) + word(frame.height)
            bytes += [frame.interlaced ? 0x40 : 0, 2] + LZWCodes.blocks(codes(frame.indexes))
        }
        return bytes + [0x3B]
    }

    private static func word(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }

    /// Codes of three bits, with a clear code before they would grow to four.
    private static func codes(_ indexes: [UInt8]) -> [UInt8] {
        var bits: [UInt8] = []
        func append(_ code: UInt8) { for bit in 0..<3 { bits.append(code >> UInt8(bit) & 1) } }
        for (position, index) in indexes.enumerated() {
            if position % 2 == 0 { append(4) }
            append(index)
        }
        append(5)
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<min(start + 8, bits.count)].enumerated().reduce(0) { $0 | $1.element << UInt8($1.offset) }
        }
    }
}
