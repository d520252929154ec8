import Testing

@testable import KFImaging

@Suite("TIFF decoding", .enabled(if: LoadedLibrary.tiff.described.problem == nil, "no libtiff"))
struct TIFFDecodingTests {
    private func samples(_ page: TIFFFile.Page, isLittle: Bool = true) throws -> [[Int]] {
        let bytes = TIFFFile.bytes(page, isLittle: isLittle)
        try bytes.checkStructure()
        let (info, picture) = (try bytes.probe(), try ImageDecoder.decode(bytes).bitmap)
        #expect((picture.width, picture.height) == (info.width, info.height))
        #expect(picture.format.hasAlpha == info.hasAlpha && info.bitDepth == page.bits)
        return (0..<picture.height).flatMap { y in (0..<picture.width).map { picture[$0, y] } }
    }

    @Test("Grey of every depth fills the range of the output")
    func grays() throws {
        let size = (width: 2, height: 1)
        for (bits, expected) in [1: [[255], [0]], 2: [[170], [170]], 4: [[170], [187]], 8: [[170], [187]]] {
            let page = TIFFFile.Page(size: size, bits: bits, data: bits < 8 ? [0b1010_1011] : [0xAA, 0xBB])
            #expect(try samples(page) == expected)
        }
        #expect(try samples(.init(size: size, bits: 12, data: [0xAB, 0xCF, 0xFF])) == [[0xABCA], [65_535]])
        #expect(try samples(.init(size: size, bits: 16, data: [0xCD, 0xAB, 1, 0])) == [[0xABCD], [1]])
        #expect(
            try samples(.init(size: size, bits: 16, data: [0xAB, 0xCD, 0, 1]), isLittle: false) == [[0xABCD], [1]])
        #expect(try samples(.init(size: size, bits: 1, photometric: 0, data: [0b1000_0000])) == [[0], [255]])
    }

    @Test("A page without a depth has one bit")
    func noDepth() throws {
        let page = TIFFFile.Page(size: (4, 1), bits: 1, omitted: [258, 277], data: [0b1010_0000])
        #expect(try samples(page) == [[255], [0], [255], [0]])
    }

    @Test("Alpha becomes straight, whichever way the file has it")
    func alpha() throws {
        let data = [60, 30, 15, 120, 9, 9, 9, 0] as [UInt8]
        func page(_ extra: Int?) -> TIFFFile.Page {
            .init(size: (2, 1), samples: 4, photometric: 2, extra: extra, data: data)
        }
        #expect(try samples(page(2)) == [[60, 30, 15, 120], [9, 9, 9, 0]])
        #expect(try samples(page(1)) == [[128, 64, 32, 120], [0, 0, 0, 0]])
        #expect(try samples(page(nil)) == [[128, 64, 32, 120], [0, 0, 0, 0]], "as libtiff")
        #expect(try samples(page(0)) == [[60, 30, 15], [9, 9, 9]], "what the fourth sample is, the file leaves open")
        let deep = TIFFFile.Page(
            size: (1, 1), bits: 16, samples: 2, extra: 1, data: [0, 0x20, 0, 0x40])
        #expect(try samples(deep) == [[32_768, 0x4000]])
    }

    @Test("Palettes, inks and planes become RGB")
    func colors() throws {
        let map = [0, 0x1234, 0, 0, 0xFF00, 0x5600, 0, 0, 0x80FF, 0x9A00, 0, 0]
        let indexed = TIFFFile.Page(
            size: (3, 1), bits: 2, photometric: 3, others: [320: map], data: [0b0001_0000])
        #expect(try samples(indexed) == [[0, 255, 128], [0x12, 0x56, 0x9A], [0, 255, 128]])
        let inks = TIFFFile.Page(size: (2, 1), samples: 4, photometric: 5, data: [255, 0, 0, 0, 0, 0, 51, 51])
        #expect(try samples(inks) == [[0, 255, 255], [204, 204, 163]])
        let planes = TIFFFile.Page(
            size: (2, 1), samples: 3, photometric: 2, isPlanar: true, data: [1, 2, 3, 4, 5, 6])
        #expect(try samples(planes) == [[1, 3, 5], [2, 4, 6]])
    }

    @Test("Samples beside colours and alpha are skipped")
    func extraSamples() throws {
        for (bits, data) in [8: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 4: [0x12, 0x34, 0x56, 0x78, 0x9A]] as [Int: [UInt8]] {
            let scale = bits == 4 ? 17 : 1
            let page = TIFFFile.Page(size: (2, 1), bits: bits, samples: 5, photometric: 2, extra: 0, data: data)
            #expect(try samples(page) == [[1, 2, 3], [6, 7, 8]].map { $0.map { $0 * scale } })
        }
        let planes = TIFFFile.Page(size: (2, 1), samples: 2, extra: 0, isPlanar: true, data: [1, 2, 3, 4])
        #expect(try samples(planes) == [[1], [2]])
        // A few bytes that state 9,401 samples a pixel.
        let zeros = [UInt8](repeating: 0, count: 2352)
        let many = TIFFFile.Page(size: (1, 2), bits: 1, samples: 9401, photometric: 0, data: zeros)
        #expect(try samples(many) == [[255], [255]])
    }

    @Test("EXIF of the tags is kept as other formats keep it", arguments: [true, false], [true, false])
    func exif(isLittle: Bool, isBig: Bool) throws {
        // Behind the pixels, the directory of EXIF: a date of 20 bytes, a maker's note and the size of the picture.
        let start = (isBig ? 16 : 8) + 2
        func number(_ value: Int, _ count: Int) -> [UInt8] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return isLittle ? bytes : bytes.reversed()
        }
        func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: Int) -> [UInt8] {
            let field = type == 4 ? number(value, 4) + number(0, isBig ? 4 : 0) : number(value, isBig ? 8 : 4)
            return number(tag, 2) + number(type, 2) + number(count, isBig ? 8 : 4) + field
        }
        let end = start + (isBig ? 8 + 3 * 20 + 8 : 2 + 3 * 12 + 4)
        var directory = number(3, isBig ? 8 : 2)
        directory += entry(0x927C, 7, 20, end) + entry(0x9003, 2, 20, end) + entry(0xA002, 4, 1, 700)
        directory += number(0, isBig ? 8 : 4) + Array("2026:11:28 20:47:12\0".utf8)
        let page = TIFFFile.Page(
            size: (2, 1), orientation: 3, others: [0x8769: [start]], texts: [271: "Maker", 305: "kf"],
            data: [1, 2] + directory)
        let image = try ImageDecoder.decode(TIFFFile.bytes(page, isLittle: isLittle, isBig: isBig))
        let exif = try #require(image.metadata?.exif)
        let tags = try exif.withRaw { (bytes) throws(ImagingError) in
            let tags = try TIFFTags(bytes)
            let inner = tags.directory(at: 0x8769)
            return (
                tags.value(274), tags.field(271)?.value, tags.field(305)?.value, inner?.field(0x9003)?.value,
                inner?.value(0xA002), inner?.field(0x927C)?.value
            )
        }
        #expect(tags.0 == 1 && tags.1 == Array("Maker\0".utf8) && tags.2 == Array("kf\0".utf8))
        #expect(tags.3 == Array("2026:11:28 20:47:12\0".utf8) && tags.4 == 700 && tags.5 == nil)
        // The other formats carry it, with the size of the result.
        let options = EncodeOptions(keepsMetadata: true)
        let again = try ImageDecoder.decode(ImageEncoder.encode(image, as: .jpeg, options: options))
        let kept = try #require(again.metadata?.exif)
        #expect(kept.contains(Array("Maker".utf8)) && kept.contains(Array("2026:11:28".utf8)))
        #expect(try ImageDecoder.decode(TIFFFile.bytes(.init(size: (1, 1), data: [1]))).metadata == nil)
    }

    @Test("Directories that share their entries count for all of them")
    func sharedEntries() throws {
        // Cells of 12 bytes: each of the first begins with the number 4096, and each of the last has a place at byte 2.
        let pages = 300
        var bytes = Array("II".utf8) + [42, 0, 8, 0, 0, 0]
        for cell in 0..<4096 + pages {
            let next = UInt32(cell < 4096 ? 0x0003_0100 : 8 + 12 * (cell - 4095))
            bytes += [0, 0x10] + (0..<4).map { UInt8(truncatingIfNeeded: next >> (8 * $0)) } + [1, 0, 0, 0, 0, 0]
        }
        let counted = try bytes.withRaw { (bytes) throws(ImagingError) in try TIFFTags(bytes).pages }
        #expect(counted == 1 + (1 << 17) / 4096)
    }

    @Test("CIE L*a*b* of D50 becomes sRGB, whose greys are neutral", arguments: [8, 16])
    func lab(bits: Int) throws {
        // White, grey, black; then the red, the green and the blue of sRGB, rounded.
        let colors = [[255, 0, 0], [128, 0, 0], [0, 0, 0], [138, 81, 70], [224, -79, 81], [75, 68, -112]]
        let data = colors.flatMap { color -> [UInt8] in
            color.enumerated().flatMap { index, value -> [UInt8] in
                let low = UInt8(truncatingIfNeeded: index == 0 ? value : 0)
                return bits == 8 ? [UInt8(truncatingIfNeeded: value)] : [low, UInt8(truncatingIfNeeded: value)]
            }
        }
        let page = TIFFFile.Page(size: (6, 1), bits: bits, samples: 3, photometric: 8, data: data)
        let picture = try ImageDecoder.decode(TIFFFile.bytes(page)).bitmap
        let expected: [[Int]] = [
            [255, 255, 255], [119, 119, 119], [0, 0, 0], [255, 0, 0], [10, 255, 0], [0, 1, 254],
        ]
        #expect((0..<6).map { picture[$0, 0] } == expected)
    }

    @Test("Entries of EXIF that share their bytes are not multiplied")
    func sharedExif() throws {
        // 4096 entries of 256 KiB each, all of them the whole of the same bytes.
        var directory = BMPFile.half(4096)
        let start = 8 + 2
        let place = start + 2 + 4096 * 12 + 4
        for tag in 0xB000..<0xC000 {
            directory += BMPFile.half(tag) + BMPFile.half(1) + BMPFile.word(1 << 18) + BMPFile.word(place)
        }
        let data = [1, 2] + directory + BMPFile.word(0) + [UInt8](repeating: 7, count: 1 << 18)
        let page = TIFFFile.Page(size: (2, 1), others: [0x8769: [start]], data: data)
        let exif = try TIFFFile.bytes(page).withRaw { (bytes) throws(ImagingError) in try TIFFStructure(bytes).exif }
        #expect(exif == nil)
    }

    @Test("The orientation is applied", arguments: [true, false])
    func orientation(isBig: Bool) throws {
        let page = TIFFFile.Page(size: (2, 1), orientation: 6, data: [10, 20])
        let bytes = TIFFFile.bytes(page, isBig: isBig)
        let picture = try ImageDecoder.decode(bytes).bitmap
        #expect(try bytes.probe().height == 2 && picture.width == 1)
        #expect([picture[0, 0], picture[0, 1]] == [[10], [20]])
    }

    @Test("Only the first page is read, with a warning")
    func pages() throws {
        let page = TIFFFile.Page(size: (1, 1), data: [7])
        var copy = page
        copy.others = [254: [1]]
        var second = page
        second.others = [254: [2]]
        let bytes = TIFFFile(pages: [page, second, copy]).bytes
        let image = try ImageDecoder.decode(bytes)
        #expect(image.bitmap[0, 0] == [7] && image.warnings == [.picturesLost(count: 2, .tiff)])
        #expect(image.warnings[0].message == "the TIFF has 2 pictures; only the first is read")
        #expect(try ImageDecoder.decode(TIFFFile(pages: [page, copy]).bytes).warnings.isEmpty)
    }

    @Test(
        "What is not decoded is named",
        arguments: [
            (.init(size: (1, 1), compression: 50_000, data: [0]), "Zstandard compression (50000)"),
            (.init(size: (1, 1), compression: 9, data: [0]), "unknown compression (9)"),
            (.init(size: (1, 1), bits: 32, others: [339: [3]], data: [0, 0, 0, 0]), "floating-point samples"),
            (.init(size: (1, 1), bits: 24, data: [0, 0, 0]), "24 bits a sample"),
            (.init(size: (1, 1), photometric: 32_803, data: [0]), "the raw data of a camera"),
            (.init(size: (1, 1), samples: 5, photometric: 5, others: [332: [2]], data: [0, 0, 0, 0, 0]), "inks"),
        ] as [(TIFFFile.Page, String)])
    func undecodable(_ page: TIFFFile.Page, _ feature: String) throws {
        let bytes = TIFFFile.bytes(page)
        try bytes.checkStructure()
        let error = #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
        #expect(error?.message.hasPrefix("TIFF with \(feature)") == true, "\(error?.message ?? "")")
    }

    @Test("A missing end is found before anything is stored")
    func truncation() throws {
        let bytes = TIFFFile.bytes(.init(size: (40, 40), data: [UInt8](repeating: 9, count: 1600)))
        for length in [8, 500, bytes.count - 1] {
            #expect(throws: ImagingError.truncated(.tiff)) { try Array(bytes.prefix(length)).checkStructure() }
        }
        var far = bytes
        far.replaceSubrange(4..<8, with: [0xFF, 0xFF, 0xFF, 0x7F])
        #expect(throws: ImagingError.truncated(.tiff)) { try far.probe() }
    }

    @Test("The limits hold before memory is taken")
    func limits() throws {
        // Few bytes of LZW that state 20,000 × 20,000 pixels, in one strip of three planes.
        let page = TIFFFile.Page(
            size: (20_000, 20_000), samples: 3, photometric: 2, compression: 5, isPlanar: true,
            data: [0x80, 0x00, 0x20, 0x40, 0x80, 0x00, 0x20, 0x40, 0x80, 0x00, 0x20, 0x40])
        let bytes = TIFFFile.bytes(page)
        #expect(throws: ImagingError.tooLarge(width: 20_000, height: 20_000, maxPixels: 100_000_000)) {
            try ImageDecoder.decode(bytes)
        }
        var options = DecodeOptions(limits: DecodeLimits(maxPixels: .max, maxMemory: 64 << 20))
        options.exactSize = PixelSize(width: 10, height: 10)
        let error = #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes, options: options) }
        if case .memoryLimit = error {} else { Issue.record("\(String(describing: error))") }
    }

    @Test("Sizes of one pass equal those of a pass each")
    func passes() throws {
        let data = (0..<90 * 70).map { UInt8(truncatingIfNeeded: $0 * $0 / 77) }
        let bytes = TIFFFile.bytes(.init(size: (90, 70), orientation: 8, data: data))
        let sizes = [PixelSize(width: 20, height: 30), PixelSize(width: 35, height: 45)]
        let together = try bytes.withRaw { (bytes) throws(ImagingError) in
            try ImageDecoder.decode(bytes, options: .init(), sizes: sizes)
        }
        for (size, image) in zip(sizes, together) {
            #expect(try ImageDecoder.decode(bytes, options: DecodeOptions(exactSize: size)).bitmap == image.bitmap)
        }
    }
}
