import Testing

@testable import KFImaging

@Suite("AVIF decoding", .enabled(if: AVIFTools.areThere, "\(AVIFTools.absence)"))
struct AVIFDecodingTests {
    /// A level of the depth, in samples of 16 bits; 1 for 8 bits.
    private func level(_ info: ImageInfo) -> Int { info.bitDepth == 8 ? 1 : 65_535 / ((1 << info.bitDepth) - 1) }

    @Test("The corpus decodes like avifdec", .enabled(if: Corpus.isThere, "no test images beside the repository"))
    func corpus() throws {
        let corpus = Corpus("avif")
        let names = try corpus.names(".avif")
        for name in names {
            let bytes = try corpus.bytes(name)
            let info = try bytes.probe()
            try bytes.checkStructure()
            let image = try ImageDecoder.decode(bytes)
            #expect(
                (image.width, image.height, image.frames.count) == (info.width, info.height, info.frames), "\(name)")
            #expect(image.bitmap.format.hasAlpha == info.hasAlpha, "\(name)")
            #expect(image.bitmap.format.isGray == (info.colorModel == .gray), "\(name)")
            let reference = try AVIFTools.decode(bytes, isGray: info.colorModel == .gray)
            // Chimera is the one with an aperture; avifdec shows all of it.
            let visible = try reference.cropped(
                x: 0, y: (reference.height - info.height) / 2, width: info.width, height: info.height)
            #expect(try image.bitmap.gap(to: visible) <= level(info), "\(name)")
        }
        #expect(names.count == 28)
    }

    @Test(
        "Every sampling, depth and range",
        arguments: [
            "-y 420", "-y 422", "-y 444", "-y 400", "-y 420 -d 10", "-y 422 -d 12", "-y 444 -d 10", "-y 400 -d 12",
            "-y 420 -r limited", "-y 444 -r limited -d 10", "-y 400 -r limited", "-y 400 -r limited -d 10",
            "-y 444 --cicp 1/13/0", "-y 420 --cicp 9/14/9", "-y 420 --cicp 1/13/1 -r limited", "-l",
        ])
    func samplings(_ options: String) throws {
        let options = options.split(separator: " ").map(String.init)
        // Odd sides, and more rows than a band.
        for format in [PixelFormat.rgb, .rgba] {
            let bytes = try AVIFTools.make([Pictures.gradient(211, 301, format)], options)
            let info = try bytes.probe()
            let image = try ImageDecoder.decode(bytes)
            #expect(image.bitmap.format.hasAlpha == format.hasAlpha && info.hasAlpha == format.hasAlpha)
            #expect(image.bitmap.format.isGray == options.contains("400"))
            #expect((image.bitmap.format.depth == .sixteen) == (options.contains("-d")))
            #expect(
                try image.bitmap.gap(to: AVIFTools.decode(bytes, isGray: options.contains("400"))) <= level(info),
                "\(options) \(format)")
        }
    }

    @Test("Premultiplied alpha becomes straight", arguments: ["-y 420", "-y 444 -d 10", "-y 400", "-y 400 -d 12"])
    func premultiplied(_ options: String) throws {
        let options = options.split(separator: " ").map(String.init) + ["--premultiply"]
        let bytes = try AVIFTools.make([Pictures.gradient(211, 90, .rgba)], options)
        let gap = try ImageDecoder.decode(bytes).bitmap.gap(to: AVIFTools.decode(bytes))
        // For grey of 8 bits, libyuv divides by an alpha that it rounded.
        #expect(try gap <= (options.contains("400") ? 2 : 1) * level(bytes.probe()))
    }

    @Test("An alpha that hides nothing is left out") func anAlphaThatHidesNothing() throws {
        let bitmap = try Pictures.make(120, 90, .rgba) { x, y, channel in channel == 3 ? 255 : x * 2 + y * channel }
        // avifenc leaves such an alpha out, unless another frame needs it.
        let veiled = try Pictures.make(120, 90, .rgba) { x, y, channel in channel == 3 ? x : x * 2 + y * channel }
        let bytes = try AVIFTools.make([veiled, bitmap], ["-y", "420"])
        let frames = try ImageDecoder.decode(bytes).frames
        #expect(frames.count == 2)
        for (index, frame) in frames.enumerated() {
            #expect(frame.bitmap.format == .rgba)
            #expect(try frame.bitmap.gap(to: AVIFTools.decode(bytes, frame: index)) <= 1)
        }
    }

    @Test("A grid is decoded as one picture") func aGridIsOnePicture() throws {
        for options in ["-y 420 --grid 2x2", "-y 444 -d 10 --grid 3x1"] {
            let bytes = try AVIFTools.make(
                [Pictures.gradient(384, 256)], options.split(separator: " ").map(String.init))
            let info = try bytes.probe()
            #expect((info.width, info.height) == (384, 256))
            #expect(info.bitDepth == (options.contains("10") ? 10 : 8))
            #expect(try ImageDecoder.decode(bytes).bitmap.gap(to: AVIFTools.decode(bytes)) <= level(info))
            #expect(throws: ImagingError.truncated(.avif)) {
                try Array(bytes.dropLast()).checkStructure()
            }
        }
    }

    @Test(
        "Pictures that libavif 0.11 decodes wrongly or refuses are right",
        .enabled(if: Corpus.isThere, "no test images beside the repository"))
    func found() throws {
        let corpus = Corpus("found")
        let names = try corpus.names(".right.png")
        for name in names {
            let bytes = try corpus.bytes(name.replacing(".right.png", with: ".avif"))
            let right = try ImageDecoder.decode(corpus.bytes(name)).bitmap
            try bytes.checkStructure()
            let image = try ImageDecoder.decode(bytes)
            // libavif 1.4 converts with libyuv, which rounds in another way.
            #expect(try image.bitmap.gap(to: right) <= 1, "\(name)")
            #expect(try bytes.probe().hasAlpha == image.bitmap.format.hasAlpha, "\(name)")
            #expect(image.bitmap.format.hasAlpha == name.contains("draw_points") || name.contains("alpha"), "\(name)")
        }
        #expect(names.count == 5)
    }

    @Test("The cells of a grid lie in the order of their references", arguments: [PixelFormat.rgb, .rgba])
    func orderOfCells(_ format: PixelFormat) throws {
        let options = ["-y", "444", "--grid", "2x2"]
        let bytes = try AVIFTools.make([Pictures.gradient(256, 256, format)], options)
        let picture = try ImageDecoder.decode(bytes).bitmap
        var (turned, place) = (bytes, 0)
        while let dimg = turned[place...].firstRange(of: Array("dimg".utf8)) {
            place = dimg.upperBound
            let cells = stride(from: place + 4, to: place + 12, by: 2).map { Array(turned[$0..<$0 + 2]) }
            turned.replaceSubrange(place + 4..<place + 12, with: cells.reversed().joined())
        }
        let quarters = try [(128, 128), (0, 128), (128, 0), (0, 0)].map {
            try picture.cropped(x: $0.0, y: $0.1, width: 128, height: 128)
        }
        let expected = try Pictures.make(256, 256, format) { x, y, channel in
            quarters[y / 128 * 2 + x / 128][x % 128, y % 128][channel]
        }
        #expect(try ImageDecoder.decode(turned).bitmap == expected)
        let dimg = try #require(bytes.firstRange(of: Array("dimg".utf8))).upperBound
        var repeated = bytes
        repeated.replaceSubrange(dimg + 4..<dimg + 6, with: bytes[dimg + 6..<dimg + 8])
        #expect(throws: ImagingError.unsupported(.avif, feature: "a grid with one cell in two places")) {
            try ImageDecoder.decode(repeated)
        }
    }

    @Test("The picture is cropped, then rotated, then mirrored", arguments: 0..<4, ["", "0", "1"])
    func transformed(_ turns: Int, _ mode: String) throws {
        let options = ["--irot", "\(turns)", "--crop", "10,20,60,40"] + (mode.isEmpty ? [] : ["--imir", mode])
        let bytes = try AVIFTools.make([Pictures.gradient(100, 80)], ["-y", "444"] + options)
        let coded = try AVIFTools.decode(bytes).cropped(x: 10, y: 20, width: 60, height: 40)
        let (width, height) = turns % 2 == 1 ? (40, 60) : (60, 40)
        let expected = try Pictures.make(width, height) { x, y, channel in
            let (x, y) = (mode == "1" ? width - 1 - x : x, mode == "0" ? height - 1 - y : y)
            // Anticlockwise: the upper right corner comes to the upper left.
            let place = [(x, y), (59 - y, x), (59 - x, 39 - y), (y, 39 - x)][turns]
            return coded[place.0, place.1][channel]
        }
        #expect(try ImageDecoder.decode(bytes).bitmap.gap(to: expected) <= 1)
        #expect((try bytes.probe().width, try bytes.probe().height) == (width, height))
    }

    @Test("A smaller size is made while rows arrive") func aSizeIsMadeWhileRowsCome() throws {
        let bytes = try AVIFTools.make(Pictures.gradient(500, 640), "-y", "420")
        let whole = try ImageDecoder.decode(bytes)
        let size = PixelSize(width: 50, height: 64)
        let small = try ImageDecoder.decode(bytes, options: .init(exactSize: size))
        #expect(small.bitmap == (try Resampler.resize(whole.bitmap, to: size)))
        #expect(try ImageDecoder.decode(bytes, options: .init(minimumSize: size)) == whole)
        let both = try bytes.withUnsafeBytes { (bytes) throws(ImagingError) in
            let sizes = [size, PixelSize(width: 100, height: 128)]
            #expect(try ImageDecoder.passes(over: bytes, options: .init(), sizes: sizes) == [[0, 1]])
            return try ImageDecoder.decode(bytes, options: .init(), sizes: sizes)
        }
        #expect(both.count == 2 && both[0] == small && both[1].width == 100)
        let fitting = try ImageDecoder.decode(bytes, options: .init(limits: .init(scaleDownBytes: 30_000)))
        #expect(fitting.cost <= 40_000 && fitting.width > 50)
    }

    @Test("An animation has all its frames") func anAnimationHasAllFrames() throws {
        let bitmaps = try (0..<5).map { step in
            try Pictures.make(90, 70, .rgba) { x, y, channel in
                channel == 3 ? 155 + step * 20 : (x + y * channel + step * 40) % 256
            }
        }
        let bytes = try AVIFTools.make(bitmaps, ["--timescale", "100", "--duration", "7", "-y", "420", "-d", "10"])
        let image = try ImageDecoder.decode(bytes)
        #expect(image.frames.count == 5 && image.loopCount == 0)
        for (index, frame) in image.frames.enumerated() {
            #expect(frame.delay == .milliseconds(70))
            #expect(try frame.bitmap.gap(to: AVIFTools.decode(bytes, frame: index)) <= 64)
        }
        let first = try ImageDecoder.decode(bytes, options: .init(firstFrameOnly: true))
        #expect(first.frames.count == 1 && first.bitmap == image.bitmap)
        let small = try ImageDecoder.decode(bytes, options: .init(exactSize: .init(width: 9, height: 7)))
        #expect(small.frames.count == 5 && small.width == 9)
        #expect(throws: ImagingError.tooManyFrames(maxFrames: 4)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxFrames: 4)))
        }
        #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxAnimationBytes: 100_000)))
        }
    }

    @Test("Every truncated file is refused") func everyTruncationIsFound() throws {
        let still = try AVIFTools.make(Pictures.gradient(200, 150, .rgba), "-y", "420")
        let moving = try AVIFTools.make([Pictures.gradient(90, 70), Pictures.flat(90, 70, [9, 99, 199])])
        for bytes in [still, moving] {
            for part in 1..<50 {
                let cut = Array(bytes.prefix(bytes.count * part / 50))
                #expect(throws: ImagingError.self, "\(part)") { try ImageDecoder.decode(cut) }
                #expect(throws: ImagingError.self, "\(part)") { try cut.checkStructure() }
            }
        }
    }

    @Test("Limits apply to AVIF") func limits() throws {
        let bytes = try AVIFTools.make(Pictures.gradient(200, 150), "-y", "444")
        func decode(_ limits: DecodeLimits) throws -> Image {
            try ImageDecoder.decode(bytes, options: .init(limits: limits))
        }
        #expect(throws: ImagingError.tooLarge(width: 200, height: 150, maxPixels: 29_999)) {
            try decode(.init(maxPixels: 29_999))
        }
        #expect(throws: ImagingError.timeLimit(.zero)) { try decode(.init(timeLimit: .zero)) }
        #expect { try decode(.init(maxMemory: 4 << 20)) } throws: { error in
            if case .memoryLimit(_, 4_194_304)? = error as? ImagingError { true } else { false }
        }
        _ = try decode(.init(maxPixels: 30_000, maxMemory: 8 << 20))
    }

    @Test("A picture larger than its boxes state is refused", arguments: [1, 100, 199])
    func wrongSize(_ width: Int) throws {
        var bytes = try AVIFTools.make(Pictures.gradient(200, 150))
        let ispe = try #require(bytes.firstRange(of: Array("ispe".utf8))).upperBound
        bytes.replaceSubrange(ispe + 4..<ispe + 8, with: Files.bigEndian(width))
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
    }

    @Test("A gain map larger than the picture hinders no decoding")
    func largerItem() throws {
        let picture = try AVIFTools.make(Pictures.gradient(64, 48), "-y", "444")
        let map = try AVIFTools.make(Pictures.gradient(200, 150), "-y", "420")
        let both = try Files.avif(items: [(64, 48, picture), (200, 150, map)])
        #expect(try ImageDecoder.decode(both).bitmap == ImageDecoder.decode(picture).bitmap)
        // What is decoded keeps to its own limit: here the map is stated to be the smaller picture.
        let lie = try Files.avif(items: [(64, 48, map), (200, 150, picture)])
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(lie) }
        #expect(throws: ImagingError.tooLarge(width: 64, height: 48, maxPixels: 3071)) {
            try ImageDecoder.decode(both, options: .init(limits: .init(maxPixels: 3071)))
        }
    }

    @Test("A still picture larger than the animation beside it hinders no decoding")
    func largerStill() throws {
        var bytes = try AVIFTools.make((0..<3).map { try Pictures.flat(64, 48, [9, 99, $0 * 70]) })
        let frames = try ImageDecoder.decode(bytes).frames.map(\.bitmap)
        let ispe = try #require(bytes.firstRange(of: Array("ispe".utf8))).upperBound
        bytes.replaceSubrange(ispe + 4..<ispe + 8, with: Files.bigEndian(640))
        #expect(try ImageDecoder.decode(bytes).frames.map(\.bitmap) == frames)
    }

    @Test("The AV1 data says what memory it takes, whatever the boxes say")
    func streams() throws {
        for (options, bytesOfFour) in [
            ("-y 420", 6), ("-y 422", 8), ("-y 444", 12), ("-y 400", 4), ("-y 420 -d 10", 12), ("-y 444 -d 12", 24),
            ("-l", 12),
            ("-y 420 --cicp 9/16/9 -d 10", 12),
        ] {
            let bytes = try AVIFTools.make(
                [Pictures.gradient(211, 97)], options.split(separator: " ").map(String.init))
            let streams = try bytes.withRaw { try AVIFStructure($0).coded }
            #expect(streams.count == 1 && streams[0].frames == 1, "\(options)")
            #expect(streams[0].pixels == (211 + 127) * (97 + 127), "\(options)")
            #expect(streams[0].bytesOfFour == bytesOfFour, "\(options)")
        }
    }

    @Test("The cells of a grid count towards the limits")
    func gridOfGiants() throws {
        var bytes = try AVIFTools.make(Pictures.gradient(1024, 1024), "--grid", "2x2", "-y", "420")
        for (size, stated) in [(1024, 128), (512, 64)] {
            let from = Files.bigEndian(size) + Files.bigEndian(size)
            while let place = bytes.firstRange(of: from) {
                bytes.replaceSubrange(place, with: Files.bigEndian(stated) + Files.bigEndian(stated))
            }
        }
        let grid = try #require(bytes.firstRange(of: [0, 0, 1, 1, 4, 0, 4, 0]))
        bytes.replaceSubrange(grid, with: [0, 0, 1, 1, 0, 128, 0, 128])
        #expect(try bytes.probe().width == 128)
        let reason = "the cells of its grid have more pixels than the limit allows"
        #expect(throws: ImagingError.corrupt(.avif, reason: reason)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxPixels: 20_000)))
        }
        #expect {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxMemory: 6 << 20)))
        } throws: { error in
            if case .memoryLimit? = error as? ImagingError { true } else { false }
        }
    }

    @Test("An animation without its brand is read as the still picture")
    func withoutBrand() throws {
        var bytes = try AVIFTools.make((0..<3).map { try Pictures.flat(64, 48, [9, 99, $0 * 70]) })
        #expect(try bytes.probe().frames == 3)
        let head = Int(bytes[3])
        while let place = bytes[..<head].firstRange(of: Array("avis".utf8)) {
            bytes.replaceSubrange(place, with: Array("mif1".utf8))
        }
        if bytes[..<head].firstRange(of: Array("avif".utf8)) == nil {
            bytes.replaceSubrange(16..<20, with: Array("avif".utf8))
        }
        #expect(try bytes.probe().frames == 1)
        #expect(try ImageDecoder.decode(bytes).frames.count == 1)
    }

    @Test("A smaller picture is scaled to the size in its boxes") func aSmallerPictureIsScaledToTheSizeOfItsBoxes()
        throws
    {
        var bytes = try AVIFTools.make(Pictures.gradient(200, 150))
        let ispe = try #require(bytes.firstRange(of: Array("ispe".utf8))).upperBound
        bytes.replaceSubrange(ispe + 4..<ispe + 8, with: Files.bigEndian(300))
        let image = try ImageDecoder.decode(bytes)
        #expect(try image.width == 300 && image.bitmap.gap(to: AVIFTools.decode(bytes)) <= 1)
    }

    @Test("Damaged pictures are refused or decoded") func damageInThePictureIsRefusedOrDecoded() throws {
        let bytes = try AVIFTools.make(Pictures.gradient(200, 150, .rgba), "-y", "420")
        for position in stride(from: 0, to: bytes.count, by: 7) {
            var damaged = bytes
            damaged[position] ^= 0x55
            guard let image = try? ImageDecoder.decode(damaged) else { continue }
            #expect(image.width > 0)
        }
    }

    @Test("Code points other than sRGB, PQ and HLG make a profile")
    func codePoints() throws {
        let bitmap = try Pictures.gradient(64, 64)
        func image(_ codePoints: String, srgb: Bool = false) throws -> Image {
            let bytes = try AVIFTools.make(bitmap, "-y", "444", "--cicp", codePoints)
            return try ImageDecoder.decode(bytes, options: .init(convertsToSRGB: srgb))
        }
        for codePoints in ["1/13/6", "2/2/2", "1/1/1", "9/16/9", "9/18/9"] {
            let image = try image(codePoints)
            let isHDR = codePoints.hasPrefix("9")
            #expect(
                image.iccProfile == nil && image.warnings == (isHDR ? [.notToneMapped(.avif)] : []), "\(codePoints)")
        }
        for codePoints in ["12/13/6", "9/14/9", "1/4/6"] {
            let wide = try image(codePoints)
            let converted = try image(codePoints, srgb: true)
            #expect(wide.iccProfile != nil && converted.iccProfile == nil, "\(codePoints)")
            #expect(try converted.bitmap.gap(to: wide.bitmap) > 8, "\(codePoints)")
        }
        for codePoints in ["9/16/9", "9/18/9"] {
            let again = try ImageEncoder.encode(image(codePoints), as: .avif)
            #expect(
                try ImageDecoder.decode(again).codePoints == image(codePoints).codePoints, "an AVIF keeps the range")
            #expect(try AVIFTools.info(again).properties["Transfer Char."] == String(codePoints.dropFirst(2).prefix(2)))
        }
        let gray = try AVIFTools.make(bitmap, "-y", "400", "--cicp", "12/13/6")
        #expect(try ImageDecoder.decode(gray).iccProfile == nil, "grey has no primaries")
    }

    @Test("Matrix coefficients that libavif cannot convert are named", arguments: [14, 16])
    func matrices(_ matrix: UInt8) throws {
        var bytes = try AVIFTools.make(Pictures.gradient(20, 10))
        let box = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("nclx".utf8)) })
        bytes[box + 9] = matrix
        let expected = ImagingError.unsupported(.avif, feature: "matrix coefficients \(matrix)")
        #expect(throws: expected) { try ImageDecoder.decode(bytes) }
        #expect(throws: expected) { try bytes.withRaw { try ImageDecoder.check($0) } }
    }

    @Test("Profile and metadata are kept") func profileAndMetadataAreCarried() throws {
        let wide = try ImageDecoder.decode(Fixture.bytes("jpeg/icc-wide-gamut.jpg"))
        let exif = Files.exif(orientation: 6)
        let xmp = Array("<x:xmpmeta tiff:Orientation=\"6\"/>".utf8)
        let bytes = try AVIFTools.make(
            [wide.bitmap], ["--exif", "%/exif", "--xmp", "%/xmp", "--irot", "0"], profile: wide.iccProfile,
            files: ["exif": exif, "xmp": xmp])
        let image = try ImageDecoder.decode(bytes)
        #expect(image.iccProfile == wide.iccProfile)
        #expect(image.metadata == ImageMetadata(uprightOf: exif, xmp))
    }
}
