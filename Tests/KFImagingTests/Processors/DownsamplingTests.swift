import Testing

@testable import KFImaging

@Suite("Downsampling")
struct DownsamplingTests {
    private func target(_ spec: String, _ width: Int, _ height: Int, scale: Double = 1) throws -> [Int] {
        let processor = try #require(try ProcessorParser.parse(spec) as? DownsamplingImageProcessor)
        let size = processor.targetSize(width: width, height: height, scaleFactor: scale)
        return [size.width, size.height]
    }

    @Test("The longest side fits into the longer limit") func sizes() throws {
        #expect(try target("downsample:15x15", 64, 64) == [15, 15])
        #expect(try target("downsample:20x40", 64, 64) == [40, 40])
        #expect(try target("downsample:100x100", 64, 64) == [64, 64])
        #expect(try target("downsample:20x40", 400, 300) == [40, 30])
        #expect(try target("downsample:20x40", 300, 400) == [30, 40])
        #expect(try target("downsample:20x", 1000, 1) == [20, 1])
        #expect(try target("downsample:20x40", 400, 300, scale: 2) == [80, 60])
    }

    @Test("A smaller JPEG keeps its size") func neverLarger() throws {
        let bytes = try ImageEncoder.encode(Image(Pictures.gradient(80, 60)), as: .jpeg)
        let large = try ProcessorParser.parse("downsample:100x900").process(.data(bytes), options: .init())
        #expect((large.width, large.height) == (80, 60))
    }
}
