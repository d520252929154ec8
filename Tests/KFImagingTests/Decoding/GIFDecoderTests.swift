import Testing

@testable import KFImaging

@Suite("GIF frames")
struct GIFDecoderTests {
    private let red = [255, 0, 0, 255]
    private let green = [0, 255, 0, 255]
    private let blue = [0, 0, 255, 255]

    private func full(_ index: UInt8, disposal: Int = 0, delay: Int = 10) -> Files.GIFFrame {
        .init(width: 2, height: 2, indexes: [index, index, index, index], delay: delay, disposal: disposal)
    }

    private func dot(_ index: UInt8, _ left: Int, _ top: Int, disposal: Int = 0) -> Files.GIFFrame {
        .init(left: left, top: top, width: 1, height: 1, indexes: [index], disposal: disposal)
    }

    @Test("Frames outside the canvas are clipped") func clipped() throws {
        var wide = full(2)
        (wide.left, wide.top) = (1, 1)
        let image = try ImageDecoder.decode(Files.gif(2, 2, [full(1), wide, dot(3, 9, 9, disposal: 2)]))
        #expect(image.frames[2].bitmap[1, 1] == green)
        #expect(image.frames[2].bitmap[0, 1] == red)
    }

    @Test("Interlaced rows find their place") func interlaced() throws {
        let frame = Files.GIFFrame(
            width: 1, height: 9, indexes: [0, 3, 2, 1, 1, 0, 0, 0, 0].map { UInt8($0) }, interlaced: true)
        let image = try ImageDecoder.decode(Files.gif(1, 9, [frame]))
        // Passes: rows 0, 8; 4; 2, 6; 1, 3, 5, 7.
        #expect(image.bitmap[0, 8] == blue)
        #expect(image.bitmap[0, 4] == green)
        #expect(image.bitmap[0, 2] == red)
        #expect(image.bitmap[0, 6] == red)
        #expect(image.bitmap[0, 7] == [0, 0, 0, 255])
    }

    @Test("Delays and loops are read") func timing() throws {
        let bytes = Files.gif(
            2, 2, [full(1, delay: 0), full(2, delay: 1), full(3, delay: 2), full(1, delay: 50)], loops: 4)
        let image = try ImageDecoder.decode(bytes)
        #expect(
            image.frames.map(\.delay) == [
                .milliseconds(100), .milliseconds(100), .milliseconds(20), .milliseconds(500),
            ])
        #expect(image.loopCount == 5)
        #expect(try ImageDecoder.decode(Files.gif(2, 2, [full(1), full(2)], loops: 0)).loopCount == 0)
        #expect(try ImageDecoder.decode(Files.gif(2, 2, [full(1), full(2)])).loopCount == 1)
    }

    @Test("A single frame is a still image") func still() throws {
        let still = try ImageDecoder.decode(Files.gif(2, 2, [full(1)]))
        #expect(!still.isAnimated && still.frames[0].delay == .zero)
        let first = try ImageDecoder.decode(
            Files.gif(2, 2, [full(1), full(2)]), options: .init(firstFrameOnly: true))
        #expect(first.frames.count == 1 && first.bitmap[0, 0] == red)
    }
}
