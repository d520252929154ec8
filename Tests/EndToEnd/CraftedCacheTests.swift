import Foundation
import Support
import Testing

extension EndToEnd {
    /// A restored CI cache may have been written by anyone.
    @Suite("A cache that another program has written")
    struct CraftedCacheTests {
        let kf: KFCommand
        let image = FixturesDirectory.url.appendingPathComponent("png/grey.png").path

        init() throws { kf = try KFCommand() }

        private var index: String { kf.cacheDirectory.appendingPathComponent("v1/index.sqlite").path }

        private func change(_ sql: String) async throws {
            let result = try await Tool.run("sqlite3", index, sql)
            try #require(result.status == 0, "\(result)")
        }

        private static let uses = [
            ["fetch", "IMAGE"], ["fetch", "IMAGE", "--force-refresh"], ["fetch", "OTHER", "--max-size", "60k"],
            ["prefetch", "--allow-local", "LIST"], ["prefetch", "--allow-local", "--verify", "LIST"],
            ["cache", "clean"], ["cache", "clean", "--all", "--yes"], ["cache", "clean", "--max-size", "1"],
            ["cache", "clean", "--host", "local"], ["cache", "rm", "IMAGE"], ["cache", "rm", "--glob", "*"],
            ["cache", "verify", "--repair"], ["cache", "path", "IMAGE"], ["cache", "explain", "IMAGE"],
            ["cache", "ls", "--long"], ["cache", "stat"],
        ]

        @Test("A path in the place of an extension removes and reads nothing outside; the cache heals", arguments: uses)
        func path(_ arguments: [String]) async throws {
            let path = try await kf.run("fetch", image).printedPath
            let victim = try kf.home.write("victim/thesis.txt", "precious")
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingPathExtension + ".x", withIntermediateDirectories: false)
            try await change(
                """
                UPDATE objects SET ext = 'x/../../../../../victim/thesis.txt', size = 8;
                UPDATE entries SET size = 8; UPDATE times SET expires = 0, accessed = 0;
                """)
            try kf.home.write("list", image + "\n")
            let other = FixturesDirectory.url.appendingPathComponent("jpeg/landscape-444.jpg").path
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

        @Test("Triggers and views are set aside with their index, and run nothing")
        func trigger() async throws {
            _ = try await kf.run("fetch", image)
            try await change(
                "CREATE TRIGGER t AFTER UPDATE ON times BEGIN UPDATE objects SET ext = 'x'; DELETE FROM entries; END")
            let result = try await kf.run("fetch", image)
            #expect(result.status == 0 && result.errors.contains("was damaged; it was moved to"), "\(result)")
            #expect(try await kf.run("fetch", image, "--json").item().status == "disk")
        }

        @Test(
            "Numbers at the ends of 64 bits end no command", arguments: ["9223372036854775807", "-9223372036854775808"])
        func numbers(_ number: String) async throws {
            _ = try await kf.run("fetch", image)
            try await change(
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

        @Test("An object of terabytes fails alone, before memory is taken for it")
        func hugeObject() async throws {
            let path = try await kf.run("fetch", image).printedPath
            #expect(chmod(path, 0o644) == 0 && truncate(path, 1 << 40) == 0)
            var status = stat()
            #expect(stat(path, &status) == 0)
            let modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            try await change(
                "UPDATE objects SET size = 1 << 40, mtime = \(modified); UPDATE entries SET size = 1 << 40")
            let other = FixturesDirectory.url.appendingPathComponent("png/rgb.png").path
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
            #expect(try String(contentsOf: kf.home.path("outside/file"), encoding: .utf8) == "precious")
        }

        @Test("Links in the place of the objects' folders get nothing written or removed elsewhere")
        func objectFolders() async throws {
            let outside = try outside()
            _ = try await kf.run("fetch", FixturesDirectory.url.appendingPathComponent("png/rgb.png").path)
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
            "A link in the place of what the cache is made of is refused, named, and not followed",
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
            "Without openat2 the way is walked, as safely",
            .enabled("strace cannot trace here") { await HitPathTests.canTrace() },
            arguments: ["ENOSYS", "EPERM"])
        func walking(_ code: String) async throws {
            func run(_ arguments: String...) async throws -> CommandResult {
                try await RunningCommand(
                    "strace",
                    [
                        "-f", "-qq", "-o", kf.home.path("trace").path, "-e", "trace=openat2", "-e",
                        "inject=openat2:error=\(code)",
                    ]
                        + [kf.binary.path] + arguments,
                    environment: kf.environment, directory: kf.home.url
                ).wait()
            }
            let outside = try outside()
            let path = try await run("fetch", image).printedPath
            let trace = try String(contentsOf: kf.home.path("trace"), encoding: .utf8)
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
