import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("What scripts depend on")
    struct OutputContractTests {
        var kf: KFCommand

        init() throws {
            kf = try KFCommand()
            for name in ["a.png", "b.png"] { try kf.home.write(name, FixturesDirectory.named("png/grey.png").data) }
        }

        private func shell(_ script: String, _ words: String..., with variables: [String: String] = [:]) async throws
            -> CommandResult
        {
            try await RunningCommand(
                "/bin/bash", ["-c", script, "bash", kf.binary.path] + words,
                environment: kf.environment.merging(variables) { $1 }, directory: kf.home.url
            ).wait()
        }

        @Test("a reader that leaves early ends kf quietly, with status 0")
        func brokenPipe() async throws {
            let sources = Array(repeating: "a.png", count: 300).joined(separator: " ")
            let result = try await shell(
                "\"$1\" fetch --json \(sources) | head -n 1; echo ${PIPESTATUS[0]}")
            #expect(result.errors == "" && result.outputLines.count == 2 && result.outputLines.last == "0", "\(result)")
        }

        @Test("a full output is said, and status 1")
        func fullOutput() async throws {
            let result = try await shell("\"$1\" fetch a.png >/dev/full")
            #expect(result.status == 1)
            #expect(result.errors == "kf: cannot write standard output: No space left on device\n")
        }

        @Test("a non-blocking output loses nothing")
        func nonBlocking() async throws {
            let script = """
                import fcntl, os, subprocess, sys, time
                r, w = os.pipe()
                fcntl.fcntl(w, fcntl.F_SETFL, os.O_NONBLOCK)
                child = subprocess.Popen([sys.argv[1], "fetch", "--json"] + ["a.png"] * 900, stdout=w)
                os.close(w)
                text = b""
                while piece := os.read(r, 4096): text += piece
                print(child.wait(), text.count(b"\\n"))
                """
            let result = try await RunningCommand(
                "python3", ["-c", script, kf.binary.path], environment: kf.environment, directory: kf.home.url
            ).wait()
            #expect(result.output == "0 901\n", "\(result)")
        }

        @Test("closed descriptors: nothing is written into another file, and the status says so")
        func closedDescriptors() async throws {
            let url = kf.home.path("a.png").path
            let output = try await shell("\"$1\" fetch a.png >&-")
            #expect(output.status == 1 && output.errors.contains("standard output: Bad file descriptor"), "\(output)")
            let image = try await shell("\"$1\" fetch a.png -o - >&-")
            #expect(image.status == 1 && image.errors.contains("[4002]"), "\(image)")
            let errors = try await shell("\"$1\" fetch missing.png a.png 2>&-", url)
            #expect(errors.status == 1 && errors.outputLines.count == 1, "\(errors)")
            let input = try await shell("\"$1\" fetch - <&-")
            #expect(input.status == 1 && input.errors.contains("standard input"), "\(input)")
            let all = try await shell("\"$1\" fetch -q a.png -o out.png <&- >&- 2>&-")
            #expect(all.status == 0, "\(all)")
            #expect(
                try Data(contentsOf: kf.home.path("out.png")) == FixturesDirectory.named("png/grey.png").data)
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            #expect(try await kf.run("fetch", "--only-from-cache", "a.png").status == 0)
        }

        @Test("SIGINT and SIGTERM end with 130 and 143, and leave no temporary files", arguments: [SIGINT, SIGTERM])
        func signals(number: CInt) async throws {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"
            let server = try FaultServer { _ in [.text(head), .hold] }
            let running = try kf.start(["fetch", server.url("/a.png"), "-o", "x.png"])
            for _ in 0..<1000 where server.requests.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            // The first lets the transfer end; whoever is in a hurry says it again.
            let hurry = Task {
                for _ in 0..<400 {
                    running.signal(number)
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            let result = try await running.wait(timeout: .seconds(30))
            hurry.cancel()
            #expect(result.status == 128 + number, "\(result)")
            #expect(kf.leftovers().filter { $0.contains("/tmp/") } == [])
            #expect(!FileManager.default.fileExists(atPath: kf.home.path("x.png").path))
        }

        @Test("a limit on the size of files damages nothing")
        func fileSizeLimit() async throws {
            _ = try await kf.run("fetch", "b.png", "-p", "resize:8x8")
            let result = try await shell("ulimit -f 4; \"$1\" fetch a.png -p rotate:90 -o out.png")
            #expect(result.status != 0 && result.status < 128, "\(result)")
            #expect(!FileManager.default.fileExists(atPath: kf.home.path("out.png").path))
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            #expect(try await kf.run("fetch", "a.png", "-p", "rotate:90", "-o", "out.png").status == 0)
        }

        @Test("bytes that are not UTF-8 are kept in names, and percent-encoded in JSON")
        func otherBytes() async throws {
            let result = try await shell(
                """
                mv a.png $'caf\\xe9.png'
                "$1" fetch -q $'caf\\xe9.png' -o $'\\xff.png' && cmp $'caf\\xe9.png' $'\\xff.png' &&
                "$1" fetch --json $'caf\\xe9.png' -o $'\\xff.png'
                """)
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let item = try #require(try result.items().first)
            #expect(item.source == "caf%E9.png" && item.output == "%FF.png" && item.status == "disk")
            #expect(item.key?.contains("/caf%E9.png?size=") == true)
            let url = "file://\(kf.home.path("caf").path)%E9.png"
            #expect(try await kf.run("fetch", "--json", url).item().status == "disk")
            let missing = try await shell("\"$1\" fetch $'\\xfe.png'")
            #expect(missing.errors == "kf: \\xfe.png: No such file or directory [5003]\n", "\(missing)")
        }

        @Test("control characters in messages are escaped")
        func escapes() async throws {
            let name = "\u{1b}[31mred\u{7}\u{202e}.png"
            let result = try await kf.run("fetch", name)
            #expect(
                result.errors == "kf: \\x1b[31mred\\x07\\u{202e}.png: No such file or directory [5003]\n", "\(result)")
            let option = try await kf.run("fetch", "--\u{1b}[2J", "a.png")
            #expect(option.status == 2 && !option.errors.contains("\u{1b}"), "\(option)")
            #expect(try await kf.run("fetch", "--json", name).item().source == name)
        }

        @Test(
            "unknown schemes are refused", arguments: ["ftp://h/a.png", "gopher://h/a", "javascript://x", "HTTPX://h/"])
        func schemes(url: String) async throws {
            let result = try await kf.run("fetch", url)
            #expect(result.status == 1 && result.errors.contains("[1002]") && result.errorLines.count == 1, "\(result)")
        }

        @Test("an output that is a directory is refused, a link is replaced and not followed")
        func outputs() async throws {
            try kf.home.write("folder/inside", "x")
            let folder = try await kf.run("fetch", "a.png", "-o", "folder")
            #expect(folder.status == 1 && folder.errors.contains("it is a directory"), "\(folder)")
            try kf.home.write("target", "mine")
            let link = try await shell(
                "ln -s target link && \"$1\" fetch -q a.png -o link && cat target && test ! -h link")
            #expect(link.status == 0 && link.output == "mine", "\(link)")
        }

        @Test("every output replaces a link and leaves its target")
        func links() async throws {
            try kf.home.write("list", "a.png\nmissing.png\n")
            let result = try await shell(
                """
                for name in target.png target.csv target.html nothing; do echo mine >$name; done; rm nothing
                mkdir out; for name in o.png out/a.png; do ln -s "$PWD/target.png" $name; done
                ln -s target.csv r.csv; ln -s nothing failed; ln -s target.html report.html
                "$1" fetch -q a.png -o o.png && "$1" fetch -q a.png -P out && "$1" cache report -o report.html
                "$1" prefetch -q --allow-local list --results r.csv --failures failed
                for name in o.png out/a.png r.csv failed report.html; do test -f $name -a ! -h $name || echo $name; done
                cat target.*; test -e nothing || cat failed
                """)
            #expect(result.output == "mine\nmine\nmine\nmissing.png\n", "\(result)")
        }

        @Test("names of open files are written to")
        func openFiles() async throws {
            try kf.home.write("list", "missing.png\n")
            let result = try await shell(
                """
                echo before >log; "$1" prefetch -q --allow-local list --failures /dev/fd/3 3>>log; cat log
                "$1" fetch -q a.png -o /dev/stdout | cmp - a.png && "$1" fetch -q a.png -o /dev/fd/3 3>copy && cmp copy a.png
                echo x >more; "$1" fetch -q a.png -o /proc/self/fd/3 3>>more; tail -c +3 more | cmp - a.png; ls -A
                """)
            let before = "before\nmissing.png\n"
            #expect(result.output.hasPrefix(before) && !result.output.contains("differ"), "\(result)")
            #expect(!result.output.contains(".kf-") && result.errors.filter { $0 == "\n" }.count <= 1, "\(result)")
        }

        @Test("files with URLs are new with mode 0600, and an existing mode stays")
        func modes() async throws {
            try kf.home.write("list", "a.png\nmissing.png\n")
            let result = try await shell(
                """
                umask 022; touch old.jsonl; chmod 640 old.jsonl
                "$1" prefetch -q --allow-local list --results new.csv --failures failed --shards data
                "$1" prefetch -q --allow-local list --results old.jsonl -P copies
                "$1" cache report -o report.html
                stat -c '%a %n' new.csv failed data/* old.jsonl report.html copies/*
                """)
            #expect(
                result.outputLines == [
                    "600 new.csv", "600 failed", "600 data/00000.jsonl", "600 data/00000.tar", "640 old.jsonl",
                    "600 report.html", "644 copies/a.png",
                ], "\(result)")
        }

        @Test("a .netrc is not read, and a proxy variable is")
        func surroundings() async throws {
            let server = try FaultServer { _ in [.text("HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")] }
            try kf.home.write(".netrc", "machine 127.0.0.1 login me password secret\n")
            _ = try await kf.run("fetch", server.url("/a.png"))
            #expect(server.requests.count == 1 && server.requests[0].header("Authorization") == nil)
            var proxied = kf
            proxied.environment["http_proxy"] = server.url("")
            _ = try await proxied.run("fetch", "http://nowhere.invalid/a.png")
            #expect(server.requests.last?.path == "http://nowhere.invalid/a.png")
        }

        @Test("colours: on a terminal, unless something says otherwise")
        func colours() async throws {
            /// What `kf fetch missing.png` shows, on a terminal or not.
            func shows(_ variables: [String: String], _ arguments: [String] = [], terminal: Bool) async throws -> Bool {
                let environment = kf.environment.merging(variables) { $1 }
                let words = ["fetch", "missing.png"] + arguments
                guard terminal else {
                    var kf = kf
                    kf.environment = environment
                    return try await kf.run(words).errors.contains("\u{1b}[")
                }
                let screen = try PseudoTerminal(
                    kf.binary.path, words, environment: environment, directory: kf.home.url)
                #expect(screen.finish() == 1)
                #expect(screen.shown.contains("missing.png"), "\(screen.shown)")
                return screen.shown.contains("\u{1b}[")
            }
            let xterm = ["TERM": "xterm"]
            #expect(try await shows(xterm, terminal: true))
            #expect(try await !shows(xterm, terminal: false))
            #expect(try await !shows(["TERM": "dumb"], terminal: true))
            #expect(try await !shows(xterm.merging(["NO_COLOR": "1"]) { $1 }, terminal: true))
            #expect(try await shows(xterm.merging(["NO_COLOR": ""]) { $1 }, terminal: true))
            #expect(try await shows(["CLICOLOR_FORCE": "1"], terminal: false))
            #expect(try await !shows(["CLICOLOR_FORCE": "0"], terminal: false))
            #expect(try await !shows(["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], terminal: false))
            #expect(try await shows(["NO_COLOR": "1"], ["--color=always"], terminal: false))
            #expect(try await !shows(xterm, ["--color=never"], terminal: true))
            #expect(try await !shows(xterm.merging(["KF_COLOR": "never"]) { $1 }, terminal: true))
        }

        @Test("--json: every object has its schema, and the last is the summary")
        func json() async throws {
            let result = try await kf.run("fetch", "--json", "a.png", "missing.png", "b.png")
            #expect(result.status == 1)
            let objects = try result.objects()
            #expect(objects.count == 4 && objects.allSatisfy { $0["schema"] as? Int == 1 })
            #expect(objects.last?["summary"] as? Bool == true && objects.last?["exit_status"] as? Int == 1)
        }
    }
}
