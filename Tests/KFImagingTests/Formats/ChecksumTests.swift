import CImageCodecs
import Support
import Testing

@testable import KFImaging

@Suite("Checksums of PNG chunks")
struct ChecksumTests {
    @Test("A checksum of any length equals the definition") func lengths() {
        var random = Dice(3)
        let bytes = (0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) }
        for length in 0..<600 {
            let offset = Int.random(in: 0..<300, using: &random)
            let part = Array(bytes[offset..<offset + length])
            let expected = PNGChunk.bytes("", part).suffix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            bytes.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress.map({ $0 + offset }) else { return }
                let split = length / 3
                #expect(kf_crc32(0, start, length) == expected, "\(length) bytes")
                #expect(kf_crc32(kf_crc32(0, start, split), start + split, length - split) == expected)
            }
        }
    }
}
