import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Writing copies")
    struct OutputTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        @Test("-o FILE holds the image byte for byte, the first time and from the cache")
        func file() async throws {
            let fixture = try FixturesDirectory.named("jpeg/grey.jpg")
            for name in ["first.jpg", "second.jpg"] {
                let result = try await kf.run("fetch", server.url(fixture.name), "-o", name)
                #expect(result.status == 0, "\(result)")
                #expect(try Data(contentsOf: kf.home.path(name)) == fixture.data)
            }
            #expect(try await server.requests().count == 1)
        }

        @Test("-o FILE replaces a file that is there")
        func replace() async throws {
            try kf.home.write("out.png", "old, and longer than nothing")
            let result = try await kf.run("fetch", server.url("png/one-pixel.png"), "-o", "out.png")
            #expect(result.status == 0, "\(result)")
            #expect(
                try Data(contentsOf: kf.home.path("out.png")) == FixturesDirectory.named("png/one-pixel.png").data)
        }

        @Test("a copy can be changed without hurting the cache")
        func independent() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            _ = try await kf.run("fetch", server.url(fixture.name), "-o", "out.png")
            let handle = try FileHandle(forWritingTo: kf.home.path("out.png"))
            try handle.write(contentsOf: Data("damage".utf8))
            try handle.close()
            let again = try await kf.run("fetch", "--json", server.url(fixture.name), "-o", "again.png")
            #expect(try again.item().status == "disk", "\(again)")
            #expect(try Data(contentsOf: kf.home.path("again.png")) == fixture.data)
        }

        @Test("-o - writes the image and nothing else to standard output")
        func standardOutput() async throws {
            let fixture = try FixturesDirectory.named("webp/lossy.webp")
            let result = try await kf.run("fetch", server.url(fixture.name), "-o", "-")
            #expect(try result.status == 0 && result.standardOutput == fixture.data, "\(result)")
        }

        @Test("a reader that leaves early is no error")
        func brokenPipe() async throws {
            let script = """
                "$1" fetch "$2" -o - | head -c 10 >/dev/null
                echo "${PIPESTATUS[0]}"
                """
            _ = try await kf.run("fetch", server.url("jpeg/landscape-420.jpg"))
            let result = try await RunningCommand(
                "/bin/bash", ["-c", script, "bash", kf.binary.path, server.url("jpeg/landscape-420.jpg")],
                environment: kf.environment
            ).wait()
            #expect(result.errors == "", "\(result)")
        }

        @Test("--output-dir names each copy after its source; of two with one name, the second has a hash")
        func outputDirectory() async throws {
            let names = ["jpeg/grey.jpg", "png/grey.png", "gif/animated.gif"]
            // The first takes longest: its name does not depend on that.
            let slow = try FaultServer { request in
                let name = String(request.path.dropFirst())
                let data = (try? FixturesDirectory.named(name).data) ?? Data()
                let image: [FaultStep] = [.reply(body: Array(data))]
                return name == names[0] ? [.pause(.milliseconds(200))] + image : image
            }
            let result = try await kf.run(["fetch", "--output-dir", "copies"] + names.map { slow.url("/" + $0) })
            #expect(result.status == 0, "\(result)")
            let copies = TemporaryDirectory.files(in: kf.home.path("copies"))
            try #require(copies.count == 3, "\(copies)")
            #expect(result.outputLines[0] == "copies/grey.jpg" && result.outputLines[2] == "copies/animated.gif")
            #expect(result.outputLines[1].wholeMatch(of: /copies\/grey-[0-9a-f]{8}\.png/) != nil, "\(result)")
            for (name, path) in zip(names, result.outputLines) {
                #expect(try Data(contentsOf: kf.home.path(path)) == FixturesDirectory.named(name).data)
            }
            // Another directory, another time, and another copy of the same file: the same names.
            let again = try await kf.run(
                ["fetch", "--only-from-cache", "-P", "again"] + names.map { slow.url("/" + $0) })
            #expect(again.outputLines == result.outputLines.map { $0.replacing("copies", with: "again") }, "\(again)")
        }

        @Test("A local file's name does not depend on its time, inode or directory")
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

        @Test("A folder stands for the images in it and below, and {dir} mirrors it")
        func folder() async throws {
            for name in ["x.png", "sub/x.png", "sub/deep/y.png", ".hidden/z.png"] {
                try kf.home.write("photos/\(name)", FixturesDirectory.named("png/grey.png").data)
            }
            try kf.home.write("photos/notes.txt", "no image")
            let result = try await kf.run("fetch", "photos/", "--output-dir", "out", "--name", "{dir}/{stem}.{ext}")
            #expect(result.status == 0, "\(result)")
            #expect(result.outputLines == ["out/sub/deep/y.png", "out/sub/x.png", "out/x.png"], "\(result)")
            let named = try await kf.run(
                "fetch", server.url("png/grey.png"), "-P", "web", "--name", "{host}/{path}")
            #expect(named.output.wholeMatch(of: /web\/127\.0\.0\.1_[0-9]+\/png\/grey\.png\n/) != nil, "\(named)")
            try kf.home.write("empty/notes.txt", "no image")
            #expect(try await kf.run("fetch", "empty").status == 1)
        }

        @Test("-o NAME.EXT converts; without a format that kf writes, or with -f keep, it does not")
        func nameConverts() async throws {
            let fixture = try FixturesDirectory.named("png/grey.png")
            let result = try await kf.run("fetch", server.url(fixture.name), "-o", "out.jpg")
            #expect(result.status == 0 && result.output == "out.jpg\n" && result.errors == "", "\(result)")
            #expect(try Data(contentsOf: kf.home.path("out.jpg")).starts(with: [0xff, 0xd8]))
            let explicit = try await kf.run("fetch", server.url(fixture.name), "-f", "jpeg", "-o", "explicit.bin")
            #expect(explicit.status == 0)
            #expect(try Data(contentsOf: kf.home.path("explicit.bin")) == Data(contentsOf: kf.home.path("out.jpg")))
            for (name, format) in [("same.png", []), ("keep.jpg", ["-f", "keep"]), ("other.dat", []), ("x.heic", [])] {
                let kept = try await kf.run(["fetch", server.url(fixture.name), "-o", name] + format)
                #expect(kept.status == 0, "\(kept)")
                #expect(try Data(contentsOf: kf.home.path(name)) == fixture.data, "\(name)")
                #expect(
                    kept.errors.contains("has the bytes of PNG") == (name == "keep.jpg" || name == "x.heic"), "\(kept)")
            }
            let template = try await kf.run("fetch", server.url(fixture.name), "-O", "--name", "{stem}.webp")
            #expect(
                try template.output == "grey.webp\n"
                    && Data(contentsOf: kf.home.path("grey.webp"))[8..<12] == Data("WEBP".utf8))
            // A format in the environment gives way to a name on the command line.
            var png = kf
            png.environment["KF_FORMAT"] = "png"
            #expect(try await png.run("fetch", server.url(fixture.name), "-o", "env.gif").status == 0)
            #expect(try Data(contentsOf: kf.home.path("env.gif")).starts(with: Data("GIF8".utf8)))
            #expect(try await server.requests().count == 1)
        }

        @Test("An image that already has the format is a hit on its original")
        func sameFormat() async throws {
            let url = server.url("jpeg/grey.jpg")
            _ = try await kf.run("fetch", url)
            let hit = try await kf.run("fetch", "--json", url, "-o", "a.jpg")
            #expect(try hit.item().status == "disk", "\(hit)")
            #expect(try await kf.run("cache", "ls", "--json").objects().count == 1)
        }

        @Test("Several -f write several files, and a variant may end in its own format")
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

        @Test("-o DIR/ is a directory, -O the current one, and missing parents are made when asked")
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

        @Test("A file with the same bytes is not rewritten, and --no-clobber leaves every file")
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
                var other = try Data(contentsOf: kf.home.path(name))
                other[other.count - 1] ^= 1
                try kf.home.write(name, other)
                let left = try await kf.run(["fetch", url, "--no-clobber"] + words)
                #expect(try left.status == 0 && Data(contentsOf: kf.home.path(name)) == other, "\(left)")
                #expect(left.output == "" && left.errors == "", "what was not written is not named")
                let told = try await kf.run(["fetch", url, "--no-clobber", "--json", "-v"] + words)
                #expect(try told.item().output == nil && told.errors.contains("is left as it is"), "\(told)")
                _ = try await kf.run(["fetch", url] + words)
                #expect(
                    try Data(contentsOf: kf.home.path(name)) == FixturesDirectory.named("png/grey.png").data)
            }
        }

        @Test("No copy replaces a source of the run, and a FIFO in a folder is passed over")
        func sources() async throws {
            try kf.home.write("p/my photo.png", FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("p/my_photo.png", FixturesDirectory.named("png/rgb.png").data)
            #expect(mkfifo(kf.home.path("p/fifo.png").path, 0o600) == 0)
            let result = try await kf.run("fetch", "p", "-P", "p", "-p", "resize:5x5")
            #expect(result.status == 1 && result.errors.contains("is a source of this run"), "\(result)")
            for (name, fixture) in [("my photo.png", "png/grey.png"), ("my_photo.png", "png/rgb.png")] {
                #expect(try Data(contentsOf: kf.home.path("p/\(name)")) == FixturesDirectory.named(fixture).data)
            }
            // One file is named by the user, and may be changed in place.
            #expect(try await kf.run("fetch", "p/my_photo.png", "-p", "resize:5x5", "-o", "p/my_photo.png").status == 0)
        }

        @Test("Formats and variants together have plain names, and standard input claims its name in its turn")
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

        @Test("A lost animation is said, also without -v")
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

        @Test("-o - onto a terminal is refused, and through a pipe it is not")
        func terminal() async throws {
            let screen = try PseudoTerminal(
                kf.binary.path, ["fetch", server.url("png/grey.png"), "-o", "-"], environment: kf.environment,
                directory: kf.home.url)
            #expect(screen.finish() == 2)
            #expect(screen.shown.contains("terminal") && !screen.shown.contains("IHDR"), "\(screen.shown)")
            #expect(try await server.requests().isEmpty)
        }

        @Test("-o FILE with several sources is a mistake in the command")
        func severalSources() async throws {
            let result = try await kf.run(
                "fetch", server.url("png/grey.png"), server.url("png/rgb.png"), "-o", "out.png")
            #expect(result.status == 2, "\(result)")
            #expect(result.errors.contains("--output-dir"), "\(result)")
            #expect(try await server.requests().isEmpty)
        }

        @Test("--json and the image cannot both go to standard output")
        func jsonAndImage() async throws {
            let result = try await kf.run("fetch", "--json", server.url("png/grey.png"), "-o", "-")
            #expect(result.status == 2 && result.standardOutput.isEmpty, "\(result)")
        }
    }
}
