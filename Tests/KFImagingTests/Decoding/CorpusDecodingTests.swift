import Support
import Testing

@testable import KFImaging

@Suite(
    "The corpora of test images", .enabled(if: Corpus.isThere, "no test images beside the repository")
)
struct CorpusDecodingTests {
    private func digest(_ bitmap: Bitmap) -> String {
        String(PlainSHA256.hex(PlainSHA256.hash(bitmap.rgba8)).prefix(16))
    }

    @Test("PngSuite decodes to its reference pixels") func pngSuite() throws {
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

    @Test("Pictures of 16 bits keep their depth") func sixteenBits() throws {
        for (name, expected) in DeepPixels.digests {
            let bitmap = try ImageDecoder.decode(Corpus("pngsuite").bytes(name)).bitmap
            #expect(bitmap.format.depth == .sixteen, "\(name)")
            let samples = bitmap.withUnsafeRows { rows in
                (0..<rows.height).flatMap { y in
                    UnsafeBufferPointer(start: rows.row16(y), count: rows.width * rows.format.channelCount).flatMap {
                        [UInt8($0 >> 8), UInt8($0 & 255)]
                    }
                }
            }
            #expect(PlainSHA256.hex(PlainSHA256.hash(samples)).prefix(16) == expected, "\(name)")
        }
    }

    @Test(
        "Files are read or refused as by the libraries",
        arguments: ["jpeg-ref", "exif-orientation", "jpeg-corrupt", "png-broken", "bombs"])
    func libraries(_ name: String) throws {
        let corpus = Corpus(name)
        for entry in try corpus.entries() where entry.library.contains(":") {
            let bytes = try corpus.bytes(entry.path)
            let error = failure { () throws(ImagingError) in try ImageDecoder.decode(bytes) }
            if entry.library.hasSuffix(":ok") { #expect(error == nil, "\(entry.path)") }
            if entry.library.contains(":error") || entry.library.contains("Premature end") {
                #expect(error != nil, "\(entry.path)")
            }
        }
    }

    @Test("WebP files decode to their reference pixels") func webp() throws {
        let corpus = Corpus("webp")
        for entry in try corpus.entries() where entry.path.hasSuffix(".webp") && entry.verdict == "ok" {
            let image = try ImageDecoder.decode(corpus.bytes(entry.path))
            #expect(image.frames.count == entry.frames, "\(entry.path)")
            guard let expected = entry.digest, entry.orientation == 1 else { continue }
            #expect(digest(image.bitmap) == expected, "\(entry.path)")
        }
    }
}
