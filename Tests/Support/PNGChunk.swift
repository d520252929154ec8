/// Makes chunks of PNG files.
package enum PNGChunk {
    /// Length, type, data and checksum.
    package static func bytes(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let named = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + named + bigEndian(checksum(named))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var table = [UInt32](repeating: 0, count: 256)
        for index in table.indices {
            table[index] = (0..<8).reduce(UInt32(index)) { value, _ in
                value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1
            }
        }
        return ~bytes.reduce(~UInt32(0)) { table[Int(($0 ^ UInt32($1)) & 0xff)] ^ $0 >> 8 }
    }
}
