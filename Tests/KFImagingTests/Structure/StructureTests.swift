import Testing

@testable import KFImaging

@Suite("Truncation is found without decoding")
struct StructureTests {
    private func files() throws -> [(String, [UInt8])] {
        let image = Image(try Pictures.gradient(40, 30))
        let frame = Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: 1, count: 16))
        return [
            ("png", try ImageEncoder.encode(image, as: .png)),
            ("jpeg", try ImageEncoder.encode(image, as: .jpeg)),
            ("progressive", try ImageEncoder.encode(image, as: .jpeg, options: .init(progressive: true))),
            ("gif", Files.gif(4, 4, [frame, frame], loops: 0)),
        ]
    }

    @Test func wholeFilesPass() throws {
        for (_, bytes) in try files() { _ = try bytes.withRaw { try ImageProbe.checkStructure($0) } }
    }

    /// Except for files that lack only the end marker: a PNG's end chunk of 12 bytes, a GIF's trailer. A GIF that ends
    /// behind a frame may lack further frames, which no check can tell.
    @Test func everyPrefixIsRefusedByTheCheckAndByTheDecoder() throws {
        for (name, bytes) in try files() {
            let frame = bytes.firstRange(of: [0x21, 0xF9]).map { bytes[($0.upperBound)...] } ?? []
            let second = frame.firstRange(of: [0x21, 0xF9])?.lowerBound ?? 0
            let wholes = ["png": Array(bytes.count - 12..<bytes.count), "gif": [second, second + 8, bytes.count - 1]]
            for length in 0..<bytes.count where wholes[name]?.contains(length) != true {
                let prefix = Array(bytes[..<length])
                #expect(throws: ImagingError.self, "\(name) \(length)") {
                    try prefix.withRaw { try ImageProbe.checkStructure($0) }
                }
                #expect(throws: ImagingError.self, "\(name) \(length)") { try ImageDecoder.decode(prefix) }
            }
        }
    }

    @Test func bytesBehindTheEndAreLetBe() throws {
        for (_, bytes) in try files() {
            let longer = bytes + Array("appended".utf8)
            _ = try longer.withRaw { try ImageProbe.checkStructure($0) }
            _ = try ImageDecoder.decode(longer)
        }
    }

    @Test func aFlippedBitInAPNGIsAWrongChecksum() throws {
        var bytes = try ImageEncoder.encode(Image(Pictures.gradient(40, 30)), as: .png)
        bytes[bytes.count - 20] ^= 1
        #expect(throws: ImagingError.corrupt(.png, reason: "a wrong checksum")) {
            try bytes.withRaw { try ImageProbe.checkStructure($0) }
        }
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
    }

    @Test func theProbeReadsTheHeaderAlone() throws {
        let image = Image(try Pictures.gradient(40, 30))
        let jpeg = Files.jpeg(try ImageEncoder.encode(image, as: .jpeg), exif: Files.exif(orientation: 6))
        let info = try Array(jpeg.prefix(700)).withRaw { try ImageProbe.probe($0) }
        #expect(info == ImageInfo(format: .jpeg, width: 30, height: 40, orientation: 6))
        let png = try ImageEncoder.encode(Image(Pictures.gradient(5, 7, PixelFormat(.rgba, .sixteen))), as: .png)
        let header = try Array(png.prefix(60)).withRaw { try ImageProbe.probe($0) }
        #expect(header == ImageInfo(format: .png, width: 5, height: 7, hasAlpha: true, bitDepth: 16))
        let frame = Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: 1, count: 16), transparent: 0)
        let gif = try Files.gif(4, 4, [frame, frame, frame]).withRaw { try ImageProbe.probe($0) }
        #expect(
            gif
                == ImageInfo(
                    format: .gif, width: 4, height: 4, frames: 3, hasAlpha: true, colorModel: .indexed, bitDepth: 2))
    }

    @Test func formatsThatAreOnlyRecognisedAreNamed() {
        let svg = Array("<svg/>".utf8)
        #expect(throws: ImagingError.unsupported(.svg, feature: "decoding")) { try ImageDecoder.decode(svg) }
        #expect(throws: ImagingError.notAnImage(.html)) { try ImageDecoder.decode(Array("<html>".utf8)) }
        #expect(throws: Never.self) { try svg.withRaw { try ImageProbe.checkStructure($0) } }
    }
}
