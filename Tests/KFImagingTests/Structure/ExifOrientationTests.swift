import Testing

@testable import KFImaging

@Suite("Orientations in EXIF")
struct ExifOrientationTests {
    private func read(_ bytes: [UInt8]) -> Int { bytes.withRaw { ExifFile.orientation($0)?.value ?? 1 } }

    @Test("Both byte orders are read", arguments: 1...8)
    func byteOrders(_ value: Int) {
        #expect(read(Files.exif(orientation: value)) == value)
        #expect(read(Files.exif(orientation: value, bigEndian: false)) == value)
        #expect(read(Array("Exif\0\0".utf8) + Files.exif(orientation: value)) == value)
    }

    @Test("Every type of whole numbers is read", arguments: [1, 3, 4, 6, 8, 9])
    func types(_ type: UInt8) throws {
        for (header, number, value) in [
            ("MM\0*", [0, 0, 0, 8, 0, 1, 1, 0x12, 0, type, 0, 0, 0, 1], [0, 0, 0, 6]),
            ("II*\0", [8, 0, 0, 0, 1, 0, 0x12, 1, type, 0, 1, 0, 0, 0], [6, 0, 0, 0]),
        ] as [(String, [UInt8], [UInt8])] {
            // Numbers are at the start of their field.
            let width = [1: 1, 6: 1, 3: 2, 8: 2][type] ?? 4
            let field = header == "MM\0*" ? value.suffix(width) + [UInt8](repeating: 0, count: 4 - width) : value
            let exif = Array(header.utf8) + number + field + [0, 0, 0, 0]
            #expect(read(exif) == 6, "\(header)")
            let upright = try #require(exif.withRaw { ExifFile.upright($0) })
            #expect(upright.count == exif.count && read(upright) == 1)
        }
        let ratio = Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 1, 1, 0x12, 0, 5, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0]
        #expect(read(ratio) == 1)
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
