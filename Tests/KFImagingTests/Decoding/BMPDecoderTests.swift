import Support
import Testing

@testable import KFImaging

@Suite("BMP pictures")
struct BMPDecoderTests {
    /// OS/2's headers of 16 bytes and more and Windows' ones have the same fields as far as they go.
    @Test(
        "Every header and depth is read", arguments: [12, 16, 20, 40, 42, 46, 52, 56, 64, 108, 124],
        [1, 2, 4, 8, 16, 24, 32])
    func headers(_ header: Int, _ depth: Int) throws {
        var dice = Dice(UInt64(header * 100 + depth))
        for width in [1, 7, 8, 33] {
            let (file, pixels) = BMPFile.random(header: header, width, 5, depth: depth, &dice)
            let image = try ImageDecoder.decode(file.bytes)
            #expect(image.bitmap.rgba8 == pixels, "\(width)")
            #expect(image.sourceFormat == .bmp && image.bitmap.format == .rgb && image.warnings == [])
            let info = try file.bytes.probe()
            let model: ImageInfo.ColorModel = depth <= 8 ? .indexed : .rgb
            let bits = depth == 16 ? 5 : min(depth, 8)
            #expect(info == ImageInfo(format: .bmp, width: width, height: 5, colorModel: model, bitDepth: bits))
        }
    }

    @Test("A negative height means rows from the top") func topDown() throws {
        var dice = Dice(1)
        for depth in [1, 8, 24] {
            let (made, pixels) = BMPFile.random(5, 4, depth: depth, &dice)
            var file = made
            let length = file.data.count / 4
            file.height = -4
            file.data = (0..<4).reversed().flatMap { file.data[$0 * length..<($0 + 1) * length] }
            #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == pixels)
        }
    }

    @Test("A grey palette gives grey pixels", arguments: [1, 2, 4, 8])
    func greys(_ depth: Int) throws {
        var dice = Dice(2)
        let count = 1 << depth
        let grays = (0..<count).map { [UInt8](repeating: UInt8(255 - $0 * 255 / max(1, count - 1)), count: 3) }
        let rows = BMPFile.values(9, 3, below: count, &dice)
        let file = BMPFile(
            width: 9, height: 3, depth: depth, palette: grays, data: BMPFile.packed(rows.reversed(), depth: depth))
        let bitmap = try ImageDecoder.decode(file.bytes).bitmap
        #expect(bitmap.format == .gray)
        #expect((0..<3).flatMap { y in (0..<9).map { bitmap[$0, y][0] } } == rows.joined().map { Int(grays[$0][0]) })
    }

    /// Masks of 16 and 32 bits a pixel, with the widths of red, green, blue and alpha.
    @Test(
        "Masks of every width are applied",
        arguments: [
            (16, [0xF800, 0x07E0, 0x001F]), (16, [0x7C00, 0x03E0, 0x001F, 0x8000]),
            (16, [0x0F00, 0x00F0, 0x000F, 0xF000]),
            (16, [0x0001, 0x0002, 0xFFFC]), (16, [0x3000, 0x0FC0, 0x003F]), (16, [0, 0xFF00, 0x00FF]),
            (24, [0x0000FF, 0x00FF00, 0xFF0000]), (24, [0xFC0000, 0x03F000, 0x000FC0, 0x00003F]),
            (32, [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000]), (32, [0xFF00_0000, 0xFF_0000, 0xFF00, 0xFF]),
            (32, [0x3FF0_0000, 0x000F_FC00, 0x0000_03FF, 0xC000_0000]), (32, [0xFFFF_0000, 0xFFFF, 0xFFFF]),
            (32, [0x0007_F800, 0x7F8, 0x7]), (32, [0xFFFF_FFFF, 0xFFFF_FFFE, 0x8000_0000]),
        ])
    func masks(_ depth: Int, _ masks: [Int]) throws {
        var dice = Dice(3)
        var rows = BMPFile.values(40, 3, below: 1 << depth, &dice)
        rows[1][..<2] = [0, 1 << depth - 1]
        let expected = rows.joined().flatMap { value -> [UInt8] in
            let samples = masks.map { mask -> UInt8 in
                guard mask != 0 else { return 0 }
                let low = mask & -mask
                return UInt8(clamping: (Double((value & mask) / low) * 255 / Double(mask / low)).rounded())
            }
            return masks.count == 4 ? samples : samples + [255]
        }
        // Behind a header of 40 bytes, and inside the others.
        for header in [40, 52, 56, 108, 124] {
            let hasAlpha = masks.count == 4
            if header == 52, hasAlpha { continue }
            var file = BMPFile(
                header: header, width: 40, height: 3, depth: depth, compression: header == 40 && hasAlpha ? 6 : 3,
                data: BMPFile.packed(rows.reversed(), depth: depth))
            file.masks = masks.map { UInt32($0) }
            let image = try ImageDecoder.decode(file.bytes)
            #expect(image.bitmap.format == (hasAlpha ? .rgba : .rgb))
            #expect(image.bitmap.rgba8 == expected, "\(header)")
            #expect(try file.bytes.probe().hasAlpha == hasAlpha)
        }
    }

