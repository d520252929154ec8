import Foundation
import Support
import Testing

extension EndToEnd {
    /// A restored CI cache may have been written by anyone.
    @Suite("Crafted caches")
    final class CraftedCacheTests: CommandSuite {
        let image = FixturesDirectory.path("png/grey.png")

        private static let uses = [
            ["fetch", "IMAGE"], ["fetch", "IMAGE", "--force-refresh"], ["fetch", "OTHER", "--max-size", "60k"],
            ["prefetch", "--allow-local", "LIST"], ["prefetch", "--allow-local", "--verify", "LIST"],
            ["cache", "clean"], ["cache", "clean", "--all", "--yes"], ["cache", "clean", "--max-size", "1"],
            ["cache", "clean", "--host", "local"], ["cache", "rm", "IMAGE"], ["cache", "rm", "--glob", "*"],
            ["cache", "verify", "--repair"], ["cache", "path", "IMAGE"], ["cache", "explain", "IMAGE"],
            ["cache", "ls", "--long"], ["cache", "stat"],
        ]

        @Test("A path in place of an extension reaches no file outside", arguments: uses)
        func path(_ arguments: [String]) async throws {
            let path = try await kf.run("fetch", image).printedPath
            let victim = try kf.home.write("victim/thesis.txt", "precious")
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingPathExtension + ".x", withIntermediateDirectories: false)
            try await kf.changeIndex(
                """
                UPDATE objects SET ext = 'x/../../../../../victim/thesis.txt', size = 8;
                UPDATE entries SET size = 8; UPDATE times SET expires = 0, accessed = 0;
                """)
            try kf.home.write("list", image + "\n")
            let other = FixturesDirectory.path("jpeg/landscape-444.jpg")
            let words = arguments.map { ["IMAGE": image, "OTHER": other, "LIST": "list"][$0] ?? $0 }
            let result = try await kf.run(words)
            #expect([0, 1].contains(result.status), "\(result)")
            #expect(try String(contentsOf: victim, encoding: .utf8) == "precious", "\(result)")
            #expect(!result.output.contains("thesis"), "\(result)")
            #expect(try await kf.run("fetch", image).status == 0)
            #expect(try await kf.run("cache", "verify", "--repair").status == 0)
            #expect(try await kf.run("cache", "verify").output.contains("no damage"))
            #expect(try await kf.run("fetch", image, "--json").item().status == "disk")
            #expect(try String(contentsOf: victim, encoding: .utf8) == "precious")
        }

        @Test("The triggers of a crafted index never run")
        func trigger() async throws {
            _ = try await kf.run("fetch", image)
            try await kf.changeIndex(
                "CREATE TRIGGER t AFTER UPDATE ON times BEGIN UPDATE objects SET ext = 'x'; DELETE FROM entries; END")
            let result = try await kf.run("fetch", image)
            #expect(result.status == 0 && result.errors.contains("was damaged; it was moved to"), "\(result)")
            #expect(try await kf.run("fetch", image, "--json").item().status == "disk")
        }

        @Test(
            "Extreme numbers in the index do not stop any command",
            arguments: ["9223372036854775807", "-9223372036854775808"])
        func numbers(_ number: String) async throws {
            _ = try await kf.run("fetch", image)
            try await kf.changeIndex(
                """
                UPDATE entries SET size = \(number), created = \(number), ttl = \(number), extending = \(number);
                UPDATE times SET accessed = \(number), expires = \(number), hits = \(number);
                UPDATE objects SET refs = \(number), mtime = \(number), width = \(number), height = \(number);
                UPDATE totals SET stored = \(number), bytes = \(number), entries = \(number);
                UPDATE hosts SET bytes = \(number); UPDATE ages SET entries = \(number), bytes = \(number);
                """)
            let lock = FileHandle(forUpdatingAtPath: kf.cacheDirectory.appendingPathComponent("v1/lock").path)
            try lock?.write(contentsOf: Data(repeating: number.hasPrefix("-") ? 0x80 : 0x7f, count: 64))
            try lock?.close()
            try kf.home.write("list", image + "\n")
            for arguments in [
                ["cache", "stat", "--json"], ["cache", "stat"], ["cache", "ls", "--long"], ["cache", "ls", "--json"],
                ["cache", "explain", image], ["cache", "path", image], ["cache", "report", "-o", "report.html"],
                ["cache", "verify"],
                ["prefetch", "--allow-local", "list"], ["fetch", image], ["cache", "clean"],
                ["cache", "verify", "--repair"],
            ] {
                let result = try await kf.run(arguments)
                #expect([0, 1].contains(result.status), "\(arguments): \(result)")
            }
            for _ in 0..<2 { _ = try await kf.run("cache", "verify", "--repair") }
            #expect(try await kf.run("cache", "verify").output.contains("no damage"))
        }

