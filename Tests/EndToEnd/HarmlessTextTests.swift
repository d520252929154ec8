import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Harmless text")
    struct HarmlessTextTests {
        /// Controls, C1 controls, marks of direction, invisible and private characters, tags.
        static let harmful: [Unicode.Scalar] = [
            "\u{1}", "\u{1b}", "\u{7f}", "\u{80}", "\u{85}", "\u{9b}", "\u{9f}", "\u{ad}", "\u{34f}", "\u{61c}",
            "\u{115f}",
            "\u{180e}", "\u{200b}", "\u{200d}", "\u{200e}", "\u{200f}", "\u{2028}", "\u{2029}", "\u{202a}", "\u{202b}",
            "\u{202c}", "\u{202d}", "\u{202e}", "\u{2060}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}", "\u{206a}",
            "\u{3164}", "\u{e000}", "\u{feff}", "\u{ffa0}", "\u{fff9}", "\u{fe0f}", "\u{e0001}", "\u{e0041}",
            "\u{f0000}",
        ]

        let kf: KFCommand

        init() throws { kf = try .withoutRetries() }

        private func expectHarmless(_ text: String, _ place: Comment) {
            let found = text.unicodeScalars.filter { $0 != "\n" && Self.harmful.contains($0) }
            #expect(found.isEmpty, "\(place): \(found.map { String($0.value, radix: 16) })")
        }

        @Test("Hostile file names and keys are escaped everywhere")
        func names() async throws {
            let name = "a" + String(String.UnicodeScalarView(Self.harmful)) + "é✓日本.png"
            try kf.home.write(name, FixturesDirectory.named("png/grey.png").data)
            let key = "k" + name
            let runs = [
                ["fetch", name, "-v", "--key", key], ["fetch", name, "--json"], ["fetch", "missing" + name],
                ["fetch", "--json", "missing" + name], ["cache", "ls"], ["cache", "ls", "--json"],
                ["cache", "explain", name], ["cache", "explain", name, "--json"], ["cache", "explain", "--key", key],
                ["cache", "report", "-o", "-"], ["cache", "rm", "--glob", "x" + name],
                ["cache", "rm", "--key", key, "-v", "--dry-run"], ["cache", "rm", "--key", key, "-v", "--json"],
                ["cache", "path", "missing" + name], ["fetch", "--" + name], [name], ["fetch", name, "-p", name],
                ["fetch", name, "-f", name], ["cache", "ls", "--host", name], ["fetch", name, "-o", "no/" + name],
            ]
            for arguments in runs {
                let result = try await kf.run(arguments)
                expectHarmless(result.output, "\(arguments) on standard output")
                expectHarmless(result.errors, "\(arguments) on standard error")
                #expect(result.status <= 3, "\(result)")
            }
            // JSON escapes what a reader gets back whole; letters of any language stay.
            let item = try await kf.run("fetch", name, "--json", "-o", "out.png")
            #expect(try item.item().source == name && item.output.contains("é✓日本"), "\(item)")
            let message = try await kf.run("fetch", "\u{85}\u{200f}.png")
            #expect(message.errors.hasPrefix("kf: \\u{0085}\\u{200f}.png: "), "\(message)")
        }

        @Test("Hostile text of servers and lists is escaped")
        func servers() async throws {
            let evil = String(String.UnicodeScalarView(Self.harmful.filter { $0.value >= 0x80 }))
            let server = try FaultServer { request in
                [
                    .reply(
                        "404 \(evil)", headers: ["ETag: \"\(evil)\"", "Content-Type: \(evil)"], body: Array(evil.utf8)),
                    .close,
                ]
            }
            let html = try FaultServer { _ in
                [.reply(headers: ["Content-Type: text/\(evil)"], body: Array(evil.utf8)), .close]
            }
            let redirect = try FaultServer { _ in
                [.reply("302 \(evil)", headers: ["Location: x\(evil)://\(evil)/"]), .close]
            }
            for url in [
                server.url("/a"), html.url("/a"), redirect.url("/a"), server.url("/\(evil)"), "http://\(evil)/",
            ] {
                for options in [["-v"], ["--json"], ["-v", "--cache-policy", "http"]] {
                    let result = try await kf.run(["fetch", url] + options)
                    expectHarmless(result.output, "\(url) \(options)")
                    expectHarmless(result.errors, "\(url) \(options)")
                    let list = try await kf.run(["prefetch", "-"] + options, input: Data("\(url)\n".utf8))
                    expectHarmless(list.output, "\(url) \(options) of a list")
                    expectHarmless(list.errors, "\(url) \(options) of a list")
                }
            }
            try kf.home.write("l.csv", "\(evil),b\n1,2\n")
            let columns = try await kf.run("prefetch", "l.csv", "--url-column", "url")
            expectHarmless(columns.errors, "the names of columns")
        }
    }

    @Suite("Written files")
    struct WrittenFileTests {
        let kf: KFCommand

        init() throws {
            kf = try KFCommand()
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("list.txt", "not a url\n\(kf.home.path("a.png").path)\n")
        }

        private func mode(_ name: String) -> mode_t? {
            var status = stat()
            return lstat(kf.home.path(name).path, &status) == 0 ? status.st_mode & 0o7777 : nil
        }

        /// Each command writes `out`.
        private static let commands: [(arguments: [String], isPrivate: Bool)] = [
            (["fetch", "a.png", "-o", "out"], false),
            (["fetch", "a.png", "-p", "resize:3x3", "-o", "out"], false),
            (["cache", "report", "-o", "out"], true),
            (["prefetch", "list.txt", "--failures", "out"], true),
            (["fetch", "a.png", "--output-dir", ".", "--name", "out{variant}"], false),
        ]

        private func run(_ arguments: [String], umask: String) async throws {
            let result = try await kf.run(arguments, under: "/bin/bash", "-c", "umask \(umask); exec \"$@\"", "bash")
            #expect(result.status <= 1, "\(result)")
        }

        @Test(
            "New images follow the umask, and reports are private",
            arguments: commands.indices)
        func created(index: Int) async throws {
            let (arguments, isPrivate) = Self.commands[index]
            for (umask, expected) in [("022", 0o644 as mode_t), ("077", 0o600), ("002", 0o664)] {
                try? FileManager.default.removeItem(at: kf.home.path("out"))
                try await run(arguments, umask: umask)
                #expect(mode("out") == (isPrivate ? 0o600 : expected), "\(arguments) with \(umask)")
            }
        }

        @Test("A replaced file keeps its mode", arguments: commands.indices)
        func replaced(index: Int) async throws {
            for mode: mode_t in [0o600, 0o640, 0o664, 0o444 | 0o200] {
                try kf.home.write("out", "old")
                #expect(chmod(kf.home.path("out").path, mode) == 0)
                try await run(Self.commands[index].arguments, umask: "022")
                #expect(self.mode("out") == mode, "\(Self.commands[index])")
                #expect(try kf.contents("out") != Data("old".utf8))
            }
        }

        @Test("Copies never start with a dash, a dot or a tilde")
        func names() async throws {
            let data = try FixturesDirectory.named("png/grey.png").data
            let names = [
                "-rf.png", "--help.png", "..png", "...png", "~.png", "\u{3164}.png", ".\u{345}x.png", "-\u{345}.png",
            ]
            for (index, name) in names.enumerated() {
                try kf.home.write("in\(index)/\(name)", data + Data([UInt8(index)]))
                for template in ["{stem}.{ext}", "{stem}-{hash12}.{ext}", "{stem}", "d/{stem}", "{variant}{stem}"] {
                    let result = try await kf.run(
                        "fetch", "--output-dir", "out", "--name", template, "--",
                        kf.home.path("in\(index)/\(name)").path)
                    // A damaged end is a warning or an error, but never a bad name.
                    #expect(result.status <= 1, "\(result)")
                }
            }
            let written = TemporaryDirectory.files(in: kf.home.path("out"))
            #expect(written.count > 5)
            for part in written.flatMap({ $0.unicodeScalars.split(separator: "/") }) {
                #expect(!"-.~".unicodeScalars.contains(part.first ?? "-"), "\(written)")
                #expect(!part.contains { $0.properties.isDefaultIgnorableCodePoint }, "\(written)")
            }
            for template in ["-{stem}", "d/-{stem}", "--{stem}"] {
                let result = try await kf.run("fetch", "a.png", "--output-dir", "out", "--name=\(template)")
                #expect(result.status == 2 && result.errors.contains("taken for an option"), "\(result)")
            }
        }

        @Test("A name of the maximum length can be written")
        func longName() async throws {
            let name = String(repeating: "n", count: 251) + ".png"
            let result = try await kf.run("fetch", "a.png", "-o", name)
            #expect(result.status == 0 && mode(name) != nil, "\(result)")
            #expect(kf.home.files().allSatisfy { !$0.hasPrefix(".kf-") })
        }
    }
}
