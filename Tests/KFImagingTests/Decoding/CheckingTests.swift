import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("The full check")
struct CheckingTests {
    @Test("Whole images pass and are what the manifest says", arguments: FixturesDirectory.all)
    func whole(_ fixture: Support.Fixture) throws {
        let bytes = try [UInt8](fixture.data)
        let warnings = try bytes.checkStructure()
        #expect(try bytes.checkFully() == warnings)
        let (info, image) = (try bytes.probe(), try ImageDecoder.decode(bytes))
        #expect((info.width, info.height, info.frames) == (fixture.width, fixture.height, fixture.frames))
        #expect((image.width, image.height, image.frames.count) == (fixture.width, fixture.height, fixture.frames))
        #expect(image.warnings == warnings)
    }

    @Test("Damage below the structure is found", arguments: DamagedPictures.formats)
    func damage(_ format: String) throws {
        let bytes = try DamagedPictures.make(format)
        #expect(try bytes.checkStructure() == [])
        let error = try #require(
            #expect(throws: ImagingError.self) { try bytes.checkFully() })
        #expect(throws: error) { try ImageDecoder.decode(bytes) }
    }

    /// Animations, a JPEG and a PNG are checked in less memory than their pixels take.
    @Test("The check holds at most one canvas", arguments: [ImageFormat.png, .jpeg, .gif, .webp])
    func memory(
        _ format: ImageFormat
    ) throws {
        var dice = Dice(7)
        let frames = try (0..<12).map { _ in
            let noise = try Pictures.make(160, 120, .rgb) { _, _, _ in dice.roll(4) * 80 }
            return ImageFrame(bitmap: noise, delay: .milliseconds(100))
        }
        let animation = try #require(Image(frames: frames, loopCount: 0, sourceFormat: .gif))
        let isStill = format == .png || format == .jpeg
        let image = isStill ? Image(try Pictures.gradient(200, 2000, .rgb)) : animation
        let bytes = try ImageEncoder.encode(image, as: format)
        // The rows of the libraries and a band; a canvas, a frame and the memory of the library for it.
        let limits = DecodeLimits(maxMemory: isStill ? 600_000 : 6 * 160 * 120 * 4)
        #expect(try bytes.checkFully(limits: limits) == [])
        let error = #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(bytes, options: .init(limits: limits))
        }
        guard case .memoryLimit = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("The limits apply to the check") func limits() throws {
        let bytes = try ImageEncoder.encode(Image(Pictures.gradient(1100, 1100, .rgb)), as: .png)
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try bytes.checkFully(limits: .init(timeLimit: .zero))
        }
        #expect(throws: ImagingError.self) {
            try bytes.checkFully(limits: .init(maxMemory: 100_000))
        }
    }

    @Test(
        "The check and the decoder agree on broken files",
        .enabled(if: Corpus.isThere, "no test images beside the repository"))
    func seeds() throws {
        var (passed, refused) = (0, 0)
        for file in ["fuzz-seeds", "png-broken", "jpeg-corrupt"].flatMap(Corpora.files) {
            let bytes = try [UInt8](Data(contentsOf: file))
            guard (try? bytes.checkStructure()) != nil,
                (try? bytes.probe()) != nil
            else { continue }
            let checks = failure { () throws(ImagingError) in
                try bytes.withUnsafeBytes { bytes in
                    Result { () throws(ImagingError) in try ImageDecoder.check(bytes) }
                }.get()
            }
            let decodes = failure { () throws(ImagingError) in try ImageDecoder.decode(bytes) }
            #expect(checks == decodes, "\(file.path)")
            if checks == nil { passed += 1 } else { refused += 1 }
        }
        #expect(passed > 50 && refused > 10, "\(passed) pass, \(refused) do not")
    }
}
