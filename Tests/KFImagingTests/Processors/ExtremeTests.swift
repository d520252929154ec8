import Testing

@testable import KFImaging

@Suite("Extreme arguments of processors")
struct ExtremeTests {
    private static let specs = [
        "blur:10000", "sharpen:100", "sharpen:1e-300", "border:65535", "border:1e-9,#f00,radius=65535",
        "border:0.3,radius=1w", "round-corner:65535", "round-corner:1w,corners=br", "round-corner:1e-9",
        "pad:1x1,#fff", "pad:3x2,#f008f008", "crop:65535x65535", "downsample:65535x65535", "downsample:1e-9x1e-9",
        "resize:1e-9x1e-9", "color:1,100,100,20", "color:-1,100,100,-20", "overlay:#00000000,0", "tint:#ffffffff",
        "blend:plus-darker,0,#fff", "blend:luminosity,1,#00000001", "rotate:90", "flip:h", "grayscale", "black-white",
        "trim:0", "trim:255", "crop:1x1,anchor=attention", "crop:65535x2,anchor=entropy",
        "resize:3x65,cover,anchor=entropy",
        "resize:1e-9x1e-9,cover,anchor=attention",
    ]

    @Test("Small pictures pass every processor", arguments: RoundTripTests.formats)
    func small(_ format: PixelFormat) throws {
        for (width, height) in [(1, 1), (2, 1), (1, 7), (5, 4)] {
            let image = Image(try Pictures.gradient(width, height, format))
            for spec in ExtremeTests.specs {
                let processor = try ProcessorParser.parse(spec)
                for scale in [1.0, 3, 0, -1, 1e300, .infinity, .nan] {
                    do throws(ImagingError) {
                        let result = try processor.process(.image(image), options: .init(scaleFactor: scale))
                        #expect(result.width > 0 && result.height > 0)
                    } catch {
                        guard case .tooLarge = error else { throw error }
                    }
                }
            }
        }
    }
}
