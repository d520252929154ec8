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
        for entry in try corpus.entries() where entry.path.hasSuffix(".png") {
            let bytes = try corpus.bytes(entry.path)
            if entry.path.hasPrefix("x") {
                #expect(throws: ImagingError.self, "\(entry.path)") { try ImageDecoder.decode(bytes) }
                continue
            }
            let image = try ImageDecoder.decode(bytes)
            #expect((image.width, image.height) == (entry.size.width, entry.size.height), "\(entry.path)")
            guard let expected = entry.digest, image.bitmap.format.depth == .eight else { continue }
            compared += 1
            #expect(digest(image.bitmap) == expected, "\(entry.path)")
        }
        #expect(compared > 100)
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
        for entry in try corpus.entries() where entry.verdict == "ok" {
            guard let image = try? ImageDecoder.decode(corpus.bytes(entry.path)) else {
                print("gif refused:", entry.path, entry.library)
                continue
            }
            if image.frames.count != entry.frames { print("gif frames:", entry.path, image.frames.count, entry.frames) }
            if let expected = entry.digest, digest(image.bitmap) != expected { print("gif differs:", entry.path) }
        }
    }
}