        @Test("An object of a terabyte fails alone")
        func hugeObject() async throws {
            let path = try await kf.run("fetch", image).printedPath
            #expect(chmod(path, 0o644) == 0 && truncate(path, 1 << 40) == 0)
            var status = stat()
            #expect(stat(path, &status) == 0)
            let modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            try await kf.changeIndex(
                "UPDATE objects SET size = 1 << 40, mtime = \(modified); UPDATE entries SET size = 1 << 40")
            let other = FixturesDirectory.path("png/rgb.png")
            let result = try await kf.run("fetch", image, other, "-p", "resize:8x8")
            #expect(result.status == 3 && result.output.split(separator: "\n").count == 1, "\(result)")
            #expect(result.errors.contains("File too large"), "\(result)")
        }

        /// The files outside, which must stay what they are.
        private func outside() throws -> URL {
            try kf.home.write("outside/file", "precious")
            return kf.home.path("outside")
        }

        private func expectUntouched() throws {
            #expect(TemporaryDirectory.files(in: kf.home.path("outside")) == ["file"])
            #expect(try kf.text("outside/file") == "precious")
        }

        @Test("Links in place of object folders are not followed")
        func objectFolders() async throws {
            let outside = try outside()
            _ = try await kf.run("fetch", FixturesDirectory.path("png/rgb.png"))
            for number in 0..<256 {
                let name = (number < 16 ? "0" : "") + String(number, radix: 16)
                let folder = kf.cacheDirectory.appendingPathComponent("v1/objects/\(name)")
                if FileManager.default.fileExists(atPath: folder.path) {
                    try FileManager.default.removeItem(at: folder)
                }
                try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: outside)
            }
            #expect(try await kf.run("fetch", image).status == 0)
            try expectUntouched()
            #expect(try await kf.run("fetch", image, "--json").item().status == "disk")
            #expect(try await kf.run("cache", "clean", "--all", "--yes").status == 0)
            #expect(try await kf.run("cache", "verify", "--repair").status == 0)
            try expectUntouched()
        }

        @Test(
            "A link in place of a cache directory is refused",
            arguments: ["v1", "v1/objects", "v1/tmp", "v1/partial", "v1/lock"])
        func links(_ name: String) async throws {
            let outside = try outside()
            _ = try await kf.run("fetch", image)
            let place = kf.cacheDirectory.appendingPathComponent(name)
            try FileManager.default.removeItem(at: place)
            try FileManager.default.createSymbolicLink(
                at: place, withDestinationURL: name == "v1/lock" ? outside.appendingPathComponent("file") : outside)
            try kf.home.write("list", image + "\n")
            for arguments in [
                ["fetch", image, "--force-refresh"], ["prefetch", "--allow-local", "list"], ["cache", "stat"],
                ["cache", "clean", "--all", "--yes"],
            ] {
                let result = try await kf.run(arguments)
                #expect(result.status == 3 && result.errors.contains("\(place.path) is a link"), "\(result)")
            }
            try expectUntouched()
        }

        @Test(
            "Without openat2 links are refused as well",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() },
            arguments: ["ENOSYS", "EPERM"])
        func walking(_ code: String) async throws {
            func run(_ arguments: String...) async throws -> CommandResult {
                try await kf.run(
                    arguments, under: "strace", "-f", "-qq", "-o", kf.home.path("trace").path, "-e", "trace=openat2",
                    "-e", "inject=openat2:error=\(code)")
            }
            let outside = try outside()
            let path = try await run("fetch", image).printedPath
            let trace = try kf.text("trace")
            #expect(trace.contains("INJECTED"), "the check itself no longer works: \(trace)")
            #expect(try await run("fetch", image, "--json").item().status == "disk")
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.removeItem(at: folder)
            try FileManager.default.createSymbolicLink(at: folder, withDestinationURL: outside)
            #expect(try await run("fetch", image, "--json").item().status == "fetched")
            #expect(try await run("cache", "clean", "--all", "--yes").status == 0)
            #expect(try await run("cache", "verify", "--json").status == 0)
            try expectUntouched()
        }
    }
}
