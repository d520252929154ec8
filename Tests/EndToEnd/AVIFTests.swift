import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite(
        "Reading AVIF",
        .enabled(if: Tool.isInstalled("avifenc"), "no avifenc (package libavif-bin)"))
    final class AVIFTests: CommandSuite {
        /// An AVIF of a fixture, in the test's directory.
        private func file(_ name: String, _ options: String...) async throws -> String {
            let picture = FixturesDirectory.path("png/rgb.png")
            let path = kf.home.path(name).path
            let made = try await RunningCommand(
                "/usr/bin/avifenc", ["-s", "10"] + options + [picture, path], environment: Tool.environment
            ).wait()
            try #require(made.status == 0, "\(made)")
            return path
        }

        @Test("An AVIF is scaled, converted and decoded completely") func thumbnail() async throws {
            let path = try await file("a.avif", "--irot", "1")
            let original = try await kf.run("fetch", "--json", path).item()
            let width = try #require(original.width)
            #expect(original.format == "avif" && original.frames == 1)
            let small = try await kf.run("fetch", "--json", path, "-p", "resize:20x", "-f", "png").item()
            #expect(small.format == "png" && small.width == 20 && width > 20)
            let full = try await kf.run("fetch", "--json", "--check", "full", "--force-refresh", path)
            #expect(try full.objects().first?["check"] as? String == "full", "\(full)")
        }

        @Test("Without libavif an AVIF is delivered unchanged, and a message says why")
        func missingLibrary() async throws {
            let path = try await file("a.avif")
            let lacking = try kf.lacking(
                "libavif.so.13", "libavif.so.14", "libavif.so.15", "libavif.so.16", "libavif.so.17")
            let untouched = try await lacking.run("fetch", path, "-o", kf.home.path("out.avif").path)
            #expect(untouched.status == 0, "\(untouched)")
            #expect(try kf.contents("out.avif") == Data(contentsOf: URL(fileURLWithPath: path)))
            let checked = try await lacking.run("fetch", "--json", "--check", "full", "--force-refresh", path)
            #expect(checked.status == 0, "\(checked)")
            #expect(try checked.objects().first?["check"] as? String == "structure", "\(checked)")
            let small = try await lacking.run("fetch", path, "-p", "resize:20x")
            #expect(
                small.status != 0
                    && small.errors.contains("AVIF needs a library that cannot be loaded (")
                    && small.errors.contains("install libavif1"),
                "\(small)")
        }
    }
}
