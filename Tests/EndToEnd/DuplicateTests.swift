import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Duplicates")
    struct DuplicateTests {
        @Test("Groups have equal images, then those within the distance")
        func groups() async throws {
            let kf = try KFCommand()
            let photo = FixturesDirectory.url.appendingPathComponent("gallery.jpg")
            for name in ["a.jpg", "b.jpg"] { try kf.home.write(name, try Data(contentsOf: photo)) }
            #expect(
                try await kf.run("fetch", photo.path, "-p", "resize:200x", "-f", "png", "-o", "small.png").status == 0)
            #expect(try await kf.run("fetch", photo.path, "-p", "flip:h", "-f", "png", "-o", "flipped.png").status == 0)
            let fetched = try await kf.run(
                "fetch", "a.jpg", "b.jpg", "small.png", "flipped.png", "--measure", "dhash", "--json")
            #expect(fetched.status == 0, "\(fetched)")
            let found = try await kf.run("cache", "dupes", "--json")
            let lines = try found.outputLines.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            #expect(lines.compactMap { $0["kind"] as? String } == ["equal", "similar"], "\(found)")
            func keys(_ group: Int) -> [String] {
                (lines[group]["images"] as? [[String: Any]] ?? []).map { image in
                    #expect((image["bytes"] as? Int ?? 0) > 500 && image["path"] is String, "\(image)")
                    return URL(string: image["key"] as? String ?? "")?.lastPathComponent ?? ""
                }
            }
            #expect(keys(0) == ["a.jpg", "b.jpg"])
            // One of the two equal images stands for both.
            #expect(keys(1).count == 2 && keys(1).contains("small.png") && !keys(1).contains("flipped.png"))
            #expect(lines.last?["images"] as? Int == 4)
            let text = try await kf.run("cache", "dupes", "--distance", "0", "-q")
            #expect(text.outputLines.first == "equal:" && text.errors.isEmpty, "\(text)")
            #expect(try await kf.run("cache", "dupes", "--distance", "12").status == 2)
        }
    }
}
