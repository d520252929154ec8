import Support
import Testing

@testable import KFImaging

@Suite("ICO files")
struct ICODecoderTests {
    private typealias Entry = (size: Int, bits: Int, bytes: [UInt8])

    private func bitmap(_ side: Int, depth: Int, _ dice: inout Dice) -> (bytes: [UInt8], pixels: [UInt8]) {
        let (file, pixels) = BMPFile.random(side, side, depth: depth, &dice)
        let mask = BMPFile.values(side, side, below: 2, &dice)
        var shown = pixels
        for (index, bit) in mask.joined().enumerated() where bit == 1 { shown[index * 4 + 3] = 0 }
        if depth == 32 {
            // The fourth byte is alpha, and the mask is not looked at.
            for y in 0..<side {
                for x in 0..<side { shown[(y * side + x) * 4 + 3] = file.data[((side - 1 - y) * side + x) * 4 + 3] }
            }
        }
        return (file.icon(mask: BMPFile.packed(mask.reversed(), depth: 1)), shown)
    }

    @Test("Bitmaps are decoded with their masks", arguments: [1, 2, 4, 8, 16, 24, 32])
    func masks(_ depth: Int) throws {
        var dice = Dice(UInt64(depth))
        for side in [1, 16, 33] {
            let (bytes, pixels) = bitmap(side, depth: depth, &dice)
            let file = Files.ico([(side, depth, bytes)])
            let image = try ImageDecoder.decode(file)
            #expect(image.bitmap.format == .rgba && image.sourceFormat == .ico)
            #expect(image.bitmap.rgba8 == pixels)
            let info = try file.probe()
            #expect(info.format == .ico && info.width == side && info.height == side && info.frames == 1)
            #expect(info.hasAlpha && info.bitDepth == (depth == 16 ? 5 : min(8, depth)))
            #expect(try file.checkFully() == [])
        }
    }

    @Test("The mask counts when the alpha is empty") func alpha() throws {
        let file = BMPFile(width: 2, height: 1, depth: 32, data: [1, 2, 3, 0, 4, 5, 6, 0])
        let masked = Files.ico([(2, 32, file.icon(mask: [0x40, 0, 0, 0]))])
        #expect(try ImageDecoder.decode(masked).bitmap.rgba8 == [3, 2, 1, 255, 6, 5, 4, 0])
        let bare = Files.ico([(2, 32, file.icon(mask: []))])
        #expect(try ImageDecoder.decode(bare).bitmap.rgba8 == [3, 2, 1, 255, 6, 5, 4, 255])
    }

    @Test("A missing mask is accepted and a partial one refused") func missingMask() throws {
        var dice = Dice(7)
        let (file, pixels) = BMPFile.random(20, 20, depth: 24, &dice)
        #expect(try ImageDecoder.decode(Files.ico([(20, 24, file.icon(mask: []))])).bitmap.rgba8 == pixels)
        let part = Files.ico([(20, 24, file.icon(mask: [0, 0, 0, 0, 0]))])
        #expect(throws: ImagingError.truncated(.ico)) { try ImageDecoder.decode(part) }
        #expect(throws: ImagingError.truncated(.ico)) { try part.checkStructure() }
    }

    @Test("A colour profile is not read as the mask", arguments: [24, 32])
    func profile(_ depth: Int) throws {
        let profile = Files.profile(200, filling: 0xFF)
        let row: [UInt8] = depth == 24 ? [1, 2, 3, 4, 5, 6, 0, 0] : [1, 2, 3, 0, 4, 5, 6, 0]
        let file = BMPFile(header: 124, width: 2, height: 1, depth: depth, data: row, profile: profile)
        for (mask, alpha) in [([], 255), ([0x40, 0, 0, 0], 0)] as [([UInt8], UInt8)] {
            let bytes = Files.ico([(2, depth, file.icon(mask: mask))])
            let image = try ImageDecoder.decode(bytes)
            #expect(image.bitmap.rgba8 == [3, 2, 1, 255, 6, 5, 4, alpha] && image.iccProfile == profile)
            #expect(try bytes.checkFully() == [])
        }
    }

