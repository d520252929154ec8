import Support
import Testing

@testable import KFImaging

@Suite("Sizes in headers")
struct RecognizedSizeTests {
    private func size(_ bytes: [UInt8]) throws -> [Int]? {
        let found = try bytes.withRaw { (bytes) throws(ImagingError) in try ImageProbe.inspect(bytes) }
        return found?.info.map { [$0.width, $0.height] }
    }

    private func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(value >> ($0 * 8) & 255) }
    }

    private func box(_ kind: String, _ body: [UInt8]) -> [UInt8] { big(body.count + 8, 4) + Array(kind.utf8) + body }

    @Test("JPEG 2000 states it in a box or in the codestream")
    func jpeg2000() {
        // Another test registers a codec for the format.
        func size(_ bytes: [UInt8]) -> [Int]? { bytes.withRaw(RecognizedSize.jpeg2000).map { [$0.width, $0.height] } }
        let header = box("jp2h", box("ihdr", big(480, 4) + big(640, 4) + [0, 3, 7, 7, 0, 0]))
        let signature = box("jP  ", [0x0D, 0x0A, 0x87, 0x0A])
        #expect(size(signature + box("ftyp", Array("jp2 \0\0\0\0jp2 ".utf8)) + header) == [640, 480])
        let siz = [0xFF, 0x4F, 0xFF, 0x51, 0, 47, 0, 0] as [UInt8]
        #expect(size(siz + big(650, 4) + big(500, 4) + big(10, 4) + big(20, 4)) == [640, 480])
    }

    @Test("HEIC states it in the properties of its primary item")
    func heic() throws {
        func file(turns: UInt8?) -> [UInt8] {
            let ispe = box("ispe", big(0, 4) + big(640, 4) + big(480, 4))
            let irot = turns.map { box("irot", [$0]) } ?? []
            let count = turns == nil ? 1 : 2
            let ipma = box("ipma", big(0, 4) + big(1, 4) + big(1, 2) + [UInt8(count)] + (1...UInt8(count)))
            let meta = box("pitm", big(0, 4) + big(1, 2)) + box("iprp", box("ipco", ispe + irot) + ipma)
            return box("ftyp", Array("heic\0\0\0\0mif1heic".utf8)) + box("meta", big(0, 4) + meta)
        }
        #expect(try size(file(turns: nil)) == [640, 480])
        #expect(try size(file(turns: 1)) == [480, 640])
    }

    /// Numbers with their counts of bits, the lowest bit first.
    private func bits(_ fields: [(value: Int, count: Int)]) -> [UInt8] {
        let all = fields.flatMap { field in (0..<field.count).map { field.value >> $0 & 1 } } + [0, 0, 0, 0, 0, 0, 0]
        return stride(from: 0, to: all.count - 7, by: 8).map { start in
            (0..<8).reduce(UInt8(0)) { $0 | UInt8(all[start + $1]) << UInt8($1) }
        }
    }

    @Test("JPEG XL states it in its first bits")
    func jpegXL() throws {
        func size(_ bytes: [UInt8]) throws -> [Int] { [try bytes.probe().width, try bytes.probe().height] }
        let plain = [0xFF, 0x0A] + bits([(0, 1), (0, 2), (479, 9), (0, 3), (1, 2), (639, 13), (1, 1)])
        #expect(try size(plain) == [640, 480])
        let small = [0xFF, 0x0A] + bits([(1, 1), (7, 5), (3, 3), (1, 1)])
        #expect(try size(small) == [85, 64], "8 × 8 high, 4:3")
        let turned = [0xFF, 0x0A] + bits([(0, 1), (0, 2), (479, 9), (3, 3), (0, 1), (1, 1), (5, 3)])
        #expect(try size(turned) == [480, 640])
        let signature = box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + box("ftyp", Array("jxl \0\0\0\0jxl ".utf8))
        #expect(try size(signature + box("jxlc", plain)) == [640, 480])
        #expect(try size(signature + box("jxlp", big(0, 4) + plain)) == [640, 480])
    }

    @Test(
        "SVG states it in the attributes of its root",
        arguments: [
            ("<svg width='640' height=\"480px\"/>", [640, 480]), ("<svg viewBox='0 0 639.2 480'>", [640, 480]),
            (
                "<?xml version='1.0'?><!-- <svg width='1' height='1'> --><svg width='320' viewBox='0,0,4,3'>",
                [320, 240]
            ),
            ("<!DOCTYPE svg><s:svg xmlns:s='x' s:width='1' height='480' viewBox='0 0 4 3'>", [640, 480]),
            ("<svg width='10cm' height='5cm'>", nil), ("<svg width='100%'>", nil), ("<svg width='0' height='1'>", nil),
            ("<svg width='1e30' height='1'>", nil), ("<svg width='nan' height='1'>", nil), ("<svg", nil),
            ("<svg width='640", nil), ("<svg width='5' height='nan'>", nil), ("<svg width='inf' height='-inf'>", nil),
            ("<svg viewBox='0 0 1 inf'>", nil), ("<svg viewBox='0 0 inf inf'>", nil),
            ("<svg width='1' viewBox='0 0 1e-320 1e300'>", nil), ("<svg width='1e309' height='-0'>", nil),
            ("<svg width='5' height='50%'>", nil), ("<svg width='-5' height='5'>", nil),
        ] as [(String, [Int]?)])
    func svg(text: String, expected: [Int]?) throws { #expect(try size(Array(text.utf8)) == expected) }

    @Test("A header that is cut off states no size")
    func cut() {
        for count in 0..<5 {
            let bytes = Array([0xFF, 0x0A, 0x7C, 0x03, 0x40][..<count]) as [UInt8]
            #expect(throws: ImagingError.self) { try bytes.probe() }
        }
    }

    @Test("JPEG XL states alpha, depth, colours and animation behind its size")
    func jpegXLFields() throws {
        let size = [(0, 1), (0, 2), (479, 9), (3, 3)]
        // Fields follow: an orientation of 6 and an animation of 10 ticks a second, without end.
        let extra = [(0, 1), (1, 1), (5, 3), (0, 1), (0, 1), (1, 1), (2, 2), (9, 10), (0, 2), (0, 2), (0, 1)]
        // 12 bits, one extra channel as usual (alpha), no XYB, and grey in place of sRGB.
        let rest = [(0, 1), (2, 2), (1, 1), (1, 2), (1, 1), (0, 1), (0, 1), (0, 1), (1, 2)]
        let bytes = [0xFF, 0x0A] + bits(size + extra + rest)
        let structure = try bytes.withRaw { (bytes) throws(ImagingError) in try JXLStructure(bytes) }
        #expect(structure.isAnimation)
        #expect(
            structure.info
                == ImageInfo(
                    format: .jxl, width: 480, height: 640, hasAlpha: true, orientation: 6, colorModel: .gray,
                    bitDepth: 12))
    }
}
