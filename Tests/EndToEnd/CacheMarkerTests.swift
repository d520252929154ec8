import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache markers")
    final class CacheMarkerTests: CommandSuite {
        let image = FixturesDirectory.path("png/grey.png")

        private var tag: URL { kf.cacheDirectory.appendingPathComponent("CACHEDIR.TAG") }

        private static let commands = [
            ["cache", "stat"], ["cache", "ls"], ["cache", "path", "IMAGE"], ["cache", "explain", "IMAGE"],
            ["cache", "verify"], ["cache", "verify", "--repair"], ["cache", "report", "-o", "report.html"],
            ["cache", "clean"],
            ["cache", "rm", "IMAGE"], ["cache", "clean", "--all", "--yes"], ["fetch", "IMAGE"],
        ]

        @Test("An empty or missing marker does not stop any command", arguments: [true, false])
        func crash(isEmpty: Bool) async throws {
            for arguments in Self.commands {
                #expect(try await kf.run("fetch", image).status == 0)
                try FileManager.default.removeItem(at: tag)
                if isEmpty { try Data().write(to: tag) }
                let result = try await kf.run(arguments.map { $0 == "IMAGE" ? image : $0 })
                #expect(result.status == 0 && result.errors.isEmpty, "\(arguments): \(result)")
            }
            #expect(
                try String(contentsOf: tag, encoding: .utf8).hasPrefix("Signature: 8a477f597d28d172789f06886806bc55"))
        }

        @Test(
            "A directory with other files in it is refused, unchanged",
            arguments: ["holiday.txt", "objects/letter.txt", "v1/objects/ab/letter.txt"])
        func stranger(file: String) async throws {
            try kf.home.write("cache/\(file)", "keep me")
            try kf.home.write("list", image + "\n")
            for arguments in [
                ["fetch", image], ["prefetch", "--allow-local", "list"], ["cache", "stat"],
                ["cache", "clean", "--all", "--yes"], ["cache", "verify", "--repair"], ["cache", "rm", "--glob", "*"],
            ] {
                let result = try await kf.run(arguments)
                #expect(result.status == 3 && result.output.isEmpty, "\(arguments): \(result)")
                #expect(result.errors.contains("is not a kf cache"), "\(arguments): \(result)")
                #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [file], "\(result)")
            }
        }
    }
}
