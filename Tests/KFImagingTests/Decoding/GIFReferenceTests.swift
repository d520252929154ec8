import Support
import Testing

@testable import KFImaging

@Suite("GIF frames of Pillow", .enabled(if: Corpus.isThere, "no test images beside the repository"))
struct GIFReferenceTests {
    @Test("Every frame equals Pillow's") func frames() throws {
        let corpus = Corpus("gif")
        for (path, expected) in PillowFrames.digests {
            let image = try ImageDecoder.decode(corpus.bytes(path))
            #expect(image.frames.count == expected.frames, "\(path)")
            let digest = PlainSHA256.hex(PlainSHA256.hash(image.frames.flatMap(\.bitmap.visible))).prefix(16)
            #expect(digest == expected.digest, "\(path)")
        }
    }

    /// The header of a second GIF in place of a block, as in two files joined by mistake.
    @Test("Two joined files are read as the first one") func joined() throws {
        let bytes = try Corpus("gif").bytes("pillow/test_extents_transparency.gif")
        #expect(try ImageDecoder.decode(bytes).warnings == [.endsWithoutBlock])
    }
}
