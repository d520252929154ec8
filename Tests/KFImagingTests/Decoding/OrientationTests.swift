import Testing

@testable import KFImaging

@Suite("Orientations")
struct OrientationTests {
    /// Maps a displayed pixel to the stored one, written independently of the module.
    private func stored(_ orientation: Int, _ x: Int, _ y: Int, _ width: Int, _ height: Int) -> (Int, Int) {
        switch orientation {
        case 2: (width - 1 - x, y)
        case 3: (width - 1 - x, height - 1 - y)
        case 4: (x, height - 1 - y)
        case 5: (y, x)
        case 6: (y, height - 1 - x)
        case 7: (width - 1 - y, height - 1 - x)
        case 8: (width - 1 - y, x)
        default: (x, y)
        }
    }

    @Test("Every orientation moves each pixel correctly", arguments: 1...8)
    func pixels(_ orientation: Int) throws {
        for format in RoundTripTests.formats {
            let source = try Pictures.make(70, 37, format) { x, y, channel in (x * 7 + y * 131 + channel * 53) * 97 }
            let turned = try source.oriented(Orientation(orientation))
            #expect((turned.width, turned.height) == (orientation > 4 ? (37, 70) : (70, 37)))
            var wrong = 0
            for y in 0..<turned.height {
                for x in 0..<turned.width {
                    let (sx, sy) = stored(orientation, x, y, 70, 37)
                    if turned[x, y] != source[sx, sy] { wrong += 1 }
                }
            }
            #expect(wrong == 0)
        }
    }

    @Test("The decoder applies the orientation", arguments: 1...8)
    func decoder(_ orientation: Int) throws {
        let bitmap = try Pictures.corners(64, 48)
        let options = EncodeOptions(quality: 95, chromaSubsampling: .none)
        let jpeg = try ImageEncoder.encode(Image(bitmap), as: .jpeg, options: options)
        let image = try ImageDecoder.decode(Files.jpeg(jpeg, exif: Files.exif(orientation: orientation)))
        let plain = try ImageDecoder.decode(jpeg)
        #expect(image.bitmap == (try plain.bitmap.oriented(Orientation(orientation))))
    }

    /// The fixtures hold one drawing, stored turned in eight ways.
    @Test("Eight orientations show one picture") func fixtures() throws {
        func picture(_ name: String) throws -> Bitmap {
            try ImageDecoder.decode(Fixture.bytes("jpeg/\(name).jpg")).bitmap
        }
        let first = try picture("orientation-1")
        for orientation in 2...8 {
            let other = try picture("orientation-\(orientation)")
            #expect(other.psnr(to: first) > 40)
        }
    }
}
