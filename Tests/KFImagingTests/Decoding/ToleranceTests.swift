import Support
import Testing

@testable import KFImaging

@Suite("Tolerated damage")
struct ToleranceTests {
    private static let names = [
        "jpeg/landscape-420.jpg", "jpeg/progressive.jpg", "jpeg/cmyk.jpg", "jpeg/restart.jpg", "png/rgb.png",
        "png/rgba16-interlaced.png", "png/palette.png", "png/animated.png", "gif/animated.gif", "gif/interlaced.gif",
    ]

    private func fixture(_ name: String) throws -> [UInt8] { try [UInt8](FixturesDirectory.named(name).data) }

    private func options(_ tolerates: Bool = true) -> DecodeOptions {
        var options = DecodeOptions()
        options.limits.toleratesDamage = tolerates
        return options
    }

    /// The rows of the first frame that equal those of the whole image, from the first on.
    private func equalRows(_ image: Image, _ whole: Image) -> Int {
        image.bitmap.withUnsafeRows { rows in
            whole.bitmap.withUnsafeRows { others in
                (0..<min(rows.height, others.height)).first { y in
                    let count = rows.width * image.bitmap.format.bytesPerPixel
                    return !(0..<count).allSatisfy { rows.row(y)[$0] == others.row(y)[$0] }
                } ?? rows.height
            }
        }
    }

    private func hasDamage(_ warnings: [ImageWarning]) -> Bool { warnings.contains { $0.isDamage } }

    private func damage(_ image: Image) -> String? {
        image.warnings.compactMap { if case .damaged(let reason) = $0 { reason } else { nil } }.first
    }

    @Test("A file that is cut off is decoded as far as it goes", arguments: names)
    func cutOff(name: String) throws {
        let bytes = try fixture(name)
        let whole = try ImageDecoder.decode(bytes)
        let cut = Array(bytes[..<(bytes.count * 7 / 10)])
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(cut) }
        let image = try ImageDecoder.decode(cut, options: options())
        #expect(image.bitmap.size == whole.bitmap.size && damage(image)?.contains("truncated") == true, "\(image)")
        #expect(image.frames.count <= whole.frames.count)
        let equal = equalRows(image, whole)
        if !name.contains("interlaced"), !name.contains("progressive") {
            #expect(equal >= image.height / 3, "\(equal) of \(image.height) rows")
        }
        let found = try cut.withUnsafeBytes { bytes in
            Result { () throws(ImagingError) in try ImageProbe.inspect(bytes, limits: options().limits) }
        }.get()
        #expect(found.map { hasDamage($0.warnings) } == true && found?.info?.width == whole.width)
    }

    @Test("Every part of a file gives an error or a picture with a warning", arguments: names)
    func parts(name: String) throws {
        let bytes = try fixture(name)
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 97)) {
            guard let image = try? ImageDecoder.decode(Array(bytes[..<count]), options: options()) else { continue }
            let isWhole = image.warnings.contains { $0.message.contains("end mark") }
            #expect(damage(image) != nil || isWhole, "\(count)")
        }
    }

    @Test("Damaged data gives a picture with a warning", arguments: ["jpeg", "png", "gif"])
    func damaged(format: String) throws {
        let bytes = try DamagedPictures.make(format)
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
        let image = try ImageDecoder.decode(bytes, options: options())
        #expect(damage(image) != nil)
        let warnings = try bytes.withUnsafeBytes { bytes in
            Result { () throws(ImagingError) in try ImageDecoder.check(bytes, limits: options().limits) }
        }.get()
        #expect(hasDamage(warnings))
    }

    @Test("A whole file is decoded as ever", arguments: names)
    func whole(name: String) throws {
        let bytes = try fixture(name)
        let (tolerant, strict) = try (ImageDecoder.decode(bytes, options: options()), ImageDecoder.decode(bytes))
        #expect(tolerant == strict)
    }

    @Test("A PNG with a wrong checksum of its data is decoded whole")
    func checksum() throws {
        var bytes = try fixture("png/rgb.png")
        let place = try #require(bytes.firstRange(of: Array("IEND".utf8)))
        bytes[place.lowerBound - 5] ^= 1
        #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes) }
        let whole = try ImageDecoder.decode(fixture("png/rgb.png"))
        let image = try ImageDecoder.decode(bytes, options: options())
        #expect(image.bitmap == whole.bitmap)
    }

    @Test("Limits, other formats and files without a picture still fail")
    func refused() throws {
        for bytes in [
            try DamagedPictures.make("webp"), Array(try fixture("jpeg/grey.jpg")[..<100]),
            Array(try fixture("png/rgb.png")[..<40]), Array("GIF89a\u{1}\0\u{1}\0\0\0\0;".utf8),
        ] {
            #expect(throws: ImagingError.self) { try ImageDecoder.decode(bytes, options: options()) }
        }
        var small = options()
        small.limits.maxPixels = 10
        #expect(throws: ImagingError.self) {
            try ImageDecoder.decode(fixture("jpeg/grey.jpg"), options: small)
        }
    }

    @Test("A gain map that is not decoded is a warning")
    func gainMap() throws {
        let plain = try fixture("jpeg/grey.jpg")
        let xmp = Array("http://ns.adobe.com/xap/1.0/\0<x xmlns:hdrgm=\"http://ns.adobe.com/hdr-gain-map/1.0/\"/>".utf8)
        let iso = Array("urn:iso:std:iso:ts:21496:-1\0\0\0\0\0".utf8)
        let segment = [0xFF, 0xE2, 0, UInt8(iso.count + 2)] + iso
        for bytes in [Files.jpeg(plain, segment: xmp), Array(plain[..<2]) + segment + plain[2...]] {
            let image = try ImageDecoder.decode(bytes)
            #expect(image.warnings == [.gainMapLost])
            let checked = try bytes.checkFully()
            #expect(checked == [], "nothing is lost where the bytes stay")
        }
        let image = try ImageDecoder.decode(plain)
        #expect(image.warnings == [])
    }
}
