import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache statistics")
    final class CacheStatTests: CommandSuite {
        private func fill() async throws {
            let files = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"].map(FixturesDirectory.path)
            let result = try await kf.run(["fetch"] + files)
            try #require(result.status == 0, "\(result)")
        }

        private func stat(_ arguments: String...) async throws -> [String: Any] {
            let objects = try await kf.run(["cache", "stat", "--json"] + arguments).objects()
            return try #require(objects.count == 1 ? objects.first : nil)
        }

        @Test("The tags of a cache are listed with their entries")
        func tags() async throws {
            #expect(try await kf.run("cache", "tags").output == "")
            let picture = FixturesDirectory.path("png/grey.png")
            _ = try await kf.run("fetch", picture, "--tag", "site", "--tag", "a b", "-q")
            _ = try await kf.run("fetch", picture, "-p", "resize:20x", "--tag", "site", "-q")
            let lines = try await kf.run("cache", "tags").outputLines
            #expect(
                lines.count == 2 && lines[0].hasPrefix("a b   1 entry, 22.1 KiB")
                    && lines[1].hasPrefix("site  2 entries, "))
            let objects = try await kf.run("cache", "tags", "--json").objects()
            #expect(objects.map { $0["name"] as? String } == ["a b", "site"])
            #expect(objects.map { $0["entries"] as? Int } == [1, 2])
        }

        @Test("The statistics show ages, formats and the limit")
        func words() async throws {
            try await fill()
            let result = try await kf.run("cache", "stat", "--max-size", "1M")
            #expect(result.output.contains(/limit +1 MiB, \d+ % full/), "\(result)")
            #expect(result.output.contains(/ages +< 1h +#{30} +3\n/), "\(result)")
            #expect(!result.output.contains("on the disk"), "\(result)")
            #expect(try await kf.run("cache", "stat", "-v").output.contains("on the disk"))
            let quiet = try await kf.run("cache", "stat", "-q")
            #expect(result.output.contains(kf.cacheDirectory.path), "\(result)")
            #expect(quiet.outputLines.count == 1 && quiet.output.hasPrefix("3 entries, "), "\(quiet)")
        }

        @Test("The statistics in JSON count entries and disk blocks")
        func allocated() async throws {
            let none = try await stat()
            #expect(none["entries"] as? Int == 0 && TemporaryDirectory.files(in: kf.cacheDirectory) == [])
            try await fill()
            let object = try await stat("-v")
            let sum = try kf.cachedObjects().reduce(0) { sum, name in
                let file = kf.cacheDirectory.appendingPathComponent(name).path
                let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
                return sum + (size + 4095) / 4096 * 4096
            }
            #expect(object["allocated_bytes"] as? Int == sum && object["schema"] as? Int == 1)
            #expect(try await stat()["allocated_bytes"] is NSNull && object["entries"] as? Int == 3)
        }

        @Test("The statistics count expired entries")
        func expired() async throws {
            let file = FixturesDirectory.path("png/grey.png")
            _ = try await kf.run("fetch", file, "--expire", "1ms")
            let object = try await stat()
            #expect(object["expired"] as? Int == 1 && object["expired_exact"] as? Bool == true, "\(object)")
        }

        @Test("Resetting the counts records the time")
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
    }
}
