import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Recipes of the README and the articles")
    struct RecipeTests {
        struct Recipe: CustomTestStringConvertible, Sendable {
            let title: String
            let script: String
            var testDescription: String { title }
        }

        /// Every block that is marked as one, with the line above it.
        static let recipes: [Recipe] = [
            "README.md", "Sources/KFCore/KFCore.docc/Recipes.md", "Sources/KFCore/KFCore.docc/Driving.md",
        ].flatMap { name in
            let text = (try? String(contentsOf: PackageRoot.url.appending(path: name), encoding: .utf8)) ?? ""
            return text.components(separatedBy: "```sh recipe\n").adjacent.map { before, behind in
                let lines = before.split(separator: "\n")
                return Recipe(title: String(lines.last ?? ""), script: behind.components(separatedBy: "```")[0])
            }
        }

        let kf: KFCommand
        let server: FileServer
        let remote: FileServer

        init() throws {
            kf = try KFCommand()
            let root = try FixturesDirectory.named("jpeg/grey.jpg").url.deletingLastPathComponent()
            let site = kf.home.path("www")
            try FileManager.default.createDirectory(at: site, withIntermediateDirectories: true)
            for name in ["photo.jpg", "one.jpg", "two.jpg"] {
                try FileManager.default.copyItem(
                    at: root.appending(path: name == "two.jpg" ? "landscape-420.jpg" : "grey.jpg"),
                    to: site.appending(path: name))
            }
            server = try FileServer(root: site)
            remote = try FileServer.webDAV()
            let urls = ["photo.jpg", "one.jpg", "two.jpg"].map(server.url)
            let locations = urls.map { "<url><image:loc>\($0)</image:loc></url>" }.joined()
            try kf.home.write("www/sitemap.xml", "<urlset>\(locations)</urlset>\n")
            // Lists as people write them, with one image that is gone.
            let lines = ["# the images of the site", ""] + urls + ["\(server.url("gone.jpg"))   # since May"]
            try kf.home.write("work/urls.txt", lines.joined(separator: "\n") + "\n")
            let rows = (urls + [server.url("gone.jpg")]).enumerated().map { "p\($0),\($1)\n" }
            try kf.home.write("work/products.csv", "id,picture\n" + rows.joined())
            for name in ["a.jpg", "sub/b.jpg"] {
                try kf.home.write("work/photos/\(name)", Data(contentsOf: site.appending(path: "two.jpg")))
            }
        }

        @Test("The articles have at least fifteen recipes")
        func count() { #expect(Self.recipes.count >= 15) }

        @Test("Each recipe works when pasted", arguments: recipes)
        func works(recipe: Recipe) async throws {
            let script = recipe.script.replacing("https://cache.example.com", with: remote.address)
                .replacing("https://example.com", with: server.address)
                .replacing("example.com", with: "127.0.0.1")
            let result = try await kf.script(script)
            #expect(result.status == 0, "\(script)\n\(result)")
            let complaints = result.errorLines.filter { $0.contains(/\[[0-9]{4}\]|warning|usage/) }
            // Offline, with an empty cache, every image is missing.
            let isMissing = { (line: String) in
                line.contains("gone.jpg") && (line.contains("404") || line.contains("[1009]"))
                    || line.contains("[3006]")
            }
            #expect(complaints.allSatisfy(isMissing), "\(result)")
            try await check(recipe, result)
        }

        @Test("Nothing is left to make after the recipe for make")
        func makefile() async throws {
            let article = PackageRoot.url.appending(path: "Sources/KFCore/KFCore.docc/Recipes.md")
            let text = try String(contentsOf: article, encoding: .utf8)
            let recipe = try #require(text.components(separatedBy: "```make recipe\n").dropFirst().first)
            try kf.home.write("work/Makefile", recipe.components(separatedBy: "```")[0])
            let result = try await kf.script(
                """
                make site && make -q site
                until [[ $(find photos -newer .pictures.stamp) ]]; do touch photos/a.jpg; done
                ! make -q site && make site && make -q site
                """)
            #expect(result.status == 0, "\(result)")
        }

        /// That it did what its title says.
        private func check(_ recipe: Recipe, _ result: CommandResult) async throws {
            // Beside the images, a missing one is remembered.
            let objects = kf.cachedObjects().filter { $0.hasSuffix(".jpg") }.count
            let files = TemporaryDirectory.files(in: kf.home.path("work"))
            func count(_ prefix: String, _ suffix: String = "") -> Int {
                files.filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.count
            }
            if recipe.script.contains("cache merge") {
                #expect(objects == 2 && result.output.contains("part-1: "), "\(result)")
            } else if recipe.script.contains("--remote") {
                // Three entries and the two different objects. The origin has each image asked for once, by the writer.
                let stored = TemporaryDirectory.files(in: remote.root)
                #expect(stored.count == 5 && stored.allSatisfy { $0.hasPrefix("team/kf1/") }, "\(stored)")
                let asked = try await server.requests().filter { $0.status == 200 }.map(\.path).sorted()
                #expect(asked == ["/one.jpg", "/photo.jpg", "/two.jpg"], "\(result)")
                for words in ["3 uploaded", "3 from the remote"] { #expect(result.errors.contains(words), "\(result)") }
            } else if recipe.script.contains("KF_CACHE_DIR") {
                #expect(count(".kf-cache/v1/objects/", ".jpg") == 2 && result.output.hasPrefix("key=images-"))
            } else if recipe.script.contains("--prune-output") {
                #expect(count("mirror/") == 3 && count("thumbs/", "-small.jpg") == 3, "\(files)")
                #expect(count("thumbs/", "-large.jpg") == 3, "\(files)")
                let changed = try String(contentsOf: kf.home.path("work/changed.txt"), encoding: .utf8)
                #expect(changed.split(separator: "\n").count == 3, "\(changed)")
                let report = try String(contentsOf: kf.home.path("work/report.txt"), encoding: .utf8)
                #expect(report.contains("gone.jpg: response 404") && report.contains("3 files written"), "\(report)")
            } else if recipe.script.contains("report.txt") {
                let report = try String(contentsOf: kf.home.path("work/report.txt"), encoding: .utf8)
                #expect(report.hasPrefix("urls.txt:6: ") && report.contains("gone.jpg: response 404"), "\(report)")
            } else if recipe.script.contains("thumbs") {
                #expect(files.contains("site/thumbs/a.webp") && files.contains("site/thumbs/sub/b.webp"), "\(files)")
            } else if recipe.script.contains("--widths") {
                #expect(count("site/img/") == 12 && files.contains("site/img/a-320.webp"), "\(files)")
                let markup = try String(contentsOf: kf.home.path("work/site/pictures.html"), encoding: .utf8)
                #expect(markup.contains("srcset=\"img/b-320.webp 320w"), "\(markup)")
            } else if recipe.script.contains("--variant") {
                #expect(files.contains("site/photo-small.webp") && files.contains("site/photo-large.jpg"), "\(files)")
            } else if recipe.script.contains("products") {
                #expect(["p0", "p1", "p2"].allSatisfy { files.contains("data/\($0).jpg") }, "\(files)")
                let others = ["results.csv", "archives/00000.tar", "archives/00000.jsonl", "failed.csv"]
                #expect(others.allSatisfy(files.contains), "\(files)")
            } else if recipe.script.contains("--offline") {
                #expect(result.output.contains("missing\t") && count("build/") == 0, "\(result)")
            } else if recipe.script.contains("--host") {
                #expect(files.contains("cache.html") && result.outputLines.count == 8, "\(result)")
                #expect(objects == 0 && result.outputLines.last?.hasPrefix("removed 4 entries") == true, "\(result)")
            } else if recipe.script.contains("--keep-list") {
                #expect(objects == 2 && result.output.contains("removed 0 entries"), "\(result)")
            } else {
                // Two of the three are the same bytes.
                #expect(objects == 2, "\(result)")
            }
        }
    }
}

extension [String] {
    /// Each with the one behind it.
    fileprivate var adjacent: [(String, String)] { Array<(String, String)>(zip(self, dropFirst())) }
}
