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

    @Test("A missing end is found before anything is stored")
    func truncation() throws {
        let bytes = try heic()
        for length in [40, 300, bytes.count - 1] {
            #expect(throws: ImagingError.truncated(.heic)) { try Array(bytes.prefix(length)).checkStructure() }
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
