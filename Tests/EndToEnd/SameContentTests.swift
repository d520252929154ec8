import Foundation
import Support
import Testing

extension EndToEnd {
    /// Processed images of local files, whose keys are their paths, sizes and times.
    @Suite("Images of the same content")
    struct SameContentTests {
        private let kf: KFCommand

        init() throws {
            kf = try KFCommand()
            for name in ["grey", "rgb"] {
                try kf.home.write("site/\(name).png", FixturesDirectory.named("png/\(name).png").data)
            }
        }

        private func statuses(_ arguments: String...) async throws -> [String?] {
            let result = try await kf.run(["fetch"] + arguments + ["-P", "out", "--json"])
            #expect(result.status == 0, "\(result)")
            return try result.items().map(\.status)
        }

        private func checkOut(into folder: String, rgb: String = "rgb") throws {
            try kf.home.write("\(folder)/grey.png", FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("\(folder)/rgb.png", FixturesDirectory.named("png/\(rgb).png").data)
            for name in ["grey", "rgb"] {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                    ofItemAtPath: kf.home.path("\(folder)/\(name).png").path)
            }
        }

        @Test("A fresh checkout makes no image again")
        func checkout() async throws {
            #expect(try await statuses("site", "-p", "resize:10x") == ["fetched", "fetched"])
            let made = try kf.contents("out/rgb.png")
            try checkOut(into: "elsewhere/site")
            #expect(try await statuses("elsewhere/site", "-p", "resize:10x") == ["disk", "disk"])
            #expect(try kf.contents("out/rgb.png") == made)
            let stored = try await kf.run("cache", "ls", "--json").objects()
            #expect(Set(stored.compactMap { $0["path"] as? String }).count * 2 == stored.count, "files are shared")
            #expect(try await kf.run("cache", "verify").status == 0)
        }

        @Test("Other bytes and other processing make another image")
        func others() async throws {
            _ = try await statuses("site", "-p", "resize:10x")
            try checkOut(into: "site", rgb: "rgba")
            #expect(try await statuses("site", "-p", "resize:10x") == ["disk", "fetched"])
            try checkOut(into: "copy")
            #expect(try await statuses("copy", "-p", "resize:11x") == ["fetched", "fetched"])
            #expect(try await statuses("copy", "-p", "resize:10x", "--force-refresh") == ["fetched", "fetched"])
        }

        @Test("Only the missing variants of a fresh checkout are made")
        func variants() async throws {
            _ = try await statuses("site", "--variant", "s=resize:10x")
            try checkOut(into: "copy")
            let both = ["--variant", "s=resize:10x", "--variant", "l=resize:20x"]
            let result = try await kf.run(["fetch", "copy", "-P", "out", "--json"] + both)
            #expect(try result.items().map(\.status) == ["disk", "fetched", "disk", "fetched"], "\(result)")
        }

        @Test("An image that was removed is made again")
        func removed() async throws {
            _ = try await statuses("site", "-p", "resize:10x")
            let objects = kf.cachedObjects()
            for file in objects { try FileManager.default.removeItem(at: kf.cacheDirectory.appending(path: file)) }
            try checkOut(into: "copy")
            #expect(try await statuses("copy", "-p", "resize:10x") == ["fetched", "fetched"])
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            try checkOut(into: "third")
            #expect(try await statuses("third", "-p", "resize:10x") == ["fetched", "fetched"])
        }
    }
}
