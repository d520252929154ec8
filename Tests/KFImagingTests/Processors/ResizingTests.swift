import Testing

@testable import KFImaging

@Suite("Resizing")
struct ResizingTests {
    private func target(_ spec: String, _ width: Int, _ height: Int) throws -> [Int] {
        let processor = try #require(try ProcessorParser.parse(spec) as? ResizingImageProcessor)
        let size = processor.targetSize(width: width, height: height)
        return [size.width, size.height]
    }

    @Test("Each mode has its target size") func sizes() throws {
        #expect(try target("resize:100x50,fill", 64, 64) == [100, 100])
        #expect(try target("resize:100x50,fit", 64, 64) == [50, 50])
        #expect(try target("resize:100x50", 64, 64) == [100, 50])
        #expect(try target("resize:100x", 64, 32) == [100, 50])
        #expect(try target("resize:x100", 64, 32) == [200, 100])
        #expect(try target("resize:1x1,fit", 1000, 1) == [1, 1])
        #expect(try target("resize:320x240,fit", 4000, 3000) == [320, 240])
        #expect(try target("resize:320x240,fit", 3000, 4000) == [180, 240])
        #expect(try target("resize:33x,fit", 1000, 1) == [33, 1])
    }

    @Test("A flat picture stays flat") func flat() throws {
        for samples in [[77], [77, 200], [10, 128, 250], [10, 128, 250, 130]] {
            let bitmap = try Pictures.flat(37, 23, samples)
            for (width, height) in [(11, 7), (91, 50), (37, 10), (5, 23), (1, 1)] {
                let resized = try Resampler.resize(bitmap, to: PixelSize(width: width, height: height))
                #expect(resized == (try Pictures.flat(width, height, samples)), "\(width)×\(height)")
            }
        }
    }

    @Test("Transparent pixels lend no colour") func transparent() throws {
        // Red beside transparent green: the edge must fade, not turn yellow.
        let bitmap = try Pictures.make(64, 64, .rgba) { x, _, channel in
            x < 32 ? [255, 0, 0, 255][channel] : [0, 255, 0, 0][channel]
        }
        let small = try Resampler.resize(bitmap, to: PixelSize(width: 9, height: 9))
        for x in 0..<9 where small[x, 4][3] > 0 { #expect(small[x, 4][0] == 255 && small[x, 4][1] == 0) }
    }

    @Test("Samples of 16 bits survive") func sixteenBits() throws {
        let bitmap = try Pictures.make(40, 40, PixelFormat(.rgb, .sixteen)) { _, _, channel in 1000 + channel }
        let small = try Resampler.resize(bitmap, to: PixelSize(width: 13, height: 7))
        #expect(small.format == PixelFormat(.rgb, .sixteen))
        #expect(small[6, 3] == [1000, 1001, 1002])
    }

    @Test("A JPEG decoded at a reduced size looks the same", arguments: ["resize:100x100,fit", "downsample:100x100"])
    func reduced(_ spec: String) throws {
        let image = Image(try Pictures.gradient(803, 599))
        let bytes = try ImageEncoder.encode(image, as: .jpeg, options: .init(quality: 95))
        let processor = try ProcessorParser.parse(spec)
        let fromData = try processor.process(.data(bytes), options: .init())
        let fromImage = try processor.process(.image(ImageDecoder.decode(bytes)), options: .init())
        #expect((fromData.width, fromData.height) == (100, 75))
        #expect(fromData.bitmap.distance(to: fromImage.bitmap) <= 4)
    }

    @Test("Absurdly large results are refused") func limit() throws {
        let image = Image(try Pictures.flat(1000, 1, [1]))
        let processor = try ProcessorParser.parse("resize:x60000")
        #expect(throws: ImagingError.tooLarge(width: 60_000_000, height: 60_000, maxPixels: 100_000_000)) {
            try processor.process(.image(image), options: .init())
        }
    }
}