    @Test("A mask with gaps is refused") func badMasks() throws {
        var file = BMPFile(width: 1, height: 1, depth: 16, compression: 3, masks: [0xF100, 0xE0, 0x1F], data: [0, 0])
        #expect(throws: ImagingError.corrupt(.bmp, reason: "a mask with gaps")) { try ImageDecoder.decode(file.bytes) }
        // Bits beyond the pixel count as absent.
        file.masks = [0xFFFF_F800, 0x07E0, 0x001F]
        file.data = [0x00, 0xF8]
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == [255, 0, 0, 255])
    }

    /// As in browsers: the fourth byte without a mask is nothing, and a picture of which all is transparent is opaque.
    @Test("A fully transparent picture is opaque") func noAlpha() throws {
        var file = BMPFile(width: 2, height: 1, depth: 32, data: [1, 2, 3, 0, 4, 5, 6, 128])
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == [3, 2, 1, 255, 6, 5, 4, 255])
        file.header = 108
        file.compression = 3
        file.masks = [0xFF_0000, 0xFF00, 0xFF, 0xFF00_0000]
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == [3, 2, 1, 0, 6, 5, 4, 128])
        file.data[7] = 0
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == [3, 2, 1, 255, 6, 5, 4, 255])
    }

    @Test("A palette of the wrong length is read") func palettes() throws {
        let red: [UInt8] = [255, 0, 0]
        let blue: [UInt8] = [0, 0, 255]
        var file = BMPFile(width: 3, height: 1, depth: 4, palette: [red, blue], data: [0x01, 0xF0, 0, 0])
        let expected = red + [255] + blue + [255, 0, 0, 0, 255]
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == expected, "an index without an entry is black")
        file.gap = 10
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == expected, "a gap")
        file.gap = 0
        file.statedColors = 0
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == expected, "the palette ends where the rows begin")
        file.statedColors = 1000
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == expected, "too many stated")
        file.statedColors = 2
        file.statedOffset = 0
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8 == expected, "rows follow the palette by default")
        file.palette += [[UInt8]](repeating: [9, 9, 9], count: 300)
        file.statedColors = 302
        file.statedOffset = nil
        #expect(try ImageDecoder.decode(file.bytes).bitmap.rgba8.prefix(8) == expected.prefix(8), "too many")
        file.palette = []
        file.statedColors = 0
        #expect(throws: ImagingError.corrupt(.bmp, reason: "no palette")) { try ImageDecoder.decode(file.bytes) }
    }

    @Test("A meaningless header is refused") func badHeaders() {
        for (change, reason) in [
            ({ $0.width = 0 }, "a picture of 0×1 pixels"), ({ $0.width = -4 }, "a picture of -4×1 pixels"),
            ({ $0.height = 0 }, "a picture of 4×0 pixels"), ({ $0.depth = 3 }, "compression 0 with 3 bits a pixel"),
            ({ $0.depth = 0 }, "compression 0 with 0 bits a pixel"),
            ({ $0.compression = 1 }, "compression 1 with 24 bits a pixel"),
            ({ $0.compression = 77 }, "compression 77 with 24 bits a pixel"),
        ] as [((inout BMPFile) -> Void, String)] {
            var file = BMPFile(width: 4, height: 1, depth: 24, data: [UInt8](repeating: 1, count: 12))
            change(&file)
            #expect(throws: ImagingError.corrupt(.bmp, reason: reason)) { try ImageDecoder.decode(file.bytes) }
        }
        // The least number has no positive counterpart of 32 bits.
        let file = BMPFile(width: 1, height: Int(Int32.min), depth: 24, data: [0, 0, 0])
        #expect(throws: ImagingError.tooLarge(width: 1, height: 1 << 31, maxPixels: 100_000_000)) {
            try ImageDecoder.decode(file.bytes)
        }
    }

    /// Such a file is stored and delivered: only decoding fails.
    @Test(
        "An unsupported feature is named",
        arguments: [
            (40, 4, 0, "an embedded JPEG"), (40, 5, 0, "an embedded PNG"), (124, 4, 24, "an embedded JPEG"),
            (64, 3, 1, "Huffman compression"), (40, 11, 32, "CMYK"), (40, 0, 64, "64 bits a pixel"),
        ])
    func unsupported(_ header: Int, _ compression: Int, _ depth: Int, _ feature: String) throws {
        let file = BMPFile(header: header, width: 4, height: 2, depth: depth, compression: compression, data: [1, 2])
        let error = #expect(throws: ImagingError.unsupported(.bmp, feature: feature)) {
            try ImageDecoder.decode(file.bytes)
        }
        #expect(error?.message == "BMP with \(feature) is not supported")
        try file.bytes.withRaw { bytes throws in
            #expect(throws: ImagingError.unsupported(.bmp, feature: feature)) { try ImageDecoder.check(bytes) }
            #expect(try ImageProbe.probe(bytes).width == 4 && ImageProbe.checkStructure(bytes) == [])
        }
    }

    @Test("The profile of version 5 is carried") func profile() throws {
        let profile = Files.profile(200)
        var file = BMPFile(header: 124, width: 1, height: 1, depth: 24, data: [1, 2, 3, 0], profile: profile)
        #expect(try ImageDecoder.decode(file.bytes).iccProfile == profile)
        #expect(try ImageDecoder.decode(Array(file.bytes.dropLast())).iccProfile == nil, "beyond the end")
        file.profile[16] = UInt8(ascii: "G")
        #expect(try ImageDecoder.decode(file.bytes).iccProfile == nil, "not of these pixels")
    }

    @Test("Rows are resampled while they are read") func resampled() throws {
        var dice = Dice(4)
        for depth in [1, 8, 16, 24, 32] {
            let (file, _) = BMPFile.random(300, 200, depth: depth, &dice)
            let whole = try ImageDecoder.decode(file.bytes).bitmap
            let sizes = [PixelSize(width: 31, height: 20), PixelSize(width: 300, height: 200)]
            let small = try Resampler.resize(whole, to: sizes[0])
            #expect(try ImageDecoder.decode(file.bytes, options: .init(exactSize: sizes[0])).bitmap == small)
            let both = try file.bytes.withRaw { try ImageDecoder.decode($0, options: .init(), sizes: sizes) }
            #expect(both.map(\.bitmap) == [small, whole])
            var options = DecodeOptions(firstFrameOnly: true)
            #expect(try ImageDecoder.decode(file.bytes, options: options).bitmap == whole)
            options.limits.scaleDownBytes = 30_000
            #expect(try ImageDecoder.decode(file.bytes, options: options).bitmap.width == 122)
        }
    }

    @Test("A large claim in a small file takes no memory") func largeClaim() {
        for (width, height, depth) in [(9000, 9000, 24), (1, 1_000_000, 1), (99_000_000, 1, 32)] {
            let file = BMPFile(
                width: width, height: height, depth: depth, palette: [[0, 0, 0], [1, 1, 1]], data: [1])
            let budget = DecodeLimits(maxSide: .max, maxMemory: 1 << 16)
            #expect(throws: ImagingError.truncated(.bmp)) {
                try ImageDecoder.decode(file.bytes, options: .init(limits: budget))
            }
            #expect(throws: ImagingError.truncated(.bmp)) {
                try file.bytes.checkStructure()
            }
        }
        let file = BMPFile(width: 1 << 30, height: 1 << 30, depth: 32)
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(file.bytes) }
        #expect(throws: ImagingError.truncated(.bmp)) { try file.bytes.checkStructure() }
    }

    @Test("The limits of time and memory apply") func limits() throws {
        var dice = Dice(5)
        let (file, _) = BMPFile.random(300, 200, depth: 24, &dice)
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try ImageDecoder.decode(file.bytes, options: .init(limits: .init(timeLimit: .zero)))
        }
        let limits = DecodeLimits(maxMemory: 100_000)
        #expect(throws: ImagingError.memoryLimit(bytes: 192_000, limit: 100_000)) {
            try ImageDecoder.decode(file.bytes, options: .init(limits: limits))
        }
    }
}
