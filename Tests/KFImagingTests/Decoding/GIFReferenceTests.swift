import Testing

@testable import KFImaging

@Suite("GIF frames equal Pillow's", .enabled(if: Corpus.isThere, "no test images beside the repository"))
struct GIFReferenceTests {
    @Test func everyFrameOfEveryFile() throws {
        let corpus = Corpus("gif")
        for (path, expected) in PillowFrames.digests {
            let image = try ImageDecoder.decode(corpus.bytes(path))
            #expect(image.frames.count == expected.frames, "\(path)")
            let digest = SHA256.hexadecimal(image.frames.flatMap(\.bitmap.visible)).prefix(16)
            #expect(digest == expected.digest, "\(path)")
        }
    }

    /// Pillow fills with the background colour the areas that no frame covers or that disposal clears. Browsers and
    /// ImageIO leave them transparent.
    @Test(arguments: ["background-color", "metadata-empty", "multiple-loop-counts", "small-frame-interlaced"])
    func whatNoFrameCoversIsTransparent(_ name: String) throws {
        let image = try ImageDecoder.decode(Corpus("gif").bytes("wuffs-artificial/\(name).gif"))
        let last = image.bitmap[image.width - 1, image.height - 1]
        #expect(last == [0, 0, 0, 0])
    }

    @Test(arguments: ["dispose_bgnd", "dispose_bgnd_rgba"])
    func disposalToBackgroundLeavesTransparency(_ name: String) throws {
        let image = try ImageDecoder.decode(Corpus("gif").bytes("pillow/\(name).gif"))
        #expect(!image.frames[2].bitmap.isOpaque)
    }

    /// Pillow widens the canvas for frames outside it; here, as in browsers, they are clipped.
    @Test(arguments: [("wuffs-artificial/frame-out-of-bounds.gif", 2, 2), ("pillow/test_extents.gif", 100, 100)])
    func theCanvasStaysAsStated(_ path: String, _ width: Int, _ height: Int) throws {
        let image = try ImageDecoder.decode(Corpus("gif").bytes(path))
        #expect((image.width, image.height) == (width, height))
    }

    /// The header of a second GIF in place of a block, as in two files joined by mistake.
    @Test func joinedFilesAreTheFirstOne() throws {
        let bytes = try Corpus("gif").bytes("pillow/test_extents_transparency.gif")
        #expect(try ImageDecoder.decode(bytes).warnings == [.endsWithoutBlock])
    }
}
