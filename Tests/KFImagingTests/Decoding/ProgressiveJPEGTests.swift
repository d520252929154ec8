import Testing

@testable import KFImaging

@Suite("Progressive JPEGs that arrive")
struct ProgressiveJPEGTests {
    private func pictures(_ bytes: [UInt8], step: Int) throws -> [Image] {
        let decoder = ProgressiveJPEGDecoder()
        var pictures: [Image] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            let end = min(start + step, bytes.count)
            if let picture = try decoder.append(Array(bytes[start..<end]), isLast: end == bytes.count) {
                pictures.append(picture)
            }
        }
        #expect(decoder.isComplete)
        return pictures
    }

    @Test("Each scan gives a better picture", arguments: [1, 700, 5000])
    func scans(_ step: Int) throws {
        let bytes = try Fixture.bytes(step == 1 ? "jpeg/grey-progressive.jpg" : "jpeg/progressive.jpg")
        let full = try ImageDecoder.decode(bytes)
        let pictures = try pictures(bytes, step: step)
        let scans = try bytes.withRaw { try JPEGStructure.scans(in: $0) }
        #expect(pictures.count <= scans && pictures.count > 3)
        #expect(pictures.last?.bitmap == full.bitmap)
        let qualities = pictures.map { $0.bitmap.psnr(to: full.bitmap) }
        for (earlier, later) in zip(qualities, qualities.dropFirst()) { #expect(later > earlier - 1) }
    }

    @Test("A whole file gives only the finished picture") func atOnce() throws {
        let bytes = try Fixture.bytes("jpeg/progressive.jpg")
        let pictures = try pictures(bytes, step: bytes.count)
        #expect(pictures.count == 1)
        #expect(try pictures[0].bitmap == ImageDecoder.decode(bytes).bitmap)
    }

    @Test("A baseline JPEG gives no intermediate picture") func baseline() throws {
        #expect(try pictures(Fixture.bytes("jpeg/landscape-420.jpg"), step: 1000).isEmpty)
    }

    @Test("A truncated file is an error") func truncated() throws {
        let bytes = try Fixture.bytes("jpeg/progressive.jpg").prefix(30_000)
        let decoder = ProgressiveJPEGDecoder()
        #expect(throws: ImagingError.truncated(.jpeg)) { try decoder.append(Array(bytes), isLast: true) }
    }

    @Test("The number of scans is limited") func limited() throws {
        let decoder = ProgressiveJPEGDecoder(options: .init(limits: .init(maxScans: 3)))
        #expect(throws: ImagingError.tooManyScans(maxScans: 3)) {
            try decoder.append(Fixture.bytes("jpeg/progressive.jpg"), isLast: true)
        }
    }
}
