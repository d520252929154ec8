import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Formats that are only read")
    final class ReadFormatTests: CommandSuite {
        /// A TIFF of 2 × 1 grey pixels, in one strip.
        private func tiff() throws -> String {
            func entry(_ tag: UInt8, _ type: UInt8, _ value: UInt8) -> [UInt8] {
                [tag, 1, type, 0, 1, 0, 0, 0, value, 0, 0, 0]
            }
            let tags = [
                entry(0, 4, 2), entry(1, 4, 1), entry(2, 3, 8), entry(3, 3, 1), entry(6, 3, 1), entry(17, 4, 8),
            ]
            let rest = [entry(22, 4, 1), entry(23, 4, 2)]
            let bytes = Array("II*\0".utf8) + [10, 0, 0, 0, 30, 200, 8, 0] + (tags + rest).joined() + [0, 0, 0, 0]
            try kf.home.write("a.tif", Data(bytes))
            return kf.home.path("a.tif").path
        }

        @Test("A changed image becomes PNG, an unchanged one keeps its bytes")
        func keeping() async throws {
            let path = try tiff()
            let kept = try await kf.run("fetch", "--json", path, "-f", "keep", "-o", "b.tif").item()
            #expect(kept.format == "tiff" && kept.width == 2)
            #expect(try kf.contents("b.tif") == Data(contentsOf: URL(fileURLWithPath: path)))
            let changed = try await kf.run("fetch", "--json", path, "-f", "keep", "-p", "resize:4x").item()
            #expect(changed.format == "png" && changed.width == 4, "\(changed)")
            let asked = try await kf.run("fetch", "--json", path, "-f", "webp").item()
            #expect(asked.format == "webp")
        }

        @Test(
            "A format that is turned off is stored, delivered and not decoded",
            arguments: ["option", "variable", "file"])
        func decoders(_ way: String) async throws {
            let path = try tiff()
            var (kf, options) = (kf, [String]())
            switch way {
            case "option": options = ["--decoders", "jpeg,png,webp"]
            case "variable": kf.environment["KF_DECODERS"] = "jpeg,png,webp"
            default: try kf.home.write(".config/kf/config", Data("decoders = jpeg,png,webp\n".utf8))
            }
            let stored = try await kf.run(["fetch", "--json", path] + options)
            let item = try stored.item()
            #expect(stored.status == 0 && item.format == "tiff" && item.width == 2, "\(stored)")
            let refused = try await kf.run(["fetch", path, "-p", "resize:4x"] + options)
            #expect(
                refused.status != 0 && refused.errors.contains("decoding TIFF is turned off (--decoders)"), "\(refused)"
            )
            let copied = try await kf.run(["fetch", path, "-p", "resize:4x", "--undecoded", "copy"] + options)
            #expect(copied.status == 0, "\(copied)")
            let picture = FixturesDirectory.path("png/rgb.png")
            #expect(try await kf.run(["fetch", picture, "-p", "resize:4x"] + options).status == 0)
            #expect(try await kf.run("fetch", path, "--decoders", "svg").status == 2)
        }

        @Test(
            "Without its library a format is delivered, and a message names the package",
            arguments: [("tiff", "libtiff.so.6", "libtiff6"), ("heic", "libheif.so.1", "libheif1")])
        func missing(_ format: String, _ library: String, _ package: String) async throws {
            let lacking = try kf.lacking(library)
            let help = try await lacking.run("help", "formats")
            #expect(help.output.contains("Install \(package) (Debian, Ubuntu)"), "\(help)")
            #expect(try await lacking.run("--version", "-v").output.contains(package))
            guard format == "tiff" else { return }
            let path = try tiff()
            #expect(try await lacking.run("fetch", path).status == 0)
            let small = try await lacking.run("fetch", path, "-p", "resize:4x")
            #expect(small.status != 0 && small.errors.contains("install libtiff6"), "\(small)")
        }
    }
}
