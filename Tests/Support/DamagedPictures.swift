import Foundation

/// Images whose structure is whole and whose picture data is damaged, made from fixtures.
package enum DamagedPictures {
    package static let formats = ["jpeg", "png", "gif", "webp"]

    package static func make(_ format: String) throws -> [UInt8] {
        switch format {
        case "jpeg": try jpeg([UInt8](FixturesDirectory.named("jpeg/landscape-420.jpg").data))
        case "png": try png([UInt8](FixturesDirectory.named("png/rgb.png").data))
        case "gif": try gif([UInt8](FixturesDirectory.named("gif/animated.gif").data))
        default: try webp([UInt8](FixturesDirectory.named("webp/lossy.webp").data))
        }
    }

    /// The second half of the scan is missing, and the end marker is there.
    private static func jpeg(_ bytes: [UInt8]) throws -> [UInt8] {
        guard let scan = bytes.firstRange(of: [0xff, 0xda])?.upperBound else { throw Unsuitable(format: "jpeg") }
        return bytes[..<((scan + bytes.count) / 2)] + [0xff, 0xd9]
    }

    /// Some bytes are missing from the middle of the compressed data; the checksums are right.
    private static func png(_ bytes: [UInt8]) throws -> [UInt8] {
        var result = Array(bytes[..<8])
        var place = 8
        while place + 12 <= bytes.count {
            let length = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            let type = String(decoding: bytes[place + 4..<place + 8], as: UTF8.self)
            var body = Array(bytes[place + 8..<place + 8 + length])
            if type == "IDAT" { body.removeSubrange(body.count / 2..<body.count / 2 + 64) }
            result += PNGChunk.bytes(type, body)
            place += length + 12
        }
        return result
    }

    /// The codes of the last frame are all ones, which stands for nothing at the start.
    private static func gif(_ bytes: [UInt8]) throws -> [UInt8] {
        func table(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
        var bytes = bytes
        var place = 13 + table(bytes[10])
        var frame: Int?
        while bytes[place] != 0x3b {
            if bytes[place] == 0x2c {
                place += 10 + table(bytes[place + 9]) + 1
                frame = place
            } else {
                place += 2
            }
            while bytes[place] != 0 { place += Int(bytes[place]) + 1 }
            place += 1
        }
        guard var block = frame else { throw Unsuitable(format: "gif") }
        while bytes[block] != 0 {
            let length = Int(bytes[block])
            for index in block + 1...block + length { bytes[index] = 0xff }
            block += length + 1
        }
        return bytes
    }

    /// The last partition of the picture ends early; the lengths around it are right.
    private static func webp(_ bytes: [UInt8]) throws -> [UInt8] {
        guard let start = bytes.firstRange(of: Array("VP8 ".utf8))?.upperBound else { throw Unsuitable(format: "webp") }
        func word(_ number: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
        let length = (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << ($1 * 8) }
        let kept = length * 3 / 4 & ~1
        let chunks = Array(bytes[12..<start]) + word(kept) + bytes[start + 4..<start + 4 + kept]
        return Array("RIFF".utf8) + word(chunks.count + 4) + Array("WEBP".utf8) + chunks
    }

    package struct Unsuitable: Error {
        package let format: String
    }
}
