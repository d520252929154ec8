import Foundation
import Support
import Testing

@testable import KFImaging

@Suite("A full check finds the damage that decoding finds, and keeps no frames")
struct CheckingTests {
    @Test(arguments: FixturesDirectory.all)
    func wholeImagesPass(_ fixture: Support.Fixture) throws {
        let bytes = try [UInt8](fixture.data)
        let warnings = try bytes.withRaw { try ImageProbe.checkStructure($0) }
        #expect(try bytes.withRaw { try ImageDecoder.check($0) } == warnings)
    }

    @Test(arguments: DamagedPictures.formats)
    func damageBelowTheStructureIsFound(_ format: String) throws {
        let bytes = try DamagedPictures.make(format)
        #expect(try bytes.withRaw { try ImageProbe.checkStructure($0) } == [])
        let error = try #require(
            #expect(throws: ImagingError.self) { try bytes.withRaw { try ImageDecoder.check($0) } })
        #expect(throws: error) { try ImageDecoder.decode(bytes) }
    }

    /// Animations, a JPEG and a PNG are checked in less memory than their pixels take.
    @Test(arguments: [ImageFormat.png, .jpeg, .gif, .webp]) func memoryIsThatOfACanvasAtMost(
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
        #expect(try bytes.withRaw { try ImageDecoder.check($0, limits: limits) } == [])
        let error = #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(bytes, options: .init(limits: limits))
        }
        guard case .memoryLimit = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func theLimitsHold() throws {
        let bytes = try ImageEncoder.encode(Image(Pictures.gradient(1100, 1100, .rgb)), as: .png)
        #expect(throws: ImagingError.timeLimit(.zero)) {
            try bytes.withRaw { try ImageDecoder.check($0, limits: .init(timeLimit: .zero)) }
        }
        #expect(throws: ImagingError.self) {
            try bytes.withRaw { try ImageDecoder.check($0, limits: .init(maxMemory: 100_000)) }
        }
    }

    @Test(.enabled(if: Corpus.isThere, "no test images beside the repository"))
    func aBrokenSeedPassesWhenItDecodesAndOnlyThen() throws {
        var (passed, refused) = (0, 0)
        for file in ["fuzz-seeds", "png-broken", "jpeg-corrupt"].flatMap(Corpora.files) {
            let bytes = try [UInt8](Data(contentsOf: file))
            guard (try? bytes.withRaw { try ImageProbe.checkStructure($0) }) != nil,
                (try? bytes.withRaw { try ImageProbe.probe($0) }) != nil
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

    private func failure<Value>(_ work: () throws(ImagingError) -> Value) -> ImagingError? {
        do throws(ImagingError) {
            _ = try work()
            return nil
        } catch {
            return error
        }
    }
}
