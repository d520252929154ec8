import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Widths and srcset")
    final class SrcsetTests: ServedSuite {
        private var copies: [String] { TemporaryDirectory.files(in: kf.home.path("site/img")).sorted() }

        private func text(_ name: String) throws -> String { String(decoding: try kf.contents(name), as: UTF8.self) }

        private func pictures(_ name: String) throws -> [[String: Any]] {
            try #require(JSONSerialization.jsonObject(with: kf.contents(name)) as? [[String: Any]])
        }

        private let site = ["-P", "site/img", "--create-dirs"]

        @Test("No width is above the source's, and equal files are one")
        func widths() async throws {
            let url = server.url("jpeg/progressive.jpg")
            let options = site + ["--widths", "2000,100,400,100,4000", "-f", "webp", "-f", "jpeg"]
            let result = try await kf.run(["fetch", url, "--json", "--quality", "webp=40,jpeg=90"] + options)
            #expect(try result.items().map(\.width) == [100, 100, 400, 400, 1024, 1024, 1024, 1024], "\(result)")
            let names = ["100", "1024", "400"].flatMap { ["progressive-\($0).jpg", "progressive-\($0).webp"] }
            #expect(copies == names.sorted())
            let alone = ["fetch", url, "-p", "resize:400x,shrink", "-f", "webp", "--quality", "40", "-o", "-"]
            #expect(try await kf.run(alone).standardOutput == kf.contents("site/img/progressive-400.webp"))
            let renamed = try await kf.run("fetch", url, "-P", "x", "--widths", "100", "--name", "{variant}w.{ext}")
            #expect(renamed.output == "x/100w.jpg\n", "\(renamed)")
        }

        @Test(
            "Widths are whole numbers, and exclude variants", arguments: ["", "0", "a", "100,", "1.5", "-3", "70000"])
        func wrongWidths(_ widths: String) async throws {
            let result = try await kf.run("fetch", "x.png", "-P", "out", "--widths", widths)
            #expect(result.status == 2 && result.errors.contains("320,640,1280"), "\(result)")
            let both = try await kf.run("fetch", "x.png", "-P", "out", "--widths", "9", "--variant", "a=blur:2")
            #expect(both.status == 2 && both.errors.contains("--variant"), "\(both)")
        }

        @Test("The markup has every file, and a second run touches nothing")
        func markup() async throws {
            let list = Data(
                """
                url,title
                \(server.url("jpeg/progressive.jpg")),"A ""red"" <b> & 'more' – é"
                \(server.url("png/missing.png")),missing
                \(server.url("png/rgba.png")),
                """.utf8)
            let options =
                site + [
                    "--widths", "64,320", "-f", "jpeg", "-f", "webp", "--placeholder", "color", "--alt-column", "title",
                    "--input-format", "csv", "--background", "white", "--srcset", "site/pictures.html",
                    "--srcset-sizes",
                    "(width > 9em) 50vw, 100vw",
                ]
            #expect(try await kf.run(["prefetch", "-", "-q"] + options, input: list).status == 1)
            let html = try text("site/pictures.html")
            let color = try #require(html.firstMatch(of: /background-color:(#[0-9a-f]{6})/)?.output.1)
            let sizes = "sizes=\"(width &gt; 9em) 50vw, 100vw\""
            let first = """
                <picture>
                  <source type="image/webp" srcset="img/progressive-64.webp 64w, img/progressive-320.webp 320w" \(sizes)>
                  <img src="img/progressive-320.jpg" srcset="img/progressive-64.jpg 64w, img/progressive-320.jpg 320w" \
                \(sizes) width="320" height="213" alt="A &quot;red&quot; &lt;b&gt; &amp; &#39;more&#39; – é" \
                style="background-color:\(color)">
                </picture>

                """
            #expect(html.hasPrefix(first), "\(html)")
            #expect(html.contains("alt=\"\"") && html.components(separatedBy: "<picture>").count == 3, "\(html)")
            let files = copies
            let before = states(files)
            let again = try await kf.run(["prefetch", "-"] + options, input: list)
            #expect(again.errors.contains("0 files written, 8 unchanged"), "\(again)")
            #expect(states(files) == before && copies == files)
        }

        /// The times and inodes of files that must not be touched.
        private func states(_ files: [String]) -> [String] {
            (files.map { "img/\($0)" } + ["pictures.html"]).map { name in
                var status = stat()
                #expect(lstat(kf.home.path("site/\(name)").path, &status) == 0)
                return "\(name) \(status.st_ino) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
            }
        }

        @Test("The JSON names files by URL, with their facts")
        func json() async throws {
            let (first, second) = (server.url("jpeg/progressive.jpg"), server.url("gif/still.gif"))
            let formats = ["--widths", "64,320", "-f", "png", "-f", "webp"]
            let options = ["--placeholder", "thumbhash", "--srcset", "pictures.json", "--srcset-url", "/a&b/"]
            let result = try await kf.run(["fetch", first, second] + site + formats + options)
            #expect(result.status == 0, "\(result)")
            let all = try pictures("pictures.json")
            #expect(all.map { $0["source"] as? String } == [first, second])
            #expect((all[0]["placeholder"] as? String)?.utf8.count ?? 0 > 20 && all[0]["alt"] as? String == "")
            #expect(all[0]["width"] as? Int == 320 && all[0]["height"] as? Int == 213)
            let files = try #require(all[0]["files"] as? [[String: Any]])
            #expect(files.map { $0["url"] as? String }.first == "/a&b/progressive-64.webp")
            #expect(files.map { $0["type"] as? String } == ["image/webp", "image/webp", "image/png", "image/png"])
            #expect(files.map { $0["width"] as? Int } == [64, 320, 64, 320])
            let data = try kf.contents("site/img/progressive-64.webp")
            #expect(files[0]["bytes"] as? Int == data.count)
            #expect(files[0]["sha256"] as? String == PlainSHA256.hex(PlainSHA256.hash(Array(data))))
            // One file stands for itself: no width decides.
            _ = try await kf.run(["fetch", first, "-P", "site/img", "--srcset", "a.html"])
            #expect(try text("a.html").contains("<img src=\"site/img/progressive.jpg\" width=\"1024\""))
        }

        @Test("Names of files become URLs, relative to the page")
        func names() async throws {
            let name = "a, b%20?#&é\".png"
            try kf.home.write(name, FixturesDirectory.named("png/grey.png").data)
            let result = try await kf.run(
                "fetch", name, "-P", "deep/img", "--create-dirs", "--srcset", "pages/en/a.html")
            #expect(result.status == 0, "\(result)")
            let url = "../../deep/img/a%2C%20b%2520%3F%23%26%C3%A9%22.png"
            let html = try text("pages/en/a.html")
            #expect(html.contains("src=\"\(url)\""), "\(html)")
        }

        @Test("A run that stops early leaves the markup as it was")
        func stopped() async throws {
            let good = server.url("png/grey.png")
            let list = Data(([good] + (1...9).map { server.url("png/none\($0).png") }).joined(separator: "\n").utf8)
            let options = ["prefetch", "-", "-P", "out", "--srcset", "a.html"]
            try kf.home.write("a.html", Data("earlier".utf8))
            let result = try await kf.run(options + ["--max-failures", "0", "-j", "1"], input: list)
            #expect(result.status == 6 || result.status == 4, "\(result)")
            #expect(result.errors.contains("a.html is left as it was"), "\(result)")
            #expect(try text("a.html") == "earlier")
            _ = try await kf.run(options, input: list)
            #expect(try text("a.html").contains("grey.png"))
            #expect(TemporaryDirectory.files(in: kf.home.url).allSatisfy { !$0.contains(".kf-") })
        }

        @Test("The image in place of one that failed is in the markup")
        func standIn() async throws {
            try kf.home.write("none.png", FixturesDirectory.named("png/grey.png").data)
            let result = try await kf.run(
                "fetch", server.url("png/missing.png"), "-P", "out", "--on-failure", "none.png", "--srcset", "a.html")
            #expect(result.status == 1)
            #expect(try text("a.html").contains("<img src=\"out/missing.png\" width=\"200\" height=\"150\""))
        }

        @Test(
            "What cannot be is refused",
            arguments: [
                ["--srcset", "a.html"], ["-P", "out", "--srcset", "a.txt"], ["-P", "out", "--srcset-url", "/"],
                ["-P", "out", "--srcset-sizes", "9em"], ["-P", "out", "--srcset", "no/a.html"],
                ["-P", "out", "--srcset", "a.html", "--no-clobber"],
                ["-P", "out", "--srcset", "a.html", "--srcset-url", "a b"],
                ["-P", "out", "--srcset", "list.html"],
            ])
        func refused(_ options: [String]) async throws {
            try kf.home.write("list.html", Data("x.png\n".utf8))
            let result = try await kf.run(["prefetch", "list.html"] + options)
            #expect(result.status == 2 && result.errors.contains("--srcset"), "\(result)")
            #expect(try text("list.html") == "x.png\n")
            #expect(!kf.home.files().contains("a.html"))
        }

        @Test("A browser chooses the file for its width and density", .enabled(if: Tool.isInstalled("chromium")))
        func browser() async throws {
            let widths = ["--widths", "400,800,1200,2400", "-p", "resize:2400x", "-f", "webp", "-f", "jpeg"]
            let options = ["-P", ".", "--srcset", "markup.html", "--name", "{width}.{ext}"]
            let made = try await kf.run(["fetch", server.url("jpeg/progressive.jpg")] + widths + options)
            #expect(made.status == 0, "\(made)")
            let markup = try text("markup.html")
            let script = """
                <script>onload = () => { document.title = document.querySelector("iframe").contentDocument
                  .images[0].currentSrc.split("/").pop() }</script>
                """
            let choices = [(400, 1, "400"), (1200, 1, "1200"), (400, 2, "800"), (1200, 2, "2400")]
            for (number, (width, density, file)) in choices.enumerated() {
                // A page and a profile for each: a browser takes a larger file that it has already.
                let frame = "<iframe width=\(width) height=900 style='border:0' srcdoc='\(markup)'></iframe>"
                try kf.home.write("page.html", Data(("<!doctype html>" + frame + script).utf8))
                let shown = try await Tool.run(
                    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
                    "--force-device-scale-factor=\(density)", "--user-data-dir=\(kf.home.path("\(number)").path)",
                    "--dump-dom", kf.home.path("page.html").absoluteString)
                #expect(shown.output.contains("<title>\(file).webp</title>"), "\(shown.output.prefix(900))")
            }
        }
    }
}
