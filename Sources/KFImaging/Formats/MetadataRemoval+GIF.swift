extension MetadataRemoval {
    /// The control of a frame, the loop count and the profile are the extensions that stay.
    static func gif(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        guard bytes.count >= 13 else { throw .truncated(.gif) }
        var position = 13 + GIFStructure.tableLength(bytes[10])
        guard position <= bytes.count else { throw .truncated(.gif) }
        var result = Array(bytes[..<position])
        result.reserveCapacity(bytes.count)
        while position < bytes.count, bytes[position] != 0x3B {
            let start = position
            switch bytes[position] {
            case 0x00: position += 1
            case 0x21 where position + 2 < bytes.count:
                let (kind, body) = (bytes[position + 1], position + 2)
                position = GIFStructure.skipBlocks(bytes, from: body) ?? bytes.count
                if kind == 0xF9, body + 5 <= bytes.count, bytes[body] >= 4 {
                    result += [0x21, 0xF9, 4] + bytes[body + 1..<body + 5] + [0]
                } else if kind == 0xFF, let loop = GIFStructure.loopBlock(bytes, at: body) {
                    result += bytes[start..<body + 12] + [3, 1] + bytes[loop + 2..<loop + 4] + [0]
                } else if kind == 0xFF, bytes.holds("\u{0B}ICCRGBG1012", at: body) {
                    result += bytes[start..<position]
                }
            case 0x2C where position + 10 <= bytes.count:
                let data = position + 10 + GIFStructure.tableLength(bytes[position + 9]) + 1
                position = GIFStructure.skipBlocks(bytes, from: data) ?? bytes.count
                result += bytes[start..<position]
            // Other decoders end here as well.
            default: return result + [0x3B]
            }
        }
        return result + [0x3B]
    }
}
