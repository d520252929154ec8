import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Full checks")
    struct CheckTests {
        var kf: KFCommand

        init() throws { kf = try KFCommand() }

        private func damaged(_ format: String) throws -> String {
            try kf.home.write("damaged.\(format)", Data(DamagedPictures.make(format))).path
        }

        /// The `check` of the items, null as "null".
        private func checks(_ result: CommandResult) throws -> [String] {
            try result.objects().filter { $0.keys.contains("source") }.map { $0["check"] as? String ?? "null" }
        }

        @Test(
            "A full check refuses damage that only decoding shows",
            arguments: DamagedPictures.formats)
        func damage(_ format: String) async throws {
            let path = try damaged(format)
            let refused = try await kf.run("fetch", "--json", "--check", "full", path)
            let item = try refused.item()
            #expect(refused.status == 1 && item.error?.code == 2008, "\(refused)")
            #expect(item.path == nil && kf.cachedObjects() == [] && kf.leftovers() == [])
            let stored = try await kf.run("fetch", "--json", path)
            #expect(try stored.status == 0 && checks(stored) == ["structure"], "\(stored)")
        }

        @Test("A full check accepts whole images and skips cached ones", arguments: ["fetch", "prefetch"])
        func whole(_ command: String) async throws {
            let sources = FixturesDirectory.all.map(\.url.path)
            try kf.home.write("list", sources.joined(separator: "\n"))
            let arguments = command == "fetch" ? ["fetch"] + sources : ["prefetch", "list", "--allow-local"]
            let first = try await kf.run(arguments + ["--json", "--check", "full"])
            #expect(first.status == 0, "\(first)")
            #expect(try checks(first) == sources.map { _ in "full" })
            let second = try await kf.run(arguments + ["--json", "--check", "full"])
            #expect(try checks(second) == sources.map { _ in "null" })
        }

        @Test("A refused large body is requested once and leaves no files")
        func transfer() async throws {
            let bytes = try DamagedPictures.make("png")
            // Long enough to be written to a file while it comes.
            let filling = PNGChunk.bytes("fiLl", [UInt8](repeating: 7, count: 600_000))
            let body = bytes[..<33] + filling + bytes[33...]
            let server = try FaultServer { _ in
                [.reply(headers: ["ETag: \"1\"", "Accept-Ranges: bytes"], body: Array(body))]
            }
            let refused = try await kf.run("fetch", "--check", "full", server.url("/a.png"))
            #expect(refused.status == 1 && refused.errors.contains("[2008]"), "\(refused)")
            #expect(kf.cachedObjects() == [] && kf.leftovers() == [])
            #expect(server.requests.count == 1)
            #expect(try await kf.run("fetch", server.url("/a.png")).status == 0)
        }

        @Test("Verbose output names the level of the check")
        func verbose() async throws {
            let path = FixturesDirectory.path("png/rgb.png")
            try kf.home.write("list", path)
            let full = try await kf.run("fetch", path, "-v", "--check", "full")
            #expect(full.errors.contains("bytes (check: full)"), "\(full)")
            let structure = try await kf.run("fetch", path, "-v", "--force-refresh")
            #expect(structure.errors.contains("bytes (check: structure)"), "\(structure)")
            let listed = try await kf.run(
                "prefetch", "list", "--allow-local", "-v", "--force-refresh", "--check", "full")
            #expect(listed.errors.contains("\(path): fetched (forced) (check: full)\n"), "\(listed)")
        }

        @Test("Formats that kf cannot decode pass a full check")
        func undecodable() async throws {
            try kf.home.write("a.jp2", Data([0xFF, 0x4F, 0xFF, 0x51] + [UInt8](repeating: 0, count: 64)))
            var jpeg = try [UInt8](FixturesDirectory.named("jpeg/landscape-420.jpg").data)
            let frame = try #require(jpeg.firstRange(of: [0xff, 0xc0])?.lowerBound)
            jpeg[frame + 1] = 0xc1
            jpeg[frame + 4] = 12
            try kf.home.write("b.jpg", Data(jpeg))
            let result = try await kf.run("fetch", "--json", "--check", "full", "a.jp2", "b.jpg")
            #expect(try result.status == 0 && checks(result) == ["none", "structure"], "\(result)")
        }

        @Test("A full check keeps warnings and covers processed images")
        func warnings() async throws {
            try kf.home.write("a.gif", FixturesDirectory.named("gif/animated.gif").data.dropLast())
            let warned = try await kf.run("fetch", "--json", "--check", "full", "a.gif")
            let object = try #require(try warned.objects().first)
            #expect(object["warnings"] as? [String] == ["the GIF has no end marker; all its pixels are present"])
            #expect(object["check"] as? String == "full" && warned.status == 0)
            // The first frame is whole; the last is not.
            let path = try damaged("gif")
            let first = try await kf.run("fetch", "--json", "--check", "full", "--first-frame", path)
            #expect(try first.item().error?.code == 2008, "\(first)")
            let variants = try await kf.run(
                "fetch", "--json", "--check", "full", "--variant", "s=resize:20x", "--variant", "l=resize:40x",
                FixturesDirectory.path("jpeg/grey.jpg"))
            #expect(try checks(variants) == ["full", "full"], "\(variants)")
        }

        @Test("The environment and the config file set the check")
        func layers() async throws {
            let path = try damaged("jpeg")
            var inEnvironment = kf
            inEnvironment.environment["KF_CHECK"] = "full"
            #expect(try await inEnvironment.run("fetch", path).status == 1)
            try kf.home.write(".config/kf/config", "check = full\n")
            #expect(try await kf.run("fetch", path).status == 1)
            #expect(try await kf.run("fetch", path, "--check", "structure").status == 0)
            let wrong = try await kf.run("fetch", path, "--check", "half")
            #expect(wrong.status == 2 && wrong.errors.contains("structure"), "\(wrong)")
        }
    }
}
