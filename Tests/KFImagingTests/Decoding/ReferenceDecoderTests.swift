import Testing

@testable import KFImaging

@Suite("Pixels of the libraries' own programs")
struct ReferenceDecoderTests {
    @Test(
        "JPEG pixels equal those of djpeg",
        .enabled(if: Corpus.isThere && Reference.isThere("djpeg"), "no test images, or no djpeg"))
    func jpeg() throws {
        let corpus = Corpus("jpeg-ref")
        var compared = 0
        for entry in try corpus.entries() where entry.library.contains("djpeg") && !entry.library.contains(":error") {
            let path = corpus.folder.appendingPathComponent(entry.path).path
            guard let output = try Reference.run("djpeg", ["-pnm", path]), let expected = Reference.pixels(output)
            else { continue }
            let bitmap = try ImageDecoder.decode(corpus.bytes(entry.path)).bitmap
            guard entry.orientation <= 1, try !hasInkProfile(corpus.bytes(entry.path)) else { continue }
            #expect((bitmap.width, bitmap.height) == (expected.width, expected.height), "\(entry.path)")
            #expect(distance(bitmap, expected.samples, expected.channels) <= 1, "\(entry.path)")
            compared += 1
        }
        #expect(compared > 20)
    }

    /// Pictures that kf converts through their profile, which djpeg ignores.
    private func hasInkProfile(_ bytes: [UInt8]) throws -> Bool {
        try bytes.withRaw { raw in
            try JPEGStructure(header: raw).components == 4 && JPEGStructure.iccProfile(in: raw) != nil
        }
    }

    @Test(
        "WebP pixels equal those of dwebp",
        .enabled(if: Corpus.isThere && Reference.isThere("dwebp"), "no test images, or no dwebp"))
    func webp() throws {
        let corpus = Corpus("webp")
        var compared = 0
        for entry in try corpus.entries() where entry.path.hasSuffix(".webp") {
            let path = corpus.folder.appendingPathComponent(entry.path).path
            // The header denies transparency and the pixels have it. dwebp goes by the pixels; libwebp's features, and
            // the programs built on them, go by the header.
            if entry.path.hasSuffix("bad_palette_index.webp") { continue }
            guard let output = try Reference.run("dwebp", ["-quiet", path, "-pam", "-o", "-"]),
                let expected = Reference.pixels(output), entry.orientation <= 1
            else { continue }
            let bitmap = try ImageDecoder.decode(corpus.bytes(entry.path)).bitmap
            #expect(bitmap.rgba8 == Array(expected.samples), "\(entry.path)")
            compared += 1
        }
        #expect(compared > 100)
    }

    private func distance(_ bitmap: Bitmap, _ samples: ArraySlice<UInt8>, _ channels: Int) -> Int {
        let mine = bitmap.rgba8
        guard samples.count * 4 == mine.count * channels else { return Int.max }
        var worst = 0
        for pixel in 0..<mine.count / 4 {
            for channel in 0..<3 {
                let theirs = samples[samples.startIndex + pixel * channels + (channels == 1 ? 0 : channel)]
                worst = max(worst, abs(Int(mine[4 * pixel + channel]) - Int(theirs)))
            }
        }
        return worst
    }
}
