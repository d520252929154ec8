@testable import KFImaging

extension Files {
    /// A PNG's chunk: length, name, data and checksum.
    static func pngChunk(_ name: String, _ data: [UInt8], hasRightChecksum: Bool = true) -> [UInt8] {
        let named = Array(name.utf8) + data
        return bigEndian(data.count) + named + bigEndian(checksum(named) ^ (hasRightChecksum ? 0 : 1))
    }

    /// The file's chunks: name and data.
    static func pngChunks(_ bytes: [UInt8]) -> [(name: String, data: [UInt8])] {
        var chunks: [(String, [UInt8])] = []
        var position = 8
        while position + 12 <= bytes.count {
            let length = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
            let name = String(decoding: bytes[position + 4..<position + 8], as: UTF8.self)
            chunks.append((name, Array(bytes[position + 8..<position + 8 + length])))
            position += 12 + length
        }
        return chunks
    }

    static func png(_ chunks: [[UInt8]]) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunks.joined()
    }

    static func bigEndian(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }

    /// CRC-32, bit by bit.
    private static func checksum(_ bytes: [UInt8]) -> Int {
        var sum = 0xFFFF_FFFF
        for byte in bytes {
            sum ^= Int(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0xEDB8_8320 : sum >> 1 }
        }
        return sum ^ 0xFFFF_FFFF
    }
}
