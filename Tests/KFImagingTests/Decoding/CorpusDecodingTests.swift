import Testing

@testable import KFImaging

@Suite(
    "The corpora decode to their reference pixels", .enabled(if: Corpus.isThere, "no test images beside the repository")
)
struct CorpusDecodingTests {
    private func digest(_ bitmap: Bitmap) -> String { String(SHA256.hexadecimal(bitmap.rgba8).prefix(16)) }

    @Test func pngSuite() throws {
        let corpus = Corpus("pngsuite")
        var compared = 0
        for entry in try corpus.entries() where entry.path.hasSuffix(".png") && !entry.path.contains("/") {
            let bytes = try corpus.bytes(entry.path)
            if entry.path.hasPrefix("x") {
                #expect(throws: ImagingError.self, "\(entry.path)") { try ImageDecoder.decode(bytes) }
                continue
            }
            let image = try ImageDecoder.decode(bytes)
            #expect((image.width, image.height) == (entry.size.width, entry.size.height), "\(entry.path)")
            guard image.bitmap.format.depth == .eight else { continue }
            compared += 1
            if let check = try? corpus.bytes("rgba8-check/" + entry.path) {
                #expect(try image.bitmap.rgba8 == ImageDecoder.decode(check).bitmap.rgba8, "\(entry.path)")
            } else if let expected = entry.digest {
                #expect(digest(image.bitmap) == expected, "\(entry.path)")
            }
        }
        #expect(compared > 100)
    }

    @Test(arguments: ["jpeg-ref", "exif-orientation", "jpeg-corrupt", "png-broken", "bombs"])
    func whatTheLibrariesReadIsReadAndWhatTheyRefuseIsRefused(_ name: String) throws {
        let corpus = Corpus(name)
        for entry in try corpus.entries() where entry.library.contains(":") {
            let bytes = try corpus.bytes(entry.path)
            let error = refusal(bytes)
            if entry.library.hasSuffix(":ok") { #expect(error == nil, "\(entry.path)") }
            if entry.library.contains(":error") || entry.library.contains("Premature end") {
                #expect(error != nil, "\(entry.path)")
            }
        }
    }

    private func refusal(_ bytes: [UInt8]) -> ImagingError? {
        do throws(ImagingError) {
            _ = try ImageDecoder.decode(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func webp() throws {
        let corpus = Corpus("webp")
        for entry in try corpus.entries() where entry.path.hasSuffix(".webp") && entry.verdict == "ok" {
            let image = try ImageDecoder.decode(corpus.bytes(entry.path))
            #expect(image.frames.count == entry.frames, "\(entry.path)")
            guard let expected = entry.digest, entry.orientation == 1 else { continue }
            #expect(digest(image.bitmap) == expected, "\(entry.path)")
        }
    }

    @Test func gif() throws {
        let corpus = Corpus("gif")
        // Frames without any palette, an empty block where a frame should be, and one file cut short: Pillow makes
        // something up.
        let refused: Set<String> = [
            "pillow/issue_2811.gif", "pillow/no_palette.gif", "pillow/no_palette_after_rgb.gif",
            "pillow/test_extents_transparency.gif", "wuffs-artificial/empty-palette.gif",
        ]
        for entry in try corpus.entries() where entry.verdict == "ok" && !refused.contains(entry.path) {
            let image = try ImageDecoder.decode(corpus.bytes(entry.path))
            #expect(image.frames.count == entry.frames, "\(entry.path)")
            // Pillow widens the canvas for a frame outside it; here, as in browsers, the frame is clipped.
            if entry.path.hasSuffix("frame-out-of-bounds.gif") { continue }
            #expect((image.width, image.height) == (entry.size.width, entry.size.height), "\(entry.path)")
        }
    }
}
