import CImageCodecs

extension MetadataRemoval {
    /// The chunks that a picture is shown with, and the lengths that they may have.
    private static let shownChunks: [FourCharacters: ClosedRange<Int>] = [
        "IHDR": 13...13, "PLTE": 3...768, "IDAT": 0...Int.max, "tRNS": 1...256, "cHRM": 32...32, "gAMA": 4...4,
        "sBIT": 1...4, "sRGB": 1...1, "cICP": 4...4, "mDCV": 24...24, "cLLI": 8...8, "bKGD": 1...6, "pHYs": 9...9,
        "acTL": 8...8, "fcTL": 26...26, "fdAT": 4...Int.max,
    ]

    static func png(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        var exif = try exif(bytes)
        var result = Array(bytes[..<8])
        result.reserveCapacity(bytes.count)
        var position = 8
        while let chunk = bytes.chunk(at: position) {
            if chunk.kind == "IEND" { return result + pngChunk(Array("IEND".utf8)) }
            if chunk.kind == "IDAT", let block = exif {
                result += pngChunk(Array("eXIf".utf8) + block)
                exif = nil
            }
            let body = bytes.part(chunk.body)
            if let lengths = shownChunks[chunk.kind], lengths.contains(body.count) {
                result += bytes[position..<chunk.end]
            } else if chunk.kind == "iCCP", let end = body.firstIndex(of: 0) {
                // The name of a profile is of its writer's choice.
                result += pngChunk(Array("iCCPicc".utf8) + body[end...])
            }
            position = chunk.end
        }
        throw .truncated(.png)
    }

    /// A chunk of its name and its content.
    static func pngChunk(_ named: [UInt8]) -> [UInt8] {
        bigEndian(named.count - 4, 4) + named + bigEndian(Int(kf_crc32(0, named, named.count)), 4)
    }
}
