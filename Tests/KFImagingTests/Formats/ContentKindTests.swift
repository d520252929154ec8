import Testing

@testable import KFImaging

@Suite("Kinds of files by their first bytes")
struct ContentKindTests {
    private func sniff(_ bytes: [UInt8]) -> ContentKind { bytes.withRaw(ContentKind.sniff) }
    private func sniff(_ text: String) -> ContentKind { sniff(Array(text.utf8)) }

    @Test("Image formats are told apart") func images() {
        #expect(sniff([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .image(.png))
        #expect(sniff([0xFF, 0xD8, 0xFF, 0xE0]) == .image(.jpeg))
        #expect(sniff("GIF89a") == .image(.gif))
        #expect(sniff("RIFF\0\0\0\0WEBPVP8 ") == .image(.webp))
        #expect(sniff("RIFF\0\0\0\0WAVEfmt ") == .unknown)
        #expect(sniff([0, 0, 0, 24] + Array("ftypavif\0\0\0\0avifmif1".utf8)) == .image(.avif))
        #expect(sniff([0, 0, 0, 24] + Array("ftypmif1\0\0\0\0mif1avif".utf8)) == .image(.avif))
        #expect(sniff([0, 0, 0, 24] + Array("ftypheic\0\0\0\0mif1heic".utf8)) == .image(.heic))
        #expect(sniff([0, 0, 0, 24] + Array("ftypisom\0\0\0\0isommp42".utf8)) == .unknown)
        #expect(sniff([0xFF, 0x0A, 0, 0]) == .image(.jxl))
        #expect(sniff([0x49, 0x49, 0x2A, 0, 8, 0, 0, 0]) == .image(.tiff))
        #expect(sniff([0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8]) == .image(.tiff))
        #expect(sniff(Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0]) == .image(.bmp))
        #expect(sniff("BMW drivers of the world") == .unknown)
        #expect(sniff([0, 0, 1, 0, 1, 0] + [UInt8](repeating: 0, count: 16)) == .image(.ico))
    }

    @Test("Declarations and comments before SVG and HTML are skipped") func text() {
        #expect(sniff("<svg xmlns='http://www.w3.org/2000/svg'/>") == .image(.svg))
        #expect(sniff("\u{FEFF}<?xml version='1.0'?>\n<!-- made by hand -->\n<svg>") == .image(.svg))
        #expect(sniff("<?xml version='1.0'?><s:svg xmlns:s='http://www.w3.org/2000/svg'>") == .image(.svg))
        #expect(sniff("\n  <!DOCTYPE html><html>") == .html)
        #expect(sniff("<HTML><body>an <svg> inside") == .html)
        #expect(sniff("<?xml version='1.0'?><rss>") == .unknown)
    }

    @Test("Empty and meaningless files are unknown") func unknown() {
        #expect(sniff([]) == .unknown)
        #expect(sniff([0xFF, 0xD8]) == .unknown)
        #expect(sniff("<!-- never closed") == .unknown)
        #expect(sniff("{\"error\":404}") == .unknown)
    }

    @Test("Encoders write the requested format") func encoders() throws {
        let image = Image(try Pictures.gradient(8, 8))
        // Another test registers a codec for JPEG 2000.
        for format in ImageFormat.allCases
        where format != .jp2 && ImageCodecs.own.contains(where: { $0.format == format }) {
            if format.isEncodable {
                #expect(sniff(try ImageEncoder.encode(image, as: format)) == .image(format))
            } else {
                let error = #expect(throws: ImagingError.self) { try ImageEncoder.encode(image, as: format) }
                #expect(error?.message == "encoding \(format.displayName) is not supported")
            }
        }
    }

    @Test("Every format has its own extension") func extensions() {
        #expect(Set(ImageFormat.allCases.map(\.fileExtension)).count == ImageFormat.allCases.count)
    }
}
