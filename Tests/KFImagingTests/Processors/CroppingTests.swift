import Testing

@testable import KFImaging

@Suite("Cropping")
struct CroppingTests {
    private func rectangle(_ spec: String) throws -> [Int] {
        let processor = try #require(try ProcessorParser.parse(spec) as? CroppingImageProcessor)
        let rectangle = processor.rectangle(width: 100, height: 100)
        return [rectangle.x, rectangle.y, rectangle.size.width, rectangle.size.height]
    }

    @Test("A crop follows its anchor and is cut at the edges") func anchors() throws {
        #expect(try rectangle("crop:20x20") == [40, 40, 20, 20])
        #expect(try rectangle("crop:20x20,anchor=1x1") == [80, 80, 20, 20])
        #expect(try rectangle("crop:20x20,anchor=-1x2") == [0, 80, 20, 20])
        #expect(try rectangle("crop:120x20") == [0, 40, 100, 20])
        #expect(try rectangle("crop:20x20,anchor=top-right") == [80, 0, 20, 20])
        #expect(try rectangle("crop:33x33") == [33, 33, 33, 33])
        #expect(try rectangle("crop:300x300,bottom-left") == [0, 0, 100, 100])
    }

    @Test("Cropped pixels are those of the source", arguments: RoundTripTests.formats)
    func pixels(_ format: PixelFormat) throws {
        let bitmap = try Pictures.gradient(30, 20, format)
        let image = try ProcessorParser.parse("crop:7x5,anchor=0.9x0.1").process(
            .image(Image(bitmap)), options: .init())
        #expect((image.width, image.height) == (7, 5))
        #expect(image.bitmap[0, 0] == bitmap[20, 1])
        #expect(image.bitmap[6, 4] == bitmap[26, 5])
    }
}
