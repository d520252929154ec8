import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Copies")
    final class OutputTests: ServedSuite {
        @Test("A copy replaces the file there and is independent")
        func replace() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            try kf.home.write("out.png", Data(count: 100_000))
            for name in ["out.png", "again.png"] {
                let result = try await kf.run("fetch", server.url(fixture.name), "-o", name)
                #expect(try result.status == 0 && kf.contents(name) == fixture.data, "\(result)")
                let handle = try FileHandle(forWritingTo: kf.home.path("out.png"))
                try handle.write(contentsOf: Data("damage".utf8))
                try handle.close()
            }
            #expect(try await server.requests().count == 1)
        }

        @Test("A second copy of the same name gets a hash")
        func outputDirectory() async throws {
            let names = ["png/grey.png", "other/grey.png", "gif/animated.gif"]
            let fixtures = ["png/grey.png", "png/rgb.png", "gif/animated.gif"]
            // The first takes longest: its name does not depend on that.
            let slow = try FaultServer { request in
                let name = String(request.path.dropFirst())
                let fixture = names.firstIndex(of: name).map { fixtures[$0] } ?? ""
                let data = (try? FixturesDirectory.named(fixture).data) ?? Data()
                let image: [FaultStep] = [.reply(body: Array(data))]
                return name == names[0] ? [.pause(.milliseconds(200))] + image : image
            }
            let result = try await kf.run(["fetch", "--output-dir", "copies"] + names.map { slow.url("/" + $0) })
            #expect(result.status == 0, "\(result)")
            let copies = TemporaryDirectory.files(in: kf.home.path("copies"))
            try #require(copies.count == 3, "\(copies)")
            #expect(result.outputLines[0] == "copies/grey.png" && result.outputLines[2] == "copies/animated.gif")
            #expect(result.outputLines[1].wholeMatch(of: /copies\/grey-[0-9a-f]{8}\.png/) != nil, "\(result)")
            for (name, path) in zip(fixtures, result.outputLines) {
                #expect(try kf.contents(path) == FixturesDirectory.named(name).data)
            }
            // Another directory, another time, and another copy of the same file: the same names.
            let again = try await kf.run(
                ["fetch", "--only-from-cache", "-P", "again"] + names.map { slow.url("/" + $0) })
            #expect(again.outputLines == result.outputLines.map { $0.replacing("copies", with: "again") }, "\(again)")
        }

        @Test("A slash before a combining mark divides a path")
        func combining() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            let bytes = try Array(fixture.data)
            let origin = try FaultServer { _ in [.reply(body: bytes)] }
            try kf.home.write("files/a/\u{301}b.png", fixture.data)
            for source in [origin.url("/a/%CC%81b.png"), "files"] {
                let result = try await kf.run(
                    "fetch", source, "-P", "out", "--name", "{path}", "--cache-dir", "new/\u{301}cache")
                #expect(result.status == 0 && result.errors.isEmpty, "\(result)")
                #expect(try kf.contents("out/a/\u{301}b.png") == fixture.data)
                try FileManager.default.removeItem(at: kf.home.path("out"))
            }
        }

        @Test("The name of a local file's copy is stable")
        func localNames() async throws {
            var lines: [[String]] = []
            for folder in ["one", "two"] {
                for name in ["a/x.png", "b/x.png"] {
                    let fixture = name.hasPrefix("a") ? "png/grey.png" : "png/rgb.png"
                    try kf.home.write("\(folder)/\(name)", FixturesDirectory.named(fixture).data)
                }
                let result = try await kf.run("fetch", "\(folder)/a/x.png", "\(folder)/b/x.png", "--output-dir", "out")
                #expect(result.status == 0, "\(result)")
                lines.append(result.outputLines)
            }
            #expect(lines[0] == lines[1] && lines[0][0] == "out/x.png" && lines[0][1] != "out/x.png", "\(lines)")
        }

        @Test("A folder stands for all images below it")
        func folder() async throws {
            for name in ["x.png", "sub/x.png", "sub/deep/y.png", ".hidden/z.png"] {
                try kf.home.write("photos/\(name)", FixturesDirectory.named("png/grey.png").data)
            }
            try kf.home.write("photos/notes.txt", "no image")
            let result = try await kf.run("fetch", "photos/", "--output-dir", "out", "--name", "{dir}/{stem}.{ext}")
            #expect(result.status == 0, "\(result)")
            #expect(result.outputLines == ["out/sub/deep/y.png", "out/sub/x.png", "out/x.png"], "\(result)")
            let named = try await kf.run("fetch", server.url("png/grey.png"), "-P", "web", "--name", "{host}/{path}")
            #expect(named.output.wholeMatch(of: /web\/127\.0\.0\.1_[0-9]+\/png\/grey\.png\n/) != nil, "\(named)")
            try kf.home.write("empty/notes.txt", "no image")
            let empty = try await kf.run("fetch", "empty")
            #expect(empty.status == 1 && empty.errors.contains("empty: the directory has no image files"), "\(empty)")
        }

        @Test("Names keep blanks and punctuation, unless they are to be safe")
        func names() async throws {
            let name = "Åse's cat (2), 50% & more.png"
            try kf.home.write("in/\(name)", FixturesDirectory.named("png/grey.png").data)
            let kept = try await kf.run("fetch", "in", "-P", "out", "--json")
            #expect(try kept.items()[0].output == "out/\(name)", "\(kept)")
            #expect(TemporaryDirectory.files(in: kf.home.path("out")) == [name])
            let safe = try await kf.run("fetch", "in", "-P", "safe", "--safe-names")
            #expect(safe.outputLines == ["safe/Åse_s_cat__2___50____more.png"], "\(safe)")
        }

        @Test("A run says which files it wrote", arguments: ["fetch", "prefetch"])
        func states(command: String) async throws {
            let urls = ["png/grey.png", "jpeg/grey.jpg", "gif/still.gif"].map { server.url($0) }
            func run(_ options: String...) async throws -> CommandResult {
                let options = ["-P", "out"] + options
                return command == "fetch"
                    ? try await kf.run([command] + urls + options)
                    : try await kf.run([command, "-"] + options, input: Data(urls.joined(separator: "\n").utf8))
            }
            func states(_ options: String...) async throws -> ([String?], written: Int?, unchanged: Int?) {
                let objects = try await run(options.first ?? "--json", "--json").objects()
                let states = objects.dropLast().sorted { "\($0["output"] ?? "")" < "\($1["output"] ?? "")" }
                return (
                    states.map { $0["output_state"] as? String }, objects.last?["written"] as? Int,
                    objects.last?["unchanged"] as? Int
                )
            }
            #expect(try await states() == (["written", "written", "written"], 3, 0))
            try kf.home.write("out/grey.png", "another")
            #expect(try await states() == (["unchanged", "written", "unchanged"], 1, 2))
            try kf.home.write("out/grey.png", "another")
            let (left, written, unchanged) = try await states("--no-clobber")
            #expect(Set(left) == ["left"] && written == 0 && unchanged == 0)
            guard command == "prefetch" else { return }
            try FileManager.default.removeItem(at: kf.home.path("out/grey.jpg"))
            let text = try await run("-q")
            #expect(text.errors.isEmpty, "\(text)")
            try FileManager.default.removeItem(at: kf.home.path("out/grey.jpg"))
            #expect(
                try await run().errors.contains("0 fetched (0 B), 3 cached, 0 failed, 1 file written (")
            )
        }

        @Test("A folder leaves out caches and the run's own output")
        func ownFolders() async throws {
            let picture = try FixturesDirectory.named("png/grey.png").data
            let tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
            for name in ["a.png", "tagged/b.png", "other/c.png"] { try kf.home.write("photos/\(name)", picture) }
            try kf.home.write("photos/tagged/CACHEDIR.TAG", tag)
            try kf.home.write("photos/other/CACHEDIR.TAG", "Signature: another\n")
            let arguments = ["fetch", "photos", "-P", "photos/out", "--cache-dir", "photos/cache", "-p", "resize:20x"]
            for _ in 0..<3 {
                let result = try await kf.run(arguments)
                #expect(result.outputLines == ["photos/out/a.png", "photos/out/c.png"], "\(result)")
            }
            // A folder that is given is meant.
            #expect(try await kf.run("fetch", "photos/tagged", "-P", "b").outputLines == ["b/b.png"])
        }

        @Test("A terminal is told of a very large folder")
        func largeFolder() throws {
            for number in 0..<10_000 { try kf.home.write("many/\(number).png", "") }
            let terminal = try PseudoTerminal(
                kf.binary.path, ["fetch", "many", "-q"], environment: kf.environment, directory: kf.home.url)
            #expect(terminal.wait(for: "kf: 10000 images in many; Ctrl-C stops"))
            terminal.type("\u{3}")
            #expect(terminal.finish() == 130)
        }

        @Test("The extension of a copy chooses its format")
        func nameConverts() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            let result = try await kf.run("fetch", server.url(fixture.name), "-o", "out.jpg")
            #expect(result.status == 0 && result.output == "out.jpg\n" && result.errors == "", "\(result)")
            #expect(try kf.contents("out.jpg").starts(with: [0xff, 0xd8]))
            let explicit = try await kf.run("fetch", server.url(fixture.name), "-f", "jpeg", "-o", "explicit.bin")
            #expect(explicit.status == 0)
            #expect(try kf.contents("explicit.bin") == kf.contents("out.jpg"))
            for (name, format) in [("same.png", []), ("keep.jpg", ["-f", "keep"]), ("other.dat", []), ("x.heic", [])] {
                let kept = try await kf.run(["fetch", server.url(fixture.name), "-o", name] + format)
                #expect(kept.status == 0, "\(kept)")
                #expect(try kf.contents(name) == fixture.data, "\(name)")
                #expect(
                    kept.errors.contains("has the bytes of PNG") == (name == "keep.jpg" || name == "x.heic"), "\(kept)")
            }
            let template = try await kf.run("fetch", server.url(fixture.name), "-O", "--name", "{stem}.webp")
            #expect(
                try template.output == "grey.webp\n"
                    && kf.contents("grey.webp")[8..<12] == Data("WEBP".utf8))
            // A format in the environment gives way to a name on the command line.
            var png = kf
            png.environment["KF_FORMAT"] = "png"
            #expect(try await png.run("fetch", server.url(fixture.name), "-o", "env.gif").status == 0)
            #expect(try kf.contents("env.gif").starts(with: Data("GIF8".utf8)))
            #expect(try await server.requests().count == 1)
        }

        @Test("An image that already has the format is a hit")
        func sameFormat() async throws {
            let url = server.url("jpeg/grey.jpg")
            _ = try await kf.run("fetch", url)
            let hit = try await kf.run("fetch", "--json", url, "-o", "a.jpg")
            #expect(try hit.item().status == "disk", "\(hit)")
            #expect(try await kf.run("cache", "ls", "--json").objects().count == 1)
        }

        @Test("Several formats write several files")
        func severalFormats() async throws {
            let url = server.url("jpeg/landscape-420.jpg")
            let formats = try await kf.run("fetch", url, "-f", "webp", "-f", "keep", "-f", "png", "-P", "out")
            #expect(
                formats.outputLines == ["out/landscape-420.webp", "out/landscape-420.jpg", "out/landscape-420.png"],
                "\(formats)")
            let variants = try await kf.run(
                "fetch", url, "-P", "site", "--variant", "small=resize:32x|>encode:webp,quality=40", "--variant",
                "big=resize:64x", "-f", "png", "--variant", "own=encode:jpeg")
            #expect(
                variants.outputLines == [
                    "site/landscape-420-small.webp", "site/landscape-420-big.png", "site/landscape-420-own.jpg",
                ], "\(variants)")
            let identifiers = try await kf.run("cache", "ls", "--json").objects().compactMap {
                $0["identifier"] as? String
            }
            #expect(identifiers.contains("resize:32x|>encode:webp,quality=40"), "\(identifiers)")
            let wrong = try await kf.run("fetch", url, "--variant", "a=resize:32x|>encode:tiff")
            #expect(wrong.status == 2 && wrong.errors.contains("png"), "\(wrong)")
            let twice = try await kf.run("fetch", url, "-p", "encode:webp", "-f", "png", "-O")
            #expect(twice.status == 2, "\(twice)")
            #expect(try await server.requests().count == 1)
        }

        @Test("Missing output directories are created on request")
        func directories() async throws {
            let url = server.url("png/grey.png")
            #expect(try await kf.run("fetch", url, "-o", "made/").output == "made/grey.png\n")
            #expect(try await kf.run("fetch", url, "-O").output == "grey.png\n")
            #expect(try await kf.run("fetch", url, "-O", "-P", "other").output == "other/grey.png\n")
            let missing = try await kf.run("fetch", url, "-o", "no/where/x.png")
            #expect(missing.status == 1 && missing.errors.contains("--create-dirs"), "\(missing)")
            for words in [["-o", "no/where/x.png"], ["-P", "not/there"], ["-o", "nor/there/"]] {
                let made = try await kf.run(["fetch", url, "--create-dirs"] + words)
                #expect(made.status == 0 && made.outputLines.count == 1, "\(made)")
            }
            #expect(try await kf.run("fetch", url, "-q", "-o", "quiet.png").output == "")
        }

        @Test("Identical files and protected files are not rewritten")
        func unchanged() async throws {
            func inode(_ name: String) throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: kf.home.path(name).path)[.systemFileNumber] as? Int
            }
            let url = server.url("png/grey.png")
            for words in [["-o", "x.png"], ["-P", "out"]] {
                let name = words[0] == "-o" ? "x.png" : "out/grey.png"
                _ = try await kf.run(["fetch", url] + words)
                let before = try inode(name)
                _ = try await kf.run(["fetch", url] + words)
                #expect(try inode(name) == before)
                // As long, and different.
                var other = try kf.contents(name)
                other[other.count - 1] ^= 1
                try kf.home.write(name, other)
                let left = try await kf.run(["fetch", url, "--no-clobber"] + words)
                #expect(try left.status == 0 && kf.contents(name) == other, "\(left)")
                #expect(left.output == "" && left.errors == "", "what was not written is not named")
                let told = try await kf.run(["fetch", url, "--no-clobber", "--json", "-v"] + words)
                #expect(try told.item().output == nil && told.errors.contains("is left as it is"), "\(told)")
                _ = try await kf.run(["fetch", url] + words)
                #expect(try kf.contents(name) == FixturesDirectory.named("png/grey.png").data)
            }
        }

        @Test("A copy never replaces a source of the run")
        func sources() async throws {
            try kf.home.write("p/my photo.png", FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("p/my_photo.png", FixturesDirectory.named("png/rgb.png").data)
            #expect(mkfifo(kf.home.path("p/fifo.png").path, 0o600) == 0)
            let result = try await kf.run("fetch", "p", "-P", "p", "-p", "resize:5x5")
            #expect(result.status == 1 && result.errors.contains("is a file of this run"), "\(result)")
            for (name, fixture) in [("my photo.png", "png/grey.png"), ("my_photo.png", "png/rgb.png")] {
                #expect(try kf.contents("p/\(name)") == FixturesDirectory.named(fixture).data)
            }
            // One file is named by the user, and may be changed in place.
            #expect(try await kf.run("fetch", "p/my_photo.png", "-p", "resize:5x5", "-o", "p/my_photo.png").status == 0)
        }

        @Test("A copy never replaces a file that its run reads or writes") func filesOfTheRun() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let other = try FaultServer { $0.path == "/none" ? [.reply("404 Not Found")] : [.reply(body: image)] }
            let names = ["list.txt", "rows.csv", "failed.txt", "im.lock", "set.html", "other.png"]
            let list = (names + ["none"]).map { other.url("/\($0)") + "\n" }.joined()
            try kf.home.write("list.txt", list)
            let run = try await kf.run(
                "prefetch", "list.txt", "--output-dir", ".", "--name", "{name}", "--results", "rows.csv", "--failures",
                "./failed.txt", "--lock", kf.home.path("im.lock").path, "--srcset", "set.html")
            #expect(run.status == 1, "\(run)")
            for name in names.dropLast() {
                #expect(run.errors.contains("not written: \(name) is a file of this run"), "\(run)")
                #expect(try kf.contents(name).first != 0x89 && !kf.contents(name).isEmpty)
            }
            #expect(try kf.text("list.txt") == list && kf.contents("other.png") == Data(image))
        }

        @Test(
            "A copy never replaces an image that its run reads", arguments: [["fetch"], ["prefetch", "-"]],
            [
                ["-p", "watermark:grey.png"], ["-p", "watermark:file:///HOME/grey.png"], ["--alternative", "grey.png"],
                ["--on-failure", "file:///HOME/grey.png"],
            ])
        func overlay(command: [String], options: [String]) async throws {
            let mark = try FixturesDirectory.named("png/rgba.png").data
            try kf.home.write("grey.png", mark)
            let url = server.url("png/grey.png")
            let home = kf.home.url.path.dropFirst()
            let words =
                ["--output-dir", ".", "--name", "{name}"]
                + options.map { $0.replacingOccurrences(of: "HOME", with: home) }
            let isList = command.count > 1
            let run = try await kf.run(
                command + words + (isList ? [] : [url]), input: isList ? Data("\(url)\n".utf8) : nil)
            #expect(run.status == 1 && run.errors.contains("grey.png is a file of this run"), "\(run)")
            #expect(try kf.contents("grey.png") == mark)
        }

        @Test("A copy never replaces what a cache or a remote of its run holds")
        func caches() async throws {
            let image = try FixturesDirectory.bytes("png/grey.png")
            let origin = try FaultServer { _ in [.reply(body: image)] }
            let other = kf.home.path("other").path
            let first = try await kf.run("fetch", server.url("png/rgb.png"), "--cache-dir", other)
            let object = try #require(first.outputLines.first).dropFirst(kf.home.url.path.count + 1)
            let names = [
                "new/v1/index.sqlite", "new/CACHEDIR.TAG", "\(object)", "other/CACHEDIR.TAG", "far/kf1/a.png",
                "new/a.png",
            ]
            let options = [
                "--cache-dir", "new", "--cache-from", "other", "--remote", "file://\(kf.home.path("far").path)",
                "--remote-write", "-P", ".", "--name", "{path}", "-f", "keep",
            ]
            let run = try await kf.run(["fetch"] + names.map { origin.url("/\($0)") } + options)
            #expect(run.status == 1 && run.outputLines == ["new/a.png"], "\(run)")
            #expect(run.errorLines.count { $0.contains("not written") } == 5, "\(run)")
            #expect(try await kf.run("cache", "verify", "--cache-dir", other).status == 0)
            #expect(try await kf.run("cache", "verify", "--cache-dir", "new").status == 0)
        }

        @Test(
            "An option never overwrites what its run reads",
            arguments: [
                ["--cookie-jar", "list"], ["--failures", "m.png", "--alternative", "m.png"],
                ["--results", "m.csv", "-p", "watermark:m.csv"],
                ["--failures", "m.png", "--alternative", "file:///HOME/m.png"],
                ["--failures", "m.png", "--on-failure", "./m.png"],
            ])
        func inputs(options: [String]) async throws {
            try kf.home.write("list", server.url("png/grey.png") + "\n")
            for name in ["m.png", "m.csv"] { try kf.home.write(name, FixturesDirectory.named("png/rgba.png").data) }
            let home = kf.home.url.path.dropFirst()
            let words = options.map { $0.replacingOccurrences(of: "HOME", with: home) }
            let run = try await kf.run(["prefetch", "list", "-P", "out", "--create-dirs"] + words)
            #expect(run.status == 2, "\(run)")
            #expect(try kf.text("list").contains("grey.png") && kf.contents("m.png") == kf.contents("m.csv"))
        }

        @Test("Formats and variants combine into plain names")
        func combined() async throws {
            let url = server.url("jpeg/landscape-420.jpg")
            let result = try await kf.run(
                "fetch", url, "-f", "webp", "-f", "png", "--variant", "s=resize:9x", "--variant", "l=resize:19x", "-P",
                "out")
            #expect(
                result.outputLines == ["s.webp", "s.png", "l.webp", "l.png"].map { "out/landscape-420-\($0)" },
                "\(result)")
            let input = try FixturesDirectory.named("png/grey.png").data
            let first = try await kf.run(
                "fetch", "-", server.url("png/grey.png"), "--name", "image.{ext}", "-O", input: input)
            #expect(first.outputLines[0] == "image.png", "\(first)")
            let idle = try await kf.run("fetch", url, "-O", "-f", "png", "--variant", "a=encode:webp")
            #expect(idle.status == 2, "\(idle)")
        }

        @Test("A lost animation is reported")
        func lostAnimation() async throws {
            let url = server.url("gif/animated.gif")
            let result = try await kf.run("fetch", url, "-o", "still.png")
            #expect(result.status == 0 && result.errors.contains("12 frames"), "\(result)")
            #expect(try await kf.run("fetch", url, "-q", "-o", "still.jpg").errors == "")
            let list = Data("\(url)\n".utf8)
            let prefetch = try await kf.run("prefetch", "-", "-f", "jpeg", "--background", "#fff", input: list)
            #expect(prefetch.status == 0 && prefetch.errors.contains("12 frames"), "\(prefetch)")
            let first = try await kf.run("fetch", url, "--first-frame", "-o", "first.png")
            #expect(first.status == 0 && first.errors == "", "\(first)")
            #expect(try await kf.run("fetch", url, "-o", "moving.webp").errors == "")
        }

        @Test("An image is not written to a terminal")
        func terminal() async throws {
            let screen = try PseudoTerminal(
                kf.binary.path, ["fetch", server.url("png/grey.png"), "-o", "-"], environment: kf.environment,
                directory: kf.home.url)
            #expect(screen.finish() == 2)
            #expect(screen.shown.contains("terminal") && !screen.shown.contains("IHDR"), "\(screen.shown)")
            #expect(try await server.requests().isEmpty)
        }
    }
}
