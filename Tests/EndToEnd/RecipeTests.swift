import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("The recipes of the README")
    struct RecipeTests {
        struct Recipe: CustomTestStringConvertible, Sendable {
            let title: String
            let script: String
            var testDescription: String { title }
        }

        /// Every block that is marked as one, with the line above it.
        static let recipes: [Recipe] = {
            guard let text = try? String(contentsOf: PackageRoot.url.appending(path: "README.md"), encoding: .utf8)
            else { return [] }
            return text.components(separatedBy: "```sh recipe\n").adjacent.map { before, behind in
                let lines = before.split(separator: "\n")
                return Recipe(
                    title: String(lines.last ?? ""), script: behind.components(separatedBy: "```")[0])
            }
        }()

        let kf: KFCommand
        let server: FileServer

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
            let urls = ["photo.jpg", "one.jpg", "two.jpg"].map(server.url)
            let locations = urls.map { "<url><image:loc>\($0)</image:loc></url>" }.joined()
            try kf.home.write("www/sitemap.xml", "<urlset>\(locations)</urlset>\n")
            try kf.home.write("work/urls.txt", urls.joined(separator: "\n") + "\n")
            try kf.home.write(
                "work/products.csv", "id,picture\n" + urls.enumerated().map { "\($0),\($1)\n" }.joined())
            for name in ["a.jpg", "b.jpg"] {
                try kf.home.write("work/photos/\(name)", Data(contentsOf: site.appending(path: "two.jpg")))
            }
        }

        @Test("There are at least ten")
        func count() { #expect(Self.recipes.count >= 10) }

        @Test("Each works when pasted", arguments: recipes)
        func works(recipe: Recipe) async throws {
            // The binary alone is in the PATH under its name.
            let bin = kf.home.path("bin")
            try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(at: bin.appending(path: "kf"), withDestinationURL: kf.binary)
            var environment = kf.environment
            environment["PATH"] = "\(bin.path):\(environment["PATH"] ?? "")"
            let script = recipe.script.replacing("https://example.com", with: server.address)
                .replacing("example.com", with: "127.0.0.1")
            let result = try await RunningCommand(
                "/bin/bash", ["-e", "-o", "pipefail", "-c", script], environment: environment,
                directory: kf.home.path("work")
            ).wait()
            #expect(result.status == 0, "\(script)\n\(result)")
            #expect(!result.errors.contains(/\[[0-9]{4}\]|warning|usage/), "\(result)")
            try check(recipe, result)
        }

        /// That it did what its title says.
        private func check(_ recipe: Recipe, _ result: CommandResult) throws {
            let objects = kf.cachedObjects().count
            let files = TemporaryDirectory.files(in: kf.home.path("work"))
            if recipe.script.contains("KF_CACHE_DIR") {
                #expect(
                    files.contains { $0.hasPrefix(".kf-cache/v1/objects/") } && result.output.hasPrefix("key=images-"))
            } else if recipe.script.contains("thumbs") {
                #expect(files.filter { $0.hasPrefix("site/thumbs/") && $0.hasSuffix(".webp") }.count == 2)
            } else if recipe.script.contains("--variant") {
                #expect(files.filter { $0.hasPrefix("site/") && $0.hasSuffix(".jpg") }.count == 2)
            } else if recipe.script.contains("--only-from-cache") {
                #expect(files.filter { $0.hasPrefix("build/") }.count == 3)
            } else if recipe.script.contains("--host") {
                #expect(objects == 0 && result.output.hasPrefix("removed 0 entries"))
            } else if recipe.script.contains("report") {
                #expect(files.contains("cache.html"))
            } else if recipe.script.contains("--json") {
                #expect(result.outputLines.count == 3)
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
