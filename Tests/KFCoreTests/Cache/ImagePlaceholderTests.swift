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

    @Test("A description is read from its own file alone")
    func file() throws {
        let image = try picture(300, 200) { x, y in [UInt8(x * 7 % 256), UInt8(y), 90, 255] }
        let pixel = try DescribingImageProcessor(.thumbhash).process(.image(image), options: .init())
        let (bytes, format) = try DescriptionSerializer().data(for: pixel, original: .jpeg)
        #expect(format == .png && bytes.count < 400)
        let values = try #require(DescriptionSerializer.description(in: bytes))
        let described = try ImageDescription(of: image)
        #expect(values.dhash == described.dhash && values.thumbhash == described.thumbhash)
        #expect(values.figures?.entropy == described.entropy && values.figures?.mean == described.mean)
        #expect(values.figures?.sharpness == described.sharpness && values.pixels?.color == described.color)
        #expect(values.pixels?.isTransparent == described.isTransparent)
        #expect(try ImageDecoder.decode(bytes).width == 1)
        func description(_ text: String) -> DescribedValues? {
            DescriptionSerializer.description(in: Array(bytes.prefix(8)) + Array(text.utf8))
        }
        let whole = "description=\"00ff00ff00ff00ff 1.5 2.5 3.5 false #aabbcc AAAA\""
        #expect(description(whole)?.thumbhash == "AAAA")
        let hash = "description=\"00ff00ff00ff00ff\""
        #expect(description(hash)?.dhash == 0x00ff_00ff_00ff_00ff)
        for text in [
            "", "description=", "description=\"<script>\"", whole.replacing("2.5", with: "nan"),
            whole.replacing("AAAA", with: "<b>"), whole.replacing(" AAAA", with: " AAAA AAAA"),
            hash.replacing("ff\"", with: "ff 1.5\""), whole.replacing("#aabbcc", with: "\\\""),
            String(repeating: whole, count: 30),
        ] {
            #expect(description(text) == nil, "\(text)")
        }
        #expect(DescriptionSerializer.description(in: Array("<svg \(hash)/>".utf8)) == nil, "a copied file")
    }

    @Test(
        "A hash of few pixels is nearly that of all pixels",
        .enabled(if: Corpora.has("photos"), "\(Corpora.absence)"))
    func hashes() throws {
        let files = Corpora.files("photos").filter { $0.path.hasSuffix("g") }
        var (near, compared) = (0, 0)
        for file in files {
            let photo = try ImageDecoder.decode([UInt8](try Data(contentsOf: file)))
            for side in [2048, 640, 200, 64] {
                let small = try DownsamplingImageProcessor(width: Double(side), height: Double(side))
                    .process(.image(photo), options: .init())
                let bytes = try ImageEncoder.encode(small, as: .jpeg)
                let hashes = try [DescriptionLevel.dhash, .luma, .color].map { level in
                    let pixel = try DescribingImageProcessor(level).process(.data(bytes), options: .init())
                    let file = try DescriptionSerializer().data(for: pixel, original: .jpeg).bytes
                    return try #require(DescriptionSerializer.description(in: file)).dhash
                }
                let whole = try ImageDescription(of: ImageDecoder.decode(bytes)).dhash
                #expect(hashes[2] == whole)
                for hash in hashes.prefix(2) {
                    compared += 1
                    let distance = (hash ^ whole).nonzeroBitCount
                    #expect(distance <= 5, "\(file.lastPathComponent)")
                    if distance <= 2 { near += 1 }
                }
            }
        }
        #expect(compared > 20)
        #expect(Double(near) >= 0.9 * Double(compared), "\(near) of \(compared)")
    }

    @Test("Measures follow their definitions")
    func measures() throws {
        // Steps of one level from left to right, and a single bright pixel.
        let slope = try ImageDescription(of: picture(9, 8) { x, _ in [UInt8(x), UInt8(x), UInt8(x), 255] })
        #expect(slope.dhash == .max && slope.mean == 4 && slope.entropy == 3.1699 && !slope.isTransparent)
        let dot = try ImageDescription(
            of: picture(3, 3) { x, y in [UInt8](repeating: x == 1 && y == 1 ? 9 : 0, count: 3) + [255] })
        // Of the nine values, the middle one is -36 and its four neighbours are 18: the border is reflected.
        #expect(dot.sharpness == 272 && dot.mean == 1)
        let clear = try ImageDescription(of: picture(20, 20) { _, _ in [255, 255, 255, 0] })
        #expect(clear.dhash == 0 && clear.mean == 128 && clear.entropy == 0 && clear.isTransparent)
    }
}
