import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache reports")
    final class ReportTests: CommandSuite {
        private func report(_ arguments: String...) async throws -> String {
            let result = try await kf.run(["cache", "report", "-o", "report.html"] + arguments)
            try #require(result.status == 0 && result.errors == "" && result.standardOutput.isEmpty, "\(result)")
            return try kf.text("report.html")
        }

        @Test("The report shows every image and changes nothing")
        func content() async throws {
            let server = try FileServer()
            let names = ["png/rgb.png", "jpeg/landscape-420.jpg", "gif/animated.gif", "webp/lossy.webp"]
            _ = try await kf.run(["fetch"] + names.map { server.url($0) } + [server.url("png/rgb.png?token=secret")])
            _ = try await kf.run("fetch", server.url(names[0]))
            let before = kf.cachedObjects()
            let page = try await report()
            #expect(kf.cachedObjects() == before)
            #expect(page.contains("5 entries") && page.contains("127.0.0.1") && page.contains(">jpeg<"))
            #expect(page.contains(server.url("jpeg/landscape-420.jpg")) && page.contains("1600×1200"))
            #expect(!page.contains("secret"), "queries carry signatures")
            #expect(page.components(separatedBy: "src=\"data:image/webp;base64,").count - 1 == names.count)
            for object in before {
                #expect(page.contains("file://\(kf.cacheDirectory.path)/\(object)\""), "\(object)")
            }
            #expect(!page.contains(" src=\"http") && !page.contains("url(") && !page.contains("@import"))
            #expect(page.components(separatedBy: "<script").count == 2, "its own script and no other")
            #expect(try await !report("--thumbnails", "0").contains("data:image"))
            #expect(try await report("--thumbnails=2").components(separatedBy: "data:image/webp").count == 3)
        }

        @Test("Bars of the report are as long as their values")
        func bars() async throws {
            // The second picture has three times the bytes of the first.
            let picture = try FixturesDirectory.named("png/grey.png").data
            let filler = PNGChunk.bytes("kfFi", [UInt8](repeating: 7, count: picture.count * 2 - 12))
            try kf.home.write("a.png", picture)
            try kf.home.write("b.png", picture.dropLast(12) + Data(filler) + picture.suffix(12))
            for (name, host) in [("a.png", "one.test"), ("b.png", "two.test")] {
                let put = try await kf.run("cache", "put", name, "--key", "http://\(host)/\(name)")
                #expect(put.status == 0, "\(put)")
            }
            let page = try await report("--thumbnails", "0")
            for (host, permille) in [("one.test", 333), ("two.test", 1000)] {
                #expect(page.contains("<dt>\(host)</dt><dd><i style=\"width:calc(\(permille) * .055%)\">"), "\(page)")
            }
            #expect(!page.contains("Hits") && !page.contains("max-width: 55%"))
        }

        @Test("A key in the report is never markup")
        func hostile() async throws {
            let name = "\"><img src=x onerror=alert(1)>&'\u{1b}.png"
            try kf.home.write(name, FixturesDirectory.named("png/grey.png").data)
            #expect(try await kf.run("fetch", name).status == 0)
            let page = try await report()
            #expect(page.contains("&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&amp;&#39;\\x1b.png"))
            #expect(!page.contains("<img src=x") && !page.contains("\u{1b}"))
        }

        @Test("Captions describe the whole image")
        func captions() async throws {
            let long = "https://images.example.com/" + String(repeating: "a-long-folder/", count: 12) + "name.png"
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            _ = try await kf.run("cache", "put", "a.png", "--key", long + "?token=secret")
            _ = try await kf.run("fetch", long + "?token=secret", "-p", "resize:20x20")
            let page = try await report()
            let day = Date().formatted(.iso8601.year().month().day())
            #expect(page.contains("\(long)?…<small>@resize:20x20,none</small>") && !page.contains("secret"))
            #expect(page.contains("200×150 · png · 22.1 KiB</p>") && page.contains(">\(day)</time>"), "\(day)")
            #expect(!page.contains("text-overflow") && page.contains("width=device-width"))
            #expect(page.contains("max-width: 640px") && page.contains("prefers-color-scheme: dark"))
            let selected = try await report("--processor", "resize:20x20")
            #expect(selected.contains("<strong>1 entry</strong>") && selected.contains("Selected entries"))
            #expect(!selected.contains("22.1 KiB"))
        }

        @Test("The policy of the page allows only its own script", .enabled(if: Tool.isInstalled("openssl")))
        func policy() async throws {
            let page = try await report()
            let script = try #require(page.firstMatch(of: /<script>(?<text>[\s\S]*)<\/script>/)).text
            try kf.home.write("script.js", String(script))
            let digest = try await kf.shell("openssl dgst -sha256 -binary script.js | base64")
            let hash = digest.output.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(hash.count == 44 && page.contains("script-src 'sha256-\(hash)'\""), "\(hash)")
        }

        @Test("The script of the page searches and sorts", .enabled(if: Tool.isInstalled("node")))
        func script() async throws {
            let page = try await report()
            let script = try #require(page.firstMatch(of: /<script>(?<text>[\s\S]*)<\/script>/)).text
            let stage = """
                const item = (name, bytes) => ({ dataset: { name, bytes }, hidden: false });
                const items = [item('a/cat.png png', '5'), item('b/dog.png png', '700'), item('c/cat.jpg jpeg', '60')];
                let order = [];
                const section = { hidden: false };
                const list = { children: items, append: (...sorted) => { order = sorted; }, closest: () => section };
                const part = () => ({ value: '', textContent: '', on: {}, addEventListener(n, f) { this.on[n] = f; } });
                const parts = { input: part(), select: part(), output: part() };
                const form = { ...part(), hidden: true, querySelector: name => parts[name] };
                globalThis.document = { getElementById: () => form, querySelectorAll: () => [list] };
                \(script)
                const names = shown => shown.map(i => i.dataset.name[0]).join('');
                const search = text => { parts.input.value = text; parts.input.on.input();
                  return names(items.filter(i => !i.hidden)) + (section.hidden ? '-' : '+') + parts.output.textContent; };
                const sort = key => { parts.select.value = key; parts.select.on.change(); return names(order); };
                console.log([form.hidden, search('CAT'), search('cat  jpeg'), search('bird'), search(''), sort('bytes'),
                  sort('name'), sort('')].join('|'));
                """
            let file = try kf.home.write("stage.js", stage)
            let run = try await Tool.run("node", file.path)
            #expect(run.output == "false|ac+2 found|c+1 found|-0 found|abc+|bca|abc|abc\n", "\(run)")
        }

        @Test("A report can be empty, JSON or standard output")
        func edges() async throws {
            let empty = try await report()
            #expect(empty.contains("0 entries") && !empty.contains("<figcaption>"), "no heading stands above nothing")
            #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [])
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            _ = try await kf.run("fetch", "a.png")
            let json = try await kf.run("cache", "report", "-o", "r.html", "--json").objects()
            #expect(json.count == 1 && json[0]["entries"] as? Int == 1 && json[0]["thumbnails"] as? Int == 1)
            let output = try await kf.run("cache", "report", "-o", "-")
            #expect(output.status == 0 && output.output.hasPrefix("<!DOCTYPE html>"))
            let none = try await kf.run("cache", "report")
            #expect(none.status == 2 && none.errors == "kf: 'kf cache report' needs a file to write: -o FILE.html\n")
            let folder = try await kf.run("cache", "report", "-o", "no/where.html")
            #expect(folder.status == 1 && folder.errors.contains("[4002]"), "\(folder)")
        }

        @Test("A browser shows the report without complaint", .enabled(if: Tool.isInstalled("chromium")))
        func browser() async throws {
            for fixture in FixturesDirectory.all.prefix(12) { _ = try await kf.run("fetch", fixture.url.path) }
            _ = try await report()
            let shown = try await Tool.run(
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                "--user-data-dir=\(kf.home.path("profile").path)", "--dump-dom",
                "--virtual-time-budget=3000", kf.home.path("report.html").absoluteString)
            #expect(shown.output.contains("Cache report"), "\(shown)")
            #expect(!shown.errors.contains("CONSOLE"), "\(shown.errors)")
        }
    }
}
