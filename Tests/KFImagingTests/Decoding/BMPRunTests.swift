import Testing

@testable import KFImaging

@Suite("Run lengths of BMP pictures")
struct BMPRunTests {
    private let red: [UInt8] = [255, 0, 0]
    private let green: [UInt8] = [0, 255, 0]
    private let blue: [UInt8] = [0, 0, 255]

    private func file(_ depth: Int, _ width: Int, _ height: Int, _ data: [UInt8]) -> BMPFile {
        BMPFile(
            header: depth == 24 ? 64 : 40, width: width, height: height, depth: depth,
            compression: [4: 2, 8: 1, 24: 4][depth] ?? 0, palette: depth == 24 ? [] : [red, green, blue], data: data)
    }

    /// The pixels as letters; a dot is transparent.
    private func letters(_ file: BMPFile) throws -> [String] {
        let bitmap = try ImageDecoder.decode(file.bytes).bitmap
        let names: [[Int]: Character] = [[255, 0, 0]: "r", [0, 255, 0]: "g", [0, 0, 255]: "b", [0, 0, 0]: "k"]
        return (0..<bitmap.height).map { y in
            String(
                (0..<bitmap.width).map { x -> Character in
                    let pixel = bitmap[x, y]
                    if pixel.count == 4, pixel[3] == 0 { return pixel == [0, 0, 0, 0] ? "." : "?" }
                    return names[Array(pixel.prefix(3))] ?? "?"
                })
        }
    }

    @Test("Every code of RLE8 is read") func rle8() throws {
        let data: [UInt8] = [
            3, 0, 1, 1, 0, 0,  // rrrg
            0, 3, 0, 1, 2, 0xEE, 1, 9, 0, 0,  // rgb and black, for an index without an entry
            4, 2, 0, 1,
        ]
        let whole = file(8, 4, 3, data)
        #expect(try letters(whole) == ["bbbb", "rgbk", "rrrg"])
        #expect(try ImageDecoder.decode(whole.bytes).bitmap.format == .rgb)
        #expect(try whole.bytes.probe().hasAlpha == false)
        var fromTheTop = whole
        fromTheTop.height = -3
        #expect(try letters(fromTheTop) == ["rrrg", "rgbk", "bbbb"])
    }

    @Test("Every code of RLE4 is read") func rle4() throws {
        let data: [UInt8] = [
            5, 0x01, 0, 0,  // rgrgr
            0, 5, 0x01, 0x22, 0x10, 0xEE, 0, 0,  // rgbbg
            0, 3, 0x01, 0x20, 2, 0x11, 0, 1,
        ]
        #expect(try letters(file(4, 5, 3, data)) == ["rgbgg", "rgbbg", "rgrgr"])
    }

    @Test("Every code of OS/2's run lengths is read") func rle24() throws {
        let data: [UInt8] = [
            2, 0, 0, 255, 1, 0, 255, 0, 0, 0,  // rrg
            0, 3, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0xEE, 0, 1,
        ]
        #expect(try letters(file(24, 3, 2, data)) == ["bgr", "rrg"])
    }

    @Test("Skipped pixels are transparent") func skipped() throws {
        let data: [UInt8] = [
            1, 0, 0, 2, 1, 0, 1, 1, 0, 0,  // r.g, a delta to the right
            1, 2, 0, 0,  // b and an early end of the line
            0, 2, 1, 1, 1, 0, 0, 1,  // a delta over a whole row, and an early end of the picture
        ]
        let part = file(8, 4, 5, data)
        #expect(try letters(part) == ["....", ".r..", "....", "b...", "r.g."])
        #expect(try ImageDecoder.decode(part.bytes).bitmap.format == .rgba)
        #expect(try part.bytes.probe().hasAlpha)
        var gray = part
        gray.palette = [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
        #expect(try ImageDecoder.decode(gray.bytes).bitmap.format == .grayAlpha)
        #expect(try letters(file(8, 2, 2, [0, 1])) == ["..", ".."])
    }

    @Test("Runs are clipped to their row") func clipped() throws {
        #expect(try letters(file(8, 3, 2, [255, 0, 9, 1, 0, 0, 0, 4, 1, 2, 1, 2, 0, 1])) == ["gbg", "rrr"])
        #expect(try letters(file(8, 3, 2, [3, 0, 0, 2, 200, 1, 5, 1, 0, 1])) == ["...", "rrr"])
    }

    /// Without an end mark the last pixel is the end; what follows is not looked at.
    @Test("Truncated runs are refused") func damage() throws {
        #expect(try letters(file(8, 2, 1, [2, 0])) == ["rr"])
        #expect(try letters(file(8, 2, 1, [2, 0, 0, 0, 7, 7, 9])) == ["rr"])
        for data: [UInt8] in [[], [1], [1, 0], [1, 0, 0], [1, 0, 0, 0], [0, 3, 1], [0, 2, 1], [0, 2, 0, 0]] {
            let bytes = file(8, 2, 1, data).bytes
            #expect(throws: ImagingError.truncated(.bmp), "\(data)") { try ImageDecoder.decode(bytes) }
            #expect(throws: ImagingError.truncated(.bmp)) { try bytes.checkStructure() }
            #expect(throws: ImagingError.truncated(.bmp)) { try bytes.checkFully() }
        }
        let behind = file(8, 2, 1, [0, 0, 1, 0, 0, 1]).bytes
        #expect(throws: ImagingError.corrupt(.bmp, reason: "a run behind the last row")) {
            try ImageDecoder.decode(behind)
        }
    }

    @Test("Several sizes come from one pass") func sizes() throws {
        let rows = (0..<40).flatMap { row in [UInt8]([20, UInt8(row % 3), 20, 2, 0, 0]) }
        let file = file(8, 40, 40, rows + [0, 1])
        let whole = try ImageDecoder.decode(file.bytes).bitmap
        let size = PixelSize(width: 11, height: 7)
        let both = try file.bytes.withRaw {
            try ImageDecoder.decode($0, options: .init(), sizes: [size, PixelSize(width: 40, height: 40)])
        }
        #expect(try both.map(\.bitmap) == [Resampler.resize(whole, to: size), whole])
    }

    /// A few bytes may stand for a large empty picture; its memory counts before it is taken, and so does its time.
    @Test("An empty picture counts against the limits") func empty() {
        let empty = file(8, 9000, 9000, [0, 1]).bytes
        #expect(throws: ImagingError.memoryLimit(bytes: 9000 * 36_032, limit: 1 << 20)) {
            try ImageDecoder.decode(empty, options: .init(limits: .init(maxMemory: 1 << 20)))
        }
        let idle = file(8, 100, 100, [UInt8](repeating: 0, count: 1 << 20)).bytes
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try ImageDecoder.decode(idle, options: .init(limits: .init(timeLimit: .zero)))
        }
    }
}
