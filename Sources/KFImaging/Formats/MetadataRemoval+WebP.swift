extension MetadataRemoval {
    /// The chunks of a picture or a frame, and those around an animation, with the most bytes that they may have.
    private static let pictureChunks: [FourCharacters: Int] = ["VP8 ": .max, "VP8L": .max, "ALPH": .max]
    private static let animationChunks: [FourCharacters: Int] = ["ANIM": 6, "ANMF": .max]
    private static let commonChunks: [FourCharacters: Int] = ["VP8X": 10, "ICCP": .max]

    static func webp(_ bytes: UnsafeRawBufferPointer) throws(ImagingError) -> [UInt8] {
        let exif = try exif(bytes)
        guard let stated = bytes.littleEndian32(at: 4), stated + 8 <= bytes.count else { throw .truncated(.webp) }
        let isAnimated = bytes.holds("VP8X", at: 12) && bytes.count > 20 && bytes[20] & 0x02 != 0
        let kinds = commonChunks.merging(isAnimated ? animationChunks : pictureChunks) { first, _ in first }
        var chunks = try shown(bytes, from: 12, end: stated + 8, kinds)
        // The flags of EXIF and of XMP.
        if chunks.starts(with: "VP8X".utf8), chunks.count > 8 {
            chunks[8] = chunks[8] & ~0x0C | (exif == nil ? 0 : 0x08)
        }
        if let exif { chunks += webpChunk("EXIF", exif) }
        return webpChunk("RIFF", Array("WEBP".utf8) + chunks)
    }

    /// The chunks of these kinds. Of all but frames, the first of each kind counts.
    private static func shown(
        _ bytes: UnsafeRawBufferPointer, from start: Int, end: Int, _ kinds: [FourCharacters: Int]
    ) throws(ImagingError) -> [UInt8] {
        var (result, seen): ([UInt8], Set<FourCharacters>) = ([], [])
        result.reserveCapacity(end - start)
        var position = start
        while let chunk = bytes.riffChunk(at: position, end: end) {
            if chunk.isTruncated { throw .truncated(.webp) }
            let name = String(decoding: bytes[position..<position + 4], as: UTF8.self)
            if chunk.kind == "ANMF", kinds[chunk.kind] != nil, chunk.body.count >= 16 {
                // The header of a frame, then its chunks.
                let start = chunk.body.lowerBound + 16
                let inner = try shown(bytes, from: start, end: chunk.body.upperBound, pictureChunks)
                result += webpChunk(name, bytes[chunk.body.lowerBound..<start] + inner)
            } else if let most = kinds[chunk.kind], seen.insert(chunk.kind).inserted {
                result += webpChunk(name, bytes[chunk.body].prefix(most))
            }
            position = chunk.next
        }
        return result
    }

    /// A chunk, whose length is even.
    private static func webpChunk(_ name: String, _ body: some Collection<UInt8>) -> [UInt8] {
        name.utf8 + littleEndian(body.count) + body + (body.count & 1 == 1 ? [0] : [])
    }
}
