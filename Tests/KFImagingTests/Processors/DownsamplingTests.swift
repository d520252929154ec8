import Testing

@testable import KFImaging

@Suite("Downsampling")
struct DownsamplingTests {
    private func target(_ spec: String, _ width: Int, _ height: Int, scale: Double = 1) throws -> [Int] {
        let processor = try #require(try ProcessorParser.parse(spec) as? DownsamplingImageProcessor)
        let size = processor.targetSize(width: width, height: height, scaleFactor: scale)
        return [size.width, size.height]
    }

    @Test("64×64: downsample(15,15) → 15×15, (20,40) → 40×40, (100,100) → 64×64, and others")
    func theLongestSideBecomesTheLongerOne() throws {
        #expect(try target("downsample:15x15", 64, 64) == [15, 15])
        #expect(try target("downsample:20x40", 64, 64) == [40, 40])
        #expect(try target("downsample:100x100", 64, 64) == [64, 64])
        #expect(try target("downsample:20x40", 400, 300) == [40, 30])
        #expect(try target("downsample:20x40", 300, 400) == [30, 40])
        #expect(try target("downsample:20x", 1000, 1) == [20, 1])
        #expect(try target("downsample:20x40", 400, 300, scale: 2) == [80, 60])
    }

    @Test func aJPEGIsDecodedSmaller() throws {
        let bytes = try ImageEncoder.encode(
            Image(Pictures.gradient(803, 599)), as: .jpeg, options: .init(quality: 95))
        let processor = try ProcessorParser.parse("downsample:100x100")
        let fromData = try processor.process(.data(bytes), options: .init())
        let fromImage = try processor.process(.image(ImageDecoder.decode(bytes)), options: .init())
        #expect((fromData.width, fromData.height) == (100, 75))
        #expect(fromData.bitmap.distance(to: fromImage.bitmap) <= 4)
        let large = try ProcessorParser.parse("downsample:1000x9000").process(.data(bytes), options: .init())
        #expect((large.width, large.height) == (803, 599))
    }
}