    @Test("A PNG inside an ICO is decoded") func png() throws {
        let picture = try Pictures.gradient(300, 260, .rgba)
        let png = try ImageEncoder.encode(Image(picture), as: .png)
        var dice = Dice(8)
        let file = Files.ico([(32, 32, bitmap(32, depth: 32, &dice).bytes), (0, 32, png)])
        let image = try ImageDecoder.decode(file)
        #expect(image.bitmap == picture && image.sourceFormat == .ico)
        let info = try file.probe()
        #expect(info == ImageInfo(format: .ico, width: 300, height: 260, hasAlpha: true))
        let size = PixelSize(width: 30, height: 26)
        let small = try ImageDecoder.decode(file, options: .init(exactSize: size))
        #expect(try small.bitmap == Resampler.resize(picture, to: size))
        let sizes = try file.withRaw { try ImageDecoder.decode($0, options: .init(), sizes: [size]) }
        #expect(sizes.map(\.bitmap) == [small.bitmap])
        #expect(throws: ImagingError.tooLarge(width: 300, height: 260, maxPixels: 77_999)) {
            try ImageDecoder.decode(file, options: .init(limits: .init(maxPixels: 77_999)))
        }
    }

    @Test("The largest picture is chosen") func choice() throws {
        var dice = Dice(9)
        func choice(_ pictures: [(side: Int, depth: Int)], stated: Int) throws -> Int? {
            let made = pictures.map { bitmap($0.side, depth: $0.depth, &dice) }
            let file = Files.ico(zip(pictures, made).map { (stated, 1, $1.bytes) })
            let pixels = try ImageDecoder.decode(file).bitmap.rgba8
            return made.firstIndex { $0.pixels == pixels }
        }
        #expect(try choice([(16, 32), (48, 4), (32, 32)], stated: 16) == 1)
        #expect(try choice([(16, 4), (16, 32), (16, 8)], stated: 0) == 1)
        #expect(try choice([(16, 8), (16, 24), (16, 24)], stated: 255) == 1)
    }

    @Test("Only the largest picture must be whole") func smaller() throws {
        var dice = Dice(10)
        let (large, pixels) = bitmap(32, depth: 24, &dice)
        let small = bitmap(16, depth: 24, &dice).bytes
        var file = Files.ico([(16, 24, small), (32, 24, large), (0, 0, [])])
        #expect(try ImageDecoder.decode(file).bitmap.rgba8 == pixels, "an empty entry is skipped")
        file[6 + 14] = 0xFF
        #expect(try ImageDecoder.decode(file).bitmap.rgba8 == pixels, "the small one is behind the end")
        file[6 + 12..<6 + 16] = [0, 0, 0, 0]
        #expect(try ImageDecoder.decode(file).bitmap.rgba8 == pixels, "the small one is in the directory")
        file = Files.ico([(16, 24, small), (32, 24, large)])
        file[22 + 14] = 0xFF
        #expect(throws: ImagingError.truncated(.ico)) { try ImageDecoder.decode(file) }
        file = Files.ico([(16, 24, small), (32, 24, [7, 0, 0, 0] + large[4...])])
        #expect(throws: ImagingError.corrupt(.ico, reason: "a header of 7 bytes")) { try ImageDecoder.decode(file) }
        #expect(throws: ImagingError.corrupt(.ico, reason: "no picture")) {
            try ImageDecoder.decode(Files.ico([(16, 24, [])]) + [0])
        }
        #expect(throws: ImagingError.truncated(.ico)) {
            try ImageDecoder.decode([0, 0, 1, 0, 9, 0] + [UInt8](repeating: 0, count: 30))
        }
    }

    @Test("Damage inside a PNG is found") func damage() throws {
        let png = try ImageEncoder.encode(Image(Pictures.gradient(40, 40)), as: .png)
        let cut = Files.ico([(40, 24, png.dropLast(20))])
        #expect(throws: ImagingError.truncated(.png)) { try ImageDecoder.decode(cut) }
        #expect(throws: ImagingError.truncated(.png)) { try cut.checkStructure() }
        var turned = Files.ico([(40, 24, png)])
        turned[turned.count - 20] ^= 1
        #expect(throws: ImagingError.corrupt(.png, reason: "a wrong checksum")) {
            try turned.checkStructure()
        }
        // A PNG holds no further ICO, and an ICO none inside itself.
        let nested = Files.ico([(40, 24, Files.ico([(40, 24, png)]))])
        #expect(throws: ImagingError.corrupt(.ico, reason: "a header of 65536 bytes")) {
            try ImageDecoder.decode(nested)
        }
    }

    @Test("Run lengths inside an ICO are unsupported") func runs() throws {
        let file = BMPFile(width: 2, height: 1, depth: 8, compression: 1, palette: [[1, 2, 3]], data: [2, 0, 0, 1])
        let icon = Files.ico([(2, 8, file.icon(mask: [0, 0, 0, 0]))])
        #expect(throws: ImagingError.unsupported(.ico, feature: "run-length encoding")) {
            try ImageDecoder.decode(icon)
        }
        #expect(try icon.checkStructure() == [])
    }

    @Test("A cursor is not an ICO") func cursor() {
        #expect([UInt8]([0, 0, 2, 0, 1, 0] + [UInt8](repeating: 0, count: 16)).withRaw(ContentKind.sniff) == .unknown)
    }
}
