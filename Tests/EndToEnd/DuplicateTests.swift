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

        @Test("The index has the hashes, and files of older entries have them")
        func hashes() async throws {
            let kf = try KFCommand()
            let server = try FileServer()
            try FileManager.default.createDirectory(at: kf.home.path("remote"), withIntermediateDirectories: true)
            let remote = ["--remote", "file://\(kf.home.path("remote").path)"]
            let urls = ["/a", "/b"].map { server.url("gallery.jpg?\($0)") } + [server.url("png/grey.png")]
            let fetch = ["fetch", "-q", "--measure", "dhash"] + urls
            for arguments in [
                fetch + remote + ["--remote-write"], fetch + remote + ["--cache-dir", "read"],
                ["cache", "merge", "read", "--cache-dir", "merged"], fetch + ["--cache-dir", "older"],
            ] { try #require(try await kf.run(arguments).status == 0) }
            // Earlier versions have written the hash to the file alone.
            let index = kf.home.path("older/v1/index.sqlite").path
            let sql = "UPDATE entries SET freshness = NULL WHERE identifier LIKE '%described:4'"
            try #require(try await Tool.run("sqlite3", index, sql).status == 0)
            // Their identifier was another one.
            let old = "UPDATE entries SET identifier = 'sketch:256|>described:2' WHERE identifier LIKE '%described:4'"
            try #require(try await Tool.run("sqlite3", index, old).status == 0)
            for name in ["cache", "read", "merged", "older"] {
                let cache = ["--json", "--cache-dir", name]
                let described = try await kf.run(["cache", "ls"] + cache).objects().filter { $0["measures"] != nil }
                let paths = Set(described.compactMap { $0["path"] as? String })
                #expect(described.count == 3 && paths.count == 2)
                if name != "older" { for path in paths { try FileManager.default.removeItem(atPath: path) } }
                let found = try await kf.run(["cache", "dupes"] + cache)
                #expect(found.output.contains("\"images\":3,\"equal\":1"), "\(name): \(found)")
            }
        }
    }
}
