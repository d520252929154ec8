import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Writing AVIF", .enabled(if: Tool.isInstalled("avifdec"), "avifdec is not installed"))
    final class AVIFWritingTests: CommandSuite {
        /// The lines of `avifdec --info`.
        private func info(_ path: String) async throws -> String {
            let result = try await RunningCommand(
                "avifdec", ["--info", path], environment: Tool.environment, directory: kf.home.url
            ).wait()
            try #require(result.status == 0, "\(result)")
            return result.output
        }

        private func size(_ name: String, _ options: String...) async throws -> Int {
            let result = try await kf.run(
                ["fetch", FixturesDirectory.path(name), "-f", "avif", "-o", "sized.avif"] + options)
            try #require(result.status == 0, "\(result)")
            return try kf.contents("sized.avif").count
        }

        @Test("The format avif and a name ending in .avif convert")
        func converts() async throws {
            let item = try await kf.run(
                "fetch", FixturesDirectory.path("jpeg/landscape-420.jpg"), "-p", "resize:120x90", "-f", "avif", "--json"
            ).item()
            #expect(item.format == "avif")
            let path = try #require(item.path)
            #expect(path.hasSuffix(".avif"))
            #expect(try await info(path).contains("120x90"))
            let named = try await kf.run("fetch", FixturesDirectory.path("png/rgba.png"), "-o", "named.avif")
            #expect(named.status == 0 && named.errors == "", "\(named)")
            #expect(try await info("named.avif").contains("Alpha          : Not premultiplied"))
        }

        @Test("Another quality or speed is another cache entry")
        func settings() async throws {
            let low = try await size("png/rgb.png", "--quality", "20")
            let high = try await size("png/rgb.png", "--quality", "95")
            #expect(low * 2 < high)
            let source = FixturesDirectory.path("png/rgb.png")
            var paths: Set<String> = []
            for options in [[], ["--speed", "9"], ["--quality", "50"], ["--quality", "50", "--speed", "9"]] {
                paths.insert(try await kf.run(["fetch", source, "-f", "avif"] + options).printedPath)
            }
            #expect(paths.count == 4)
            #expect(Set(try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }).count == 4)
            let usual = try await kf.run("fetch", source, "-f", "avif", "--speed", "6", "--quality", "60").printedPath
            #expect(paths.contains(usual))
            #expect(try await kf.run("fetch", source, "-f", "avif", "--speed", "11").status == 2)
        }

        @Test("An animation stays one in AVIF")
        func animation() async throws {
            let result = try await kf.run(
                "fetch", FixturesDirectory.path("gif/animated.gif"), "-p", "resize:60x", "-o", "a.avif")
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let text = try await info("a.avif")
            #expect(text.contains("(12 expected frames)") && text.contains("60x45"), "\(text)")
        }

        @Test("A prefetch and a variant write AVIF")
        func prefetch() async throws {
            try kf.home.write(
                "list",
                FixturesDirectory.path("png/rgb.png") + "\n" + FixturesDirectory.path("jpeg/landscape-420.jpg") + "\n")
            let result = try await kf.run(
                "prefetch", "list", "--allow-local", "-f", "avif", "-p", "resize:40x", "--output-dir", "out", "-q")
            #expect(result.status == 0, "\(result)")
            #expect(try await info("out/rgb.avif").contains("Resolution     : 40x"))
            #expect(try await info("out/landscape-420.avif").contains("Resolution     : 40x30"))
            let variant = try await kf.run(
                "fetch", FixturesDirectory.path("png/grey.png"), "--variant",
                "s=resize:32x|>encode:avif,quality=60,speed=8",
                "-o", "v.avif")
            #expect(variant.status == 0, "\(variant)")
            #expect(try await info("v.avif").contains("Resolution     : 32x"))
        }

        @Test("Without libavif a message names the package")
        func missingLibrary() async throws {
            let bare = try kf.lacking("libavif.so.15", "libavif.so.16")
            let source = FixturesDirectory.path("png/grey.png")
            let result = try await bare.run("fetch", source, "-f", "avif")
            #expect(result.status == 1 && result.errors.contains("install libavif1"), "\(result)")
            #expect(try await bare.run("fetch", source, "-f", "webp").status == 0)
        }
    }
}
