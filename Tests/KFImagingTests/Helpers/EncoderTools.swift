import Foundation
import Support

@testable import KFImaging

/// The programs of libheif and libjxl, which make files and read them again.
enum EncoderTools {
    static let haveHEIC = Reference.isThere("heif-enc") && Reference.isThere("heif-convert")
    static let haveJXL = Reference.isThere("cjxl") && Reference.isThere("djxl")

    /// Encodes an image, which a file of `format` brings to the program. `$out` and `$in` stand for the two files.
    static func make(
        _ image: Image, as format: ImageFormat = .png, _ name: String, _ program: String, _ arguments: String...
    ) throws -> [UInt8] {
        try convert(ImageEncoder.encode(image, as: format), "in.\(format.fileExtension)", name, program, arguments)
    }

    /// Decodes a file to a PNG.
    static func decode(_ bytes: [UInt8], _ name: String, _ program: String) throws -> Bitmap {
        try ImageDecoder.decode(convert(bytes, name, "out.png", program, ["$in", "$out"])).bitmap
    }

    private static func convert(
        _ bytes: [UInt8], _ input: String, _ output: String, _ program: String, _ arguments: [String]
    ) throws -> [UInt8] {
        let folder = try TemporaryDirectory()
        try folder.write(input, Data(bytes))
        let places = ["$in": folder.path(input).path, "$out": folder.path(output).path]
        try Reference.succeed(program, arguments.map { places[$0] ?? $0 })
        return try Array(Data(contentsOf: folder.path(output)))
    }
}
