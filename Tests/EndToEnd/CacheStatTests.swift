import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Figures of the cache")
    struct CacheStatTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        private func fill() async throws {
            let files = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"].map { FixturesDirectory.url.path + "/" + $0 }
            let result = try await kf.run(["fetch"] + files)
            try #require(result.status == 0, "\(result)")
        }

        private func stat(_ arguments: String...) async throws -> [String: Any] {
            try #require(try await kf.run(["cache", "stat", "--json"] + arguments).objects().first)
        }

        @Test("Ages, formats and the limit are said; -q is one line, -v says what the files take on the disk")
        func words() async throws {
            try await fill()
            let result = try await kf.run("cache", "stat", "--max-size", "1M")
            #expect(result.output.contains(/limit +1 MiB, \d+ % full/), "\(result)")
            #expect(result.output.contains(/ages +< 1h +#{30} +3\n/), "\(result)")
            #expect(!result.output.contains("on the disk"), "\(result)")
            #expect(try await kf.run("cache", "stat", "-v").output.contains("on the disk"))
            let quiet = try await kf.run("cache", "stat", "-q")
            #expect(quiet.outputLines.count == 1 && quiet.output.hasPrefix("3 entries, "), "\(quiet)")
        }

        @Test("What the files take is whole blocks, as du counts them")
        func allocated() async throws {
            try await fill()
            let object = try await stat("-v")
            let sum = try kf.cachedObjects().reduce(0) { sum, name in
                let file = kf.cacheDirectory.appendingPathComponent(name).path
                let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
                return sum + (size + 4095) / 4096 * 4096
            }
            #expect(object["allocated_bytes"] as? Int == sum)
            #expect(try await stat()["allocated_bytes"] is NSNull)
        }

        @Test("Expired entries are counted")
        func expired() async throws {
            let file = FixturesDirectory.url.path + "/png/grey.png"
            _ = try await kf.run("fetch", file, "--expire", "1ms")
            let object = try await stat()
            #expect(object["expired"] as? Int == 1 && object["expired_exact"] as? Bool == true, "\(object)")
        }

        @Test("--reset sets the counts to zero and says since when")
        func reset() async throws {
            try await fill()
            try await fill()
            let before = try await stat()
            #expect(before["hits"] as? Int == 3 && before["misses"] as? Int == 3, "\(before)")
            #expect(before["counted_since"] is NSNull)
            let after = try await stat("--reset")
            #expect(after["hits"] as? Int == 0 && after["misses"] as? Int == 0, "\(after)")
            try await fill()
            let later = try await stat()
            #expect(later["hits"] as? Int == 3 && (later["counted_since"] as? Int ?? 0) > 1_600_000_000, "\(later)")
        }

        @Test("rm says what fits nothing; a directory without kf's marker is refused, whatever its folders are called")
        func refusals() async throws {
            try await fill()
            let nothing = try await kf.run("cache", "rm", "--glob", "*.webp")
            #expect(nothing.status == 1 && nothing.errors.contains("*.webp"), "\(nothing)")
            try kf.home.write("mine/v1/objects/ab/letter.txt", "keep me")
            let mine = kf.home.path("mine").path
            for arguments in [["clean", "--all", "--yes"], ["verify", "--repair"], ["rm", "--glob", "*"]] {
                let result = try await kf.run(["cache"] + arguments + ["--cache-dir", mine])
                #expect(result.status == 3, "\(result)")
                #expect(TemporaryDirectory.files(in: kf.home.path("mine")) == ["v1/objects/ab/letter.txt"], "\(result)")
            }
        }

        @Test("rm takes paths, and keys as ls shows them")
        func removeFiles() async throws {
            try await fill()
            #expect(try await kf.run("cache", "rm", FixturesDirectory.url.path + "/png/grey.png").status == 0)
            let key = try #require(try await kf.run("cache", "ls", "--json").objects().first?["key"] as? String)
            #expect(try await kf.run("cache", "rm", key).status == 0)
            #expect(kf.cachedObjects().count == 1)
        }
    }
}
