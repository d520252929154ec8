import CGIFReference
import CImageCodecs
import Support
import Testing

@testable import KFImaging

@Suite("GIF codes")
struct GIFCodeTests {
    /// Nil when the codes are rejected.
    private func ours(_ data: [UInt8], size: Int, count: Int) -> [UInt8]? {
        data.withUnsafeBufferPointer { data in
            let codes = kf_lzw_create(data.baseAddress, data.count, UInt32(size))
            defer { kf_lzw_destroy(codes) }
            var pixels = [UInt8](repeating: 0, count: count)
            // In pieces, like the rows of a frame.
            let first = count / 3
            let isRead = pixels.withUnsafeMutableBufferPointer { pixels in
                guard let base = pixels.baseAddress, kf_lzw_read(codes, base, first) == KF_OK else { return false }
                return kf_lzw_read(codes, base + first, count - first) == KF_OK
            }
            return isRead ? pixels : nil
        }
    }

    private func theirs(_ data: [UInt8], size: Int, width: Int, height: Int) -> [UInt8]? {
        var pixels = [UInt8](repeating: 0, count: width * height)
        let isRead = gif_reference_unpack(data, data.count, UInt8(size), UInt16(width), UInt16(height), &pixels)
        return isRead == 1 ? pixels : nil
    }

    private func indexes(_ dice: inout Dice, _ count: Int, size: Int) -> [Int] {
        var (result, last) = ([Int](), 0)
        for _ in 0..<count {
            if dice.roll(3) == 0 { last = dice.roll(1 << size) }
            result.append(last)
        }
        return result
    }

    @Test("Whole codes decode to giflib's pixels", arguments: 2...8)
    func whole(_ size: Int) {
        var dice = Dice(UInt64(size))
        for clears in [true, false] {
            let indexes = indexes(&dice, 120 * 90, size: size)
            let data = LZWCodes.pack(indexes, size: size, clears: clears)
            let pixels = ours(data, size: size, count: indexes.count)
            #expect(pixels == indexes.map { UInt8($0) })
            #expect(pixels == theirs(data, size: size, width: 120, height: 90))
        }
    }

    /// Damaged data decodes to giflib's pixels, or is rejected at an undefined code, for which giflib invents pixels.
    @Test("Damaged codes decode to giflib's pixels or are refused") func damaged() {
        var dice = Dice(99)
        var (read, refused) = (0, 0)
        for _ in 0..<3000 {
            let size = 1 + dice.roll(8)
            var data = LZWCodes.pack(indexes(&dice, 400, size: size), size: size)
            for _ in 0...dice.roll(3) {
                let place = dice.roll(data.count)
                // The lengths of the sub-blocks stay.
                if place % 256 != 0, place < data.count - 1 { data[place] = UInt8(dice.roll(256)) }
            }
            let pixels = ours(data, size: size, count: 400)
            if pixels == nil { refused += 1 } else { read += 1 }
            if let pixels { #expect(pixels == theirs(data, size: size, width: 20, height: 20)) }
        }
        #expect(read > 300 && refused > 300, "\(read) \(refused)")
    }

    @Test("Codes that end early are refused") func truncated() {
        let data = LZWCodes.pack([Int](repeating: 3, count: 99), size: 2)
        #expect(ours(data, size: 2, count: 99) != nil)
        #expect(ours(data, size: 2, count: 100) == nil)
        #expect(ours([], size: 2, count: 1) == nil)
    }

    @Test("Code sizes beyond giflib's are read", arguments: 9...11)
    func wide(_ size: Int) throws {
        var dice = Dice(UInt64(size))
        let indexes = indexes(&dice, 64 * 64, size: 2)
        let gif =
            Array("GIF89a".utf8) + [64, 0, 64, 0, 0x81, 0, 0, 10, 20, 30, 255, 0, 0, 0, 255, 0, 0, 0, 255]
            + [0x2C, 0, 0, 0, 0, 64, 0, 64, 0, 0, UInt8(size)] + LZWCodes.pack(indexes, size: size) + [0x3B]
        let image = try ImageDecoder.decode(gif)
        let colors = [[10, 20, 30, 255], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]
        for place in indexes.indices {
            #expect(image.bitmap[place % 64, place / 64] == colors[indexes[place]])
        }
        #expect(throws: ImagingError.self) {
            var wider = gif
            wider[13 + 12 + 10] = 12
            return try ImageDecoder.decode(wider)
        }
    }
}
