import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("ICO and BMP")
    final class IconTests: CommandSuite {
        @Test(
            "An ICO or BMP is delivered unchanged",
            arguments: ["ico/bitmaps.ico", "ico/png-large.ico", "bmp/rle8.bmp", "bmp/palette-os2.bmp"])
        func original(_ name: String) async throws {
            let fixture = try FixturesDirectory.named(name)
            let result = try await kf.run("fetch", "--json", "--check", "full", fixture.url.path)
            let item = try result.item()
            #expect(item.format == fixture.format && item.width == fixture.width && item.height == fixture.height)
            #expect(item.frames == 1)
            let object = try #require(try result.objects().first)
            #expect(object["decodable"] as? Bool == true && object["check"] as? String == "full", "\(result)")
            let file = URL(fileURLWithPath: try #require(item.path))
            #expect(try file.pathExtension == fixture.format && Data(contentsOf: file) == fixture.data)
        }

        @Test("A processed ICO or BMP becomes a PNG", arguments: ["ico/bitmaps.ico", "ico/png.ico", "bmp/rgba-v4.bmp"])
        func processed(_ name: String) async throws {
            let result = try await kf.run("fetch", "--json", "-p", "resize:24x24", FixturesDirectory.path(name))
            let item = try result.item()
            #expect(result.status == 0 && result.errors == "" && item.format == "png", "\(result)")
            let file = URL(fileURLWithPath: try #require(item.path))
            let header = try PNGHeader(Data(contentsOf: file))
            #expect(file.pathExtension == "png" && header.width == 24 && header.height == 24)
            // A picture of few colours has a palette, with the transparency beside it.
            #expect(header.hasAlpha || header.colourType == 3)
        }

        @Test("ICO and BMP cannot be written")
        func writing() async throws {
            for format in ["ico", "bmp"] {
                let refused = try await kf.run("fetch", "-f", format, FixturesDirectory.path("png/rgba.png"))
                #expect(refused.status == 2 && refused.errors.contains("'\(format)'"), "\(refused)")
                let output = "x.\(format)"
                let named = try await kf.run(
                    "fetch", "-p", "resize:8x8", FixturesDirectory.path("ico/bitmaps.ico"), "-o", output)
                #expect(named.status == 0 && named.errors.contains("\(output) has the bytes of PNG"), "\(named)")
            }
        }
    }
}
