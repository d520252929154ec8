import Support
import Testing

@testable import KFImaging

@Suite("The overrun of time limits", .bounded)
struct OverrunTests {
    /// Shapes and sizes with the most work between two results: rows that are wide, boxes that are high.
    @Test(
        "Work on an image ends soon after its time limit",
        arguments: [("sharpen:100", 10_000, 900), ("sharpen:100", 1_000_000, 10), ("blur:1000", 1_000_000, 40)])
    func overrun(_ spec: String, _ width: Int, _ height: Int) throws {
        let image = Image(try Bitmap(width: width, height: height, format: .gray))
        let processor = try ProcessorParser.parse(spec)
        let limit = Duration.milliseconds(50)
        let options = ProcessingOptions(decode: .init(limits: .init(maxMemory: .max, timeLimit: limit)))
        let time = ContinuousClock().measure {
            #expect(throws: ImagingError.timeLimit(limit)) { try processor.process(.image(image), options: options) }
        }
        // A tenth of that in a release build on a quiet machine.
        #expect(time < .seconds(5), "\(spec) of \(width)×\(height) took \(time)")
    }
}
