/// The smallest PNG: a black pixel, which carries a text.
package enum PixelFile {
    private static let start: [UInt8] = [
        0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1,
        8, 0,
        0, 0, 0, 0x3A, 0x7E, 0x9B, 0x55,
    ]
    private static let end: [UInt8] = [
        0, 0, 0, 0x0A, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9C, 0x63, 0x60, 0, 0, 0, 2, 0, 1, 0x48, 0xAF, 0xA4, 0x71, 0, 0,
        0, 0,
        0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82,
    ]
    /// The name and the form of a chunk of text that is not compressed and of no language.
    private static let text = Array("iTXtXML:com.adobe.xmp\0\0\0\0\0".utf8)

    /// Returns whether a file begins as a PNG.
    package static func isPNG(_ file: [UInt8]) -> Bool { file.starts(with: start.prefix(8)) }

    /// Returns a file with this XMP. An encoder would spend more on its state than on the pixel.
    package static func png(xmp: [UInt8]) -> [UInt8] { start + MetadataRemoval.pngChunk(text + xmp) + end }
}
