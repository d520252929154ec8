import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("Crops that look for content")
struct SmartCropTests {
    @Test(
        "The box of attention is that of libvips on nine of ten photos",
        .enabled(if: Corpora.has("photos"), "\(Corpora.absence)"))
    func libvips() throws {
        let lines = try ReferenceTable.lines("attention.tsv")
        var (alike, photo, bitmap) = (0, Substring(), try Bitmap(width: 1, height: 1, format: .rgb))
        for line in lines {
            let numbers = line.dropFirst().compactMap { Double($0) }
            if line[0] != photo {
                photo = line[0]
                let file = Corpora.url.appendingPathComponent("photos/\(photo)")
                bitmap = try ImageDecoder.decode([UInt8](Data(contentsOf: file))).bitmap
            }
            let size = PixelSize(width: Int(clamping: numbers[0]), height: Int(clamping: numbers[1]))
            let box = try Attention.rectangle(size, in: bitmap)
            #expect(box.size == size)
            let apart = (
                abs(Double(box.x) - numbers[2]) / Double(bitmap.width),
                abs(Double(box.y) - numbers[3]) / Double(bitmap.height)
            )
            if max(apart.0, apart.1) <= 0.05 { alike += 1 }
        }
        print("the box of libvips: \(alike) of \(lines.count)")
        #expect(lines.count == 64 && Double(alike) >= 0.9 * Double(lines.count), "\(alike) of \(lines.count)")
    }

    /// A flat picture with a chequered square.
    private func picture(_ left: Int, _ top: Int, _ format: PixelFormat = .rgb) throws -> Bitmap {
        try Pictures.make(120, 80, format) { x, y, channel in
            if channel == format.channelCount - 1, format.hasAlpha { return 255 }
            let isInside = (left..<left + 24).contains(x) && (top..<top + 24).contains(y)
            return isInside ? ((x / 6 + y / 6) % 2 == 0 ? 255 : 40) : 128
        }
    }

    @Test(
        "Both rules find the part with detail", arguments: [PixelFormat.gray, .grayAlpha, .rgb, .rgba],
        [(0, 0), (90, 50)])
    func detail(_ format: PixelFormat, _ place: (Int, Int)) throws {
        for interest in CroppingImageProcessor.Interest.allCases {
            let crop = CroppingImageProcessor(width: 40, height: 40, anchor: .init(interest))
            let bitmap = try picture(place.0, place.1, format)
            let result = try crop.process(.image(Image(bitmap)), options: .init()).bitmap
            #expect(result.size == PixelSize(width: 40, height: 40) && result.format == format)
            let bright = (0..<1600).count { result[$0 % 40, $0 / 40][0] == 255 }
            #expect(bright >= 200, "\(interest): \(bright)")
        }
    }

    @Test("All frames of an animation are cropped alike")
    func animation() throws {
        let frames = [try picture(90, 50), try picture(0, 0)].map { ImageFrame(bitmap: $0, delay: .seconds(1)) }
        let image = try #require(Image(frames: frames))
        for interest in CroppingImageProcessor.Interest.allCases {
            let processor = CroppingImageProcessor(width: 40, height: 40, anchor: .init(interest))
            let whole = try processor.process(.image(image), options: .init())
            let first = try processor.process(.image(image.firstFrame), options: .init())
            #expect(whole.frames.count == 2 && whole.bitmap == first.bitmap)
            // The detail of the second frame is elsewhere, and cut off.
            let second = whole.frames[1].bitmap
            #expect((0..<1600).allSatisfy { second[$0 % 40, $0 / 40] == [128, 128, 128] })
        }
    }

    @Test("Cover fills exactly the size, and shrink never enlarges")
    func cover() throws {
        for (width, height) in [(33, 50), (50, 33), (1, 70), (64, 64), (301, 7)] {
            let image = Image(try Pictures.gradient(width, height))
            for spec in ["20x30", "31x17", "7x7", "200x3"] {
                let covering = try ProcessorParser.parse("resize:\(spec),cover")
                let sides = spec.split(separator: "x").compactMap { Int($0) }
                let result = try covering.process(.image(image), options: .init())
                #expect([result.width, result.height] == sides, "\(width)x\(height) \(spec)")
                let shrinking = try ProcessorParser.parse("resize:\(spec),cover,shrink")
                let kept = try shrinking.process(.image(image), options: .init())
                #expect(kept.width <= min(width, sides[0]) && kept.height <= min(height, sides[1]))
            }
        }
        let processor = ResizingImageProcessor.covering(width: 20, height: 30, anchor: .init(x: 1, y: 0))
        #expect(try processor.identifier == ProcessorParser.parse("resize:20x30,cover,anchor=top-right").identifier)
    }
}
