import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Configuration")
    struct ConfigTests {
        var kf: KFCommand

        init() throws {
            kf = try KFCommand()
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
        }

        private func write(_ text: String) throws { try kf.home.write(".config/kf/config", text) }

        private func format(_ kf: KFCommand, _ arguments: String...) async throws -> String? {
            try await kf.run(["fetch", "a.png", "--json"] + arguments).item().format
        }

        @Test("Flags override the environment, which overrides the file")
        func layers() async throws {
            #expect(try await format(kf) == "png")
            try write("format = gif\n")
            #expect(try await format(kf) == "gif")
            #expect(try await format(kf.with(["KF_FORMAT": "webp"])) == "webp")
            #expect(try await format(kf.with(["KF_FORMAT": "webp"]), "-f", "jpeg") == "jpeg")
            #expect(try await format(kf.with(["KF_FORMAT": ""])) == "gif")
        }

        @Test("A nearer layer overrides a conflicting option of a farther one")
        func conflicts() async throws {
            try write("only-from-cache\n")
            let refused = try await kf.run("fetch", "a.png")
            #expect(refused.status == 1 && refused.errors.contains("[3006]"), "\(refused)")
            #expect(try await format(kf, "--force-refresh") == "png")
            #expect(try await format(kf, "--no-only-from-cache") == "png")
            #expect(try await format(kf.with(["KF_ONLY_FROM_CACHE": "0"])) == "png")
            let both = try await kf.run("fetch", "a.png", "--force-refresh", "--only-from-cache")
            #expect(both.status == 2)
            #expect(both.errors == "kf: --force-refresh and --only-from-cache exclude each other\n")
        }

        @Test(
            "The config file accepts every spelling of curl's",
            arguments: [
                "format gif", "format=gif", "--format gif", "  format:\tgif  ", "format = \"gif\" # small",
                "# a comment\n\nformat = gif # small\r\n", "quality = 3\nformat = gif\nsort = size",
                "quality = 3\nquality = 4\nformat = gif", "quality = 3\r\nformat = gif\r\n",
                "no-srgb\nsrgb = off\nformat \"\\gif\"".replacing("\\g", with: "g"),
            ])
        func spellings(text: String) async throws {
            try write(text)
            #expect(try await format(kf) == "gif")
        }

        @Test(
            "A mistake in the config file is reported with its line",
            arguments: [
                ("json\nfromat = gif", 2, "there is no option 'fromat'; did you mean 'format'?"),
                ("output = x", 1, "'output' works on the command line only, not in a file"),
                ("all", 1, "'all' works on the command line only, not in a file"),
                ("yes = 1", 1, "'yes' works on the command line only, not in a file"),
                ("quality", 1, "'quality' needs a value: quality = N|FORMAT=N,..."),
                ("json = maybe", 1, "'json' is a switch: true or false, not 'maybe'"),
                ("memory-only", 1, "there is no option 'memory-only'; it is --store none now"),
                ("format = \"gif", 1, "a closing quote is missing"),
                ("format = \"gif\" png", 1, "there is text after the closing quote"),
                ("format = \"\\x\"", 1, "'\\x' is unknown; the known ones are \\\" \\\\ \\n \\t"),
            ])
        func mistakes(text: String, line: Int, message: String) async throws {
            try write(text)
            let result = try await kf.run("fetch", "a.png")
            #expect(result.status == 2 && result.standardOutput.isEmpty)
            #expect(result.errors == "kf: \(kf.home.path(".config/kf/config").path):\(line): \(message)\n")
        }

        @Test("A wrong value is reported with its place")
        func wrongValues() async throws {
            try write("\nquality = 200\n")
            let file = try await kf.run("fetch", "a.png")
            let place = "\(kf.home.path(".config/kf/config").path):2"
            #expect(
                file.errors
                    == "kf: --quality takes a number from 1 to 100, or such as webp=80,jpeg=85, not '200' (\(place))\n")
            let variable = try await kf.with(["KF_QUALITY": "x"]).run("fetch", "a.png")
            #expect(
                variable.errors
                    == "kf: --quality takes a number from 1 to 100, or such as webp=80,jpeg=85, not 'x' (from KF_QUALITY)\n"
            )
            let flag = try await kf.with(["KF_JSON": "perhaps"]).run("fetch", "a.png")
            #expect(flag.errors == "kf: KF_JSON is a switch: 1 or 0, not 'perhaps'\n")
            let gone = try await kf.with(["KF_OPT_OUT_AGENT": "bot"]).run("cache", "stat")
            #expect(gone.status == 2, "\(gone)")
            #expect(gone.errors.hasSuffix(" the variable KF_OPT_OUT_AGENT; it is --respect-opt-out=NAME now\n"))
            #expect([file.status, variable.status, flag.status] == [2, 2, 2])
        }

        @Test("A repeatable option may have several lines")
        func repeated() async throws {
            let fromVariable = try await kf.with(["KF_PROCESS": "crop:20x10\nrotate:90"]).run(
                "fetch", "a.png", "--json")
            #expect(try fromVariable.item().width == 10)
            try write("process = crop:20x10\nprocess = rotate:90\n")
            let fromFile = try await kf.run("fetch", "a.png", "--json").item()
            #expect(fromFile.width == 10 && fromFile.height == 20)
        }

        @Test("XDG_CONFIG_HOME moves the config file")
        func places() async throws {
            try kf.home.write("elsewhere/kf/config", "format = gif")
            let moved = kf.with(["XDG_CONFIG_HOME": kf.home.path("elsewhere").path])
            #expect(try await format(moved) == "gif")
            #expect(try await format(kf.with(["XDG_CONFIG_HOME": "elsewhere"])) == "png", "a relative path is ignored")
            try kf.home.write(".config/kf/config/folder", "")
            let folder = try await kf.run("fetch", "a.png")
            #expect(folder.status == 2)
            #expect(folder.errors == "kf: cannot read \(kf.home.path(".config/kf/config").path): Is a directory\n")
            let help = try await kf.run("fetch", "--help")
            #expect(help.status == 0, "help needs no config")
        }

        @Test("The command config shows each value and its origin")
        func shown() async throws {
            try write("jobs = 8\nsrgb\nvariant = a=blur:3\nvariant = b=blur:4\n")
            let file = kf.home.path(".config/kf/config").path
            let result = try await kf.with(["KF_TIMEOUT": "3s"]).run("config", "--color", "never")
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let words = result.outputLines.map { $0.split(separator: " ").map(String.init) }
            #expect(result.outputLines.first == "# \(file)")
            for expected in [
                ["jobs", "8", "\(file):1"], ["srgb", "true", "\(file):2"],
                ["variant", "a=blur:3", "b=blur:4", "\(file):4"], ["timeout", "3s", "KF_TIMEOUT"],
                ["color", "never", "command", "line"], ["quality", "85,avif=60", "default"],
                ["cache-dir", kf.cacheDirectory.path, "KF_CACHE_DIR"],
            ] {
                #expect(words.contains(expected), "\(expected) in \(result)")
            }
        }

        @Test("The configuration in JSON has one object for each option")
        func json() async throws {
            try write("jobs = 8\n")
            let objects = try await kf.run("config", "--json").objects()
            let jobs = try #require(objects.first { $0["option"] as? String == "jobs" })
            #expect(jobs["value"] as? String == "8" && jobs["origin"] as? String == "file")
            #expect(jobs["line"] as? Int == 1 && jobs["variable"] as? String == "KF_JOBS")
            #expect(objects.allSatisfy { $0["schema"] as? Int == 1 })
            #expect(objects.last?["exists"] as? Bool == true)
        }

        @Test("The command config reports a value that fetch would refuse")
        func refused() async throws {
            try write("quality = 200\n")
            let result = try await kf.run("config")
            #expect(result.status == 2 && result.errors.contains("--quality takes"), "\(result)")
            #expect(result.outputLines.count > 20)
        }
    }
}
