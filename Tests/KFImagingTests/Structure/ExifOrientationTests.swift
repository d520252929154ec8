import Testing

@testable import KFImaging

@Suite("Orientations in EXIF")
struct ExifOrientationTests {
    private func read(_ bytes: [UInt8]) -> Int { bytes.withRaw { ExifOrientation.read($0)?.value ?? 1 } }

    @Test("Both byte orders are read", arguments: 1...8)
    func byteOrders(_ value: Int) {
        #expect(read(Files.exif(orientation: value)) == value)
        #expect(read(Files.exif(orientation: value, bigEndian: false)) == value)
        #expect(read(Array("Exif\0\0".utf8) + Files.exif(orientation: value)) == value)
    }

    @Test("Damaged EXIF counts as upright") func damage() {
        #expect(read(Files.exif(orientation: 0)) == 1)
        #expect(read(Files.exif(orientation: 9)) == 1)
        #expect(read([]) == 1)
        // A directory that begins at itself, one beyond the end, and a count without entries.
        #expect(read(Array("MM\0*".utf8) + [0, 0, 0, 4]) == 1)
        #expect(read(Array("MM\0*".utf8) + [0xFF, 0xFF, 0xFF, 0xFF]) == 1)
        #expect(read(Array("MM\0*".utf8) + [0, 0, 0, 8, 0xFF, 0xFF]) == 1)
    }
}
