import Foundation
import KFImaging
import KFTerms
import Support
import Testing

@Suite("Placeholders of images")
struct ImagePlaceholderTests {
    @Test(
        "ThumbHashes equal those of the reference in every byte",
        .enabled(if: Corpora.has("placeholders"), "\(Corpora.absence)"))
    func thumbHash() throws {
        let folder = Corpora.url.appendingPathComponent("placeholders")
        let table = try String(contentsOf: folder.appendingPathComponent("expected.tsv"), encoding: .utf8)
        var count = 0
        for line in table.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: "\t")
            let file = [UInt8](try Data(contentsOf: folder.appendingPathComponent(String(fields[0]))))
            let image = try ImageDecoder.decode(file)
            #expect(try ImagePlaceholder.thumbhash.value(of: image) == fields[3], "\(fields[0])")
            count += 1
        }
        #expect(count >= 6)
    }

    private func picture(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> [UInt8]) throws -> Image {
        var bitmap = try Bitmap(width: width, height: height, format: .rgba)
        try bitmap.withUnsafeMutableRows { (rows) throws(ImagingError) in
            for place in 0..<width * height {
                for (channel, sample) in pixel(place % width, place / width).enumerated() {
                    rows.row(place / width)[place % width * 4 + channel] = sample
                }
            }
        }
        return Image(bitmap)
    }

    @Test("The colour is the average in linear light")
    func color() throws {
        // Half black and half white is a half of the light: 0.5 is 188 of 255.
        let board = try picture(40, 30) { x, y in [UInt8](repeating: (x + y) % 2 == 0 ? 0 : 255, count: 3) + [255] }
        #expect(try ImagePlaceholder.color.value(of: board) == "#bcbcbc")
        let seen = try picture(10, 10) { x, _ in x < 5 ? [10, 20, 30, 255] : [250, 240, 230, 0] }
        #expect(try ImagePlaceholder.color.value(of: seen) == "#0a141e")
        let clear = try picture(3, 3) { _, _ in [9, 9, 9, 0] }
        #expect(try ImagePlaceholder.color.value(of: clear) == "#000000")
    }

    @Test("A placeholder is read from its own file alone")
    func file() throws {
        let image = try picture(300, 200) { x, y in [UInt8(x / 2), UInt8(y), 90, 255] }
        for kind in ImagePlaceholder.allCases {
            let serializer = PlaceholderSerializer(kind)
            let (bytes, format) = try serializer.data(for: image, original: .jpeg)
            #expect(format == .png && bytes.count < 300)
            #expect(try PlaceholderSerializer.value(in: bytes) == kind.value(of: image))
            #expect(try ImageDecoder.decode(bytes).width == 1)
        }
        for text in ["", "placeholder=", "placeholder=\"<script>\"", String(repeating: "placeholder=\"a\"", count: 99)]
        {
            #expect(PlaceholderSerializer.value(in: Array(text.utf8)) == nil)
        }
    }
}
