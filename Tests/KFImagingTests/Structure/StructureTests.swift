import Testing

@testable import KFImaging

@Suite("Structure checks")
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

    /// Except for files that lack only the end marker: a PNG's end chunk of 12 bytes, a GIF's trailer. A GIF that ends
    /// behind a frame may lack further frames, which no check can tell.
    @Test("Every truncated file is refused") func prefixes() throws {
        for (name, bytes) in try files() {
            let frame = bytes.firstRange(of: [0x21, 0xF9]).map { bytes[($0.upperBound)...] } ?? []
            let second = frame.firstRange(of: [0x21, 0xF9])?.lowerBound ?? 0
            let wholes = ["png": Array(bytes.count - 12..<bytes.count), "gif": [second, second + 8, bytes.count - 1]]
            for length in 0..<bytes.count where wholes[name]?.contains(length) != true {
                let prefix = Array(bytes[..<length])
                #expect(throws: ImagingError.self, "\(name) \(length)") {
                    try prefix.checkStructure()
                }
                #expect(throws: ImagingError.self, "\(name) \(length)") { try ImageDecoder.decode(prefix) }
            }
        }
    }

    @Test("Bytes after the end are ignored") func appended() throws {
        for (_, bytes) in try files() {
            let longer = bytes + Array("appended".utf8)
            _ = try longer.checkStructure()
            _ = try ImageDecoder.decode(longer)
        }
    }

    @Test("The probe reads only the header") func probe() throws {
        let image = Image(try Pictures.gradient(40, 30))
        let jpeg = Files.jpeg(try ImageEncoder.encode(image, as: .jpeg), exif: Files.exif(orientation: 6))
        let info = try Array(jpeg.prefix(700)).probe()
        #expect(info == ImageInfo(format: .jpeg, width: 30, height: 40, orientation: 6))
        let png = try ImageEncoder.encode(Image(Pictures.gradient(5, 7, PixelFormat(.rgba, .sixteen))), as: .png)
        let header = try Array(png.prefix(60)).probe()
        #expect(header == ImageInfo(format: .png, width: 5, height: 7, hasAlpha: true, bitDepth: 16))
        let frame = Files.GIFFrame(width: 4, height: 4, indexes: [UInt8](repeating: 1, count: 16), transparent: 0)
        let gif = try Files.gif(4, 4, [frame, frame, frame]).probe()
        #expect(
            gif
                == ImageInfo(
                    format: .gif, width: 4, height: 4, frames: 3, hasAlpha: true, colorModel: .indexed, bitDepth: 2))
    }

    @Test("A format that is only recognised is named")
    func recognised() {
        let (bytes, format) = (Array("<svg/>".utf8), ImageFormat.svg)
        let error = #expect(throws: ImagingError.unsupported(format, feature: "decoding")) {
            try ImageDecoder.decode(bytes)
        }
        #expect(error?.message.hasPrefix("decoding ") == true)
        #expect(throws: Never.self) { try bytes.checkStructure() }
        #expect(throws: ImagingError.notAnImage(.html)) { try ImageDecoder.decode(Array("<html>".utf8)) }
    }
}
