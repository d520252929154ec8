import Glibc
import Support
import Testing

@testable import KFImaging

@Suite(
    "HEIC decoding",
    .enabled(
        if: EncoderTools.haveHEIC && LoadedLibrary.heic.described.problem == nil,
        "no libheif, or no heif-enc (package libheif-examples)"))
struct HEICDecodingTests {
    private func heic(_ format: PixelFormat = .rgb) throws -> [UInt8] {
        let image = Image(try Pictures.gradient(131, 90, format))
        return try EncoderTools.make(image, "out.heic", "heif-enc", "$in", "-q", "95", "-o", "$out")
    }

    @Test("Pixels are those of heif-convert", arguments: [PixelFormat.rgb, .rgba, .gray, PixelFormat(.rgb, .sixteen)])
    func pixels(_ format: PixelFormat) throws {
        let bytes = try heic(format)
        let (info, picture) = (try bytes.probe(), try ImageDecoder.decode(bytes).bitmap)
        try bytes.checkStructure()
        #expect((picture.width, picture.height) == (info.width, info.height))
        #expect(picture.format.hasAlpha == format.hasAlpha && info.hasAlpha == format.hasAlpha)
        #expect((picture.format.depth == .sixteen) == (info.bitDepth > 8))
        let reference = try EncoderTools.decode(bytes, "in.heic", "heif-convert")
        #expect(try picture.reducedToEightBits().gap(to: reference.reducedToEightBits()) <= 2)
    }

    @Test("The limits hold before libheif is called")
    func limits() throws {
        let bytes = try heic()
        #expect(throws: ImagingError.tooLarge(width: 131, height: 90, maxPixels: 11_789)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxPixels: 11_789)))
        }
        let error = #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(maxMemory: 1 << 20)))
        }
        if case .memoryLimit = error {} else { Issue.record("\(String(describing: error))") }
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try ImageDecoder.decode(bytes, options: .init(limits: .init(timeLimit: .zero)))
        }
    }

    @Test("Memory that decoding alone takes is given back before pixels are made")
    func memory() throws {
        let image = Image(try Pictures.gradient(640, 480, PixelFormat(.rgb, .sixteen)))
        let bytes = try EncoderTools.make(image, "out.heic", "heif-enc", "$in", "-q", "50", "-o", "$out")
        let held = try bytes.withRaw { (bytes) throws(ImagingError) in try HEICStructure(bytes).libraryBytes }
        let limit = held.decoded + image.bitmap.byteCount + 200_000
        #expect(limit < held.decoding + image.bitmap.byteCount && limit > held.decoding)
        #expect(try ImageDecoder.decode(bytes, options: .init(limits: .init(maxMemory: limit))).width == 640)
    }

    @Test("A missing end is found before anything is stored")
    func truncation() throws {
        let bytes = try heic()
        for length in [40, 300, bytes.count - 1] {
            #expect(throws: ImagingError.truncated(.heic)) { try Array(bytes.prefix(length)).checkStructure() }
        }
    }

    /// A sequence of nothing, as `Files.avis` makes one of AV1.
    private func sequence() throws -> [UInt8] {
        let text = Files.avis(131, 90, frames: 3).map { Character(UnicodeScalar($0)) }
        let renamed = [("avisavifmsf1", "hevcmsf1hevx"), ("avis", "msf1"), ("av01", "hvc1"), ("av1C", "hvcC")]
            .reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
        return try renamed.unicodeScalars.map { try #require(UInt8(exactly: $0.value)) }
    }

    @Test("The still picture of a sequence is read, with a warning")
    func stillOfSequence() throws {
        let sequence = try sequence()
        let moov = try #require(sequence.firstRange(of: Array("moov".utf8))).lowerBound - 4
        let data = try #require(sequence.firstRange(of: Array("mdat".utf8))).lowerBound - 4
        let still = try heic()
        let bytes = still + sequence[moov..<data]
        try bytes.checkStructure()
        let image = try ImageDecoder.decode(bytes)
        #expect(try image.bitmap == ImageDecoder.decode(still).bitmap && !image.isAnimated)
        #expect(image.warnings == [.picturesLost(count: 3, .heic)])
        #expect(image.warnings[0].message == "the HEIC has 3 pictures; only the first is read")
    }

    @Test("A sequence without a still picture is refused by name")
    func sequenceAlone() throws {
        let bytes = try sequence()
        try bytes.checkStructure()
        let info = try bytes.probe()
        #expect(info.format == .heic && (info.width, info.height) == (131, 90))
        let error = #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
        #expect(error?.message.hasPrefix("HEIC with a sequence of pictures and no still one") == true)
    }

    /// Sides that are no multiple of a box, and detail that averages could fold.
    @Test("A small size comes from averages of boxes", arguments: [false, true])
    func averages(isDeep: Bool) throws {
        let picture = try Pictures.make(643, 481, PixelFormat(.rgb, isDeep ? .sixteen : .eight)) { x, y, channel in
            let distance = Double((x - 320) * (x - 320) + (y - 240) * (y - 240))
            let ring: Double = 0.5 + 0.4 * cos(distance * Double.pi / 1200)
            let shade: Double = [Double(x) / 643, Double(y) / 481, 0.5][channel]
            return Int(clamping: (ring + shade) / 2 * (isDeep ? 65_535 : 255))
        }
        let bytes = try EncoderTools.make(Image(picture), "out.heic", "heif-enc", "$in", "-q", "90", "-o", "$out")
        let whole = try ImageDecoder.decode(bytes).bitmap
        let sizes = [(20, 15), (53, 40), (80, 60), (100, 75)].map { PixelSize(width: $0.0, height: $0.1) }
        let together = try bytes.withRaw { (bytes) throws(ImagingError) in
            try ImageDecoder.decode(bytes, options: .init(), sizes: sizes)
        }
        for (size, image) in zip(sizes, together) {
            let small = try ImageDecoder.decode(bytes, options: DecodeOptions(exactSize: size)).bitmap
            let expected = try Resampler.resize(whole, to: size)
            #expect(small == image.bitmap && small.format == whole.format)
            #expect(try small.reducedToEightBits().psnr(to: expected.reducedToEightBits()) >= 45, "\(size)")
        }
    }

    @Test("A small size is resampled from the rows")
    func small() throws {
        let bytes = try heic()
        let whole = try ImageDecoder.decode(bytes).bitmap
        let size = PixelSize(width: 20, height: 14)
        let small = try ImageDecoder.decode(bytes, options: DecodeOptions(exactSize: size)).bitmap
        #expect(try small.gap(to: Resampler.resize(whole, to: size)) <= 1)
    }
}
