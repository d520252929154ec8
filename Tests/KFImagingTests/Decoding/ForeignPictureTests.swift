import Support
import Testing

@testable import KFImaging

/// The pictures of other projects beside their manifests, which say what Pillow makes of each.
@Suite("Pictures of formats that are only read")
struct ForeignPictureTests {
    struct Row {
        let name, said, digest, mean: String
    }

    /// The pictures of which kf makes something else than Pillow, and why. Debian's own programs read each as kf does,
    /// unless it says otherwise.
    private static let otherwise: [String: String] = [
        "5028e6-conformance-input.jxl": "premultiplied, which Pillow keeps, and djxl refuses to write",
        "6df934-conformance-input.jxl": "read differently by newer versions of libjxl",
        "d732c8-conformance-input.jxl": "CMYK, whose black Pillow and djxl leave out",
        "e223fe-conformance-input.jxl": "turned, which Pillow is not",
        "kimageformats-framenumbers.jxl": "an animation of which newer versions of libjxl show another first frame",
        "kimageformats-Format_Grayscale16.jxl": "grey of 16 bits, clipped",
        "kimageformats-testcard_gray16.jxl": "grey of 16 bits, clipped",
        "ImageMagick-input_gray_16bit.tiff": "grey of 16 bits, clipped",
        "image-video-001-gray-16bit.tiff": "grey of 16 bits, clipped",
        "commons-imaging-IndexColorPaletteTiled.tif": "a palette that is rounded up",
        "metadata-extractor-images-m5-f0d7bcb90496c323c880a9773dfe93ff.tif": "a strip behind the end of the file",
        "metadata-extractor-images-BigTIFFMotorola.tif": "read by libtiff and refused by Pillow",
    ]

    private func rows(_ folder: String) throws -> [Row] {
        let text = String(decoding: try Corpus(folder).bytes("MANIFEST.tsv"), as: UTF8.self)
        return text.split(separator: "\n").dropFirst().map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init).suffix(3)
            return Row(
                name: String(line.prefix { $0 != "\t" }), said: fields[fields.startIndex],
                digest: fields[fields.startIndex + 1], mean: fields[fields.startIndex + 2])
        }
    }

    /// The average of each channel of RGBA with 8 bits.
    private func mean(_ picture: Bitmap) -> [Double] {
        picture.withUnsafeRows { rows in
            var sums = [0, 0, 0, 0]
            for y in 0..<rows.height {
                for index in 0..<rows.width * 4 { sums[index & 3] += Int(rows.row(y)[index]) }
            }
            return sums.map { Double($0) / Double(rows.width * rows.height) }
        }
    }

    @Test("Each is read as Pillow reads it, or refused as there", arguments: ["heic", "jxl", "tiff"])
    func corpus(_ folder: String) throws {
        guard Corpora.has(folder) else { return }
        for row in try rows(folder) where Self.otherwise[row.name] == nil {
            let bytes = try Corpus(folder).bytes(row.name)
            guard row.digest != "-" else {
                #expect(throws: ImagingError.self, "\(row.name)") { try ImageDecoder.decode(bytes) }
                continue
            }
            // One has 50 million pixels of 10 bits in 148 KiB.
            let options = DecodeOptions(limits: .init(maxMemory: 2 << 30), firstFrameOnly: true)
            let picture = try ImageDecoder.decode(bytes, options: options).bitmap
            #expect(row.said.contains(" \(picture.width)x\(picture.height) "), "\(row.name)")
            let means = try mean(picture.expanded(to: .rgba))
            for (channel, value) in means.enumerated() {
                let stated = Int(row.mean.dropFirst(channel * 2).prefix(2), radix: 16) ?? -9
                #expect(abs(value - Double(stated)) <= 1.5, "\(row.name): \(means), not \(row.mean)")
            }
        }
    }
}
