import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Sizes and spans")
    final class QuantityTests: CommandSuite {
        @Test(
            "A printed size can be given as a limit",
            arguments: [
                ("5G", "5 GiB"), ("5GiB", "5 GiB"), ("5 GiB", "5 GiB"), ("512m", "512 MiB"), ("1500M", "1500 MiB"),
                ("1.5G", "1.50 GiB"), ("1.50 GiB", "1.50 GiB"), ("1023k", "1023 KiB"), ("1KB", "1 KiB"),
                ("700", "700 B"),
                ("2T", "2 TiB"), ("3P", "3 PiB"), ("1000000", "977 KiB"),
            ])
        func limits(_ given: String, _ printed: String) async throws {
            try kf.home.write("a.png", FixturesDirectory.named("png/one-pixel.png").data)
            _ = try await kf.run("fetch", "-q", "a.png")
            let text = try await kf.run("cache", "stat", "--max-size", given).output
            #expect(text.contains("limit      \(printed), "), "\(text)")
        }

        @Test("Listed sizes and spans are rounded")
        func entries() async throws {
            try kf.home.write("a.png", FixturesDirectory.named("png/rgb.png").data)
            let bytes = try FixturesDirectory.named("png/rgb.png").data.count
            for (given, shown) in [("7d", "in 7d"), ("48h", "in 2d"), ("3600s", "in 1h"), ("600s", "in 10m")] {
                _ = try await kf.run("fetch", "-q", "a.png", "--force-refresh", "--expire", given)
                let row = try await kf.run("cache", "ls").output
                #expect(row.contains("  \(shown) "), "\(row)")
                let size = String(format: "%.3g KiB", Double(bytes) / 1024)
                #expect(row.trimmingPrefix(while: \.isWhitespace).hasPrefix(size), "\(size): \(row)")
            }
        }

        @Test("A small cache has a small reserve")
        func reserve() async throws {
            try kf.home.write("a.png", FixturesDirectory.named("png/rgb.png").data)
            _ = try await kf.run("fetch", "-q", "a.png")
            let reserve = kf.cacheDirectory.appendingPathComponent("v1/reserve").path
            #expect(try FileManager.default.attributesOfItem(atPath: reserve)[.size] as? Int == 128 << 10)
            let archive = kf.home.path("cache.tar").path
            let packed = try await Tool.run("tar", "-cf", archive, "-C", kf.cacheDirectory.path, ".")
            #expect(packed.status == 0)
            #expect(try FileManager.default.attributesOfItem(atPath: archive)[.size] as? Int ?? .max < 700_000)
        }
    }
}
