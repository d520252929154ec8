import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Contracts with scripts")
    struct OutputContractTests {
        var kf: KFCommand

        init() throws {
            kf = try KFCommand()
            for name in ["a.png", "b.png"] { try kf.home.write(name, FixturesDirectory.named("png/grey.png").data) }
        }

        @Test("A reader that leaves early ends kf quietly", arguments: ["--json", "-o -"])
        func brokenPipe(options: String) async throws {
            let sources = Array(repeating: "a.png", count: options == "--json" ? 300 : 1).joined(separator: " ")
            let result = try await kf.shell(
                "\"$1\" fetch \(sources) \(options) | head -c 9; echo; echo ${PIPESTATUS[0]}")
            #expect(result.errors == "" && result.output.hasSuffix("\n0\n"), "\(result)")
        }

        @Test("A full standard output is an error")
        func fullOutput() async throws {
            let result = try await kf.shell("\"$1\" fetch a.png >/dev/full")
            #expect(result.status == 1)
            #expect(result.errors == "kf: cannot write standard output: No space left on device\n")
        }

        @Test("A non-blocking output loses no line")
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
            let result = try await kf.run([], under: "python3", "-c", script)
            #expect(result.output == "0 901\n", "\(result)")
        }

        @Test("Closed standard streams do not damage other files")
        func closedDescriptors() async throws {
            let url = kf.home.path("a.png").path
            let output = try await kf.shell("\"$1\" fetch a.png >&-")
            #expect(output.status == 1 && output.errors.contains("standard output: Bad file descriptor"), "\(output)")
            let image = try await kf.shell("\"$1\" fetch a.png -o - >&-")
            #expect(image.status == 1 && image.errors.contains("[4002]"), "\(image)")
            let errors = try await kf.shell("\"$1\" fetch missing.png a.png 2>&-", url)
            #expect(errors.status == 1 && errors.outputLines.count == 1, "\(errors)")
            let input = try await kf.shell("\"$1\" fetch - <&-")
            #expect(input.status == 1 && input.errors.contains("standard input"), "\(input)")
            let all = try await kf.shell("\"$1\" fetch -q a.png -o out.png <&- >&- 2>&-")
            #expect(all.status == 0, "\(all)")
            #expect(try kf.contents("out.png") == FixturesDirectory.named("png/grey.png").data)
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            #expect(try await kf.run("fetch", "--only-from-cache", "a.png").status == 0)
        }

        @Test("A limit on file sizes damages no file")
        func fileSizeLimit() async throws {
            _ = try await kf.run("fetch", "b.png", "-p", "resize:8x8")
            let result = try await kf.shell("ulimit -f 4; \"$1\" fetch a.png -p rotate:90 -o out.png")
            #expect(result.status != 0 && result.status < 128, "\(result)")
            #expect(!FileManager.default.fileExists(atPath: kf.home.path("out.png").path))
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            #expect(try await kf.run("fetch", "a.png", "-p", "rotate:90", "-o", "out.png").status == 0)
        }

        @Test("Names that are not UTF-8 are kept")
        func otherBytes() async throws {
            let result = try await kf.shell(
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
            let known = try await kf.shell(
                """
                "$1" cache path -q $'caf\\xe9.png' && echo "file://$PWD/caf%E9.png" > $'\\xfd.txt' &&
                "$1" prefetch -q --allow-local $'\\xfd.txt'
                """)
            #expect(known.status == 0 && known.errors == "", "\(known)")
            let missing = try await kf.shell("\"$1\" fetch $'\\xfe.png'")
            #expect(missing.errors == "kf: \\xfe.png: No such file or directory [5003]\n", "\(missing)")
        }

        @Test(
            "Copies keep the bytes of file names",
            arguments: [
                ("", "im\\xe9ge.png"), ("--name {name}", "im\\xe9ge.png"), ("--name {path}", "d\\xff/im\\xe9ge.png"),
                ("--name x-{stem}.{ext}", "x-im\\xe9ge.png"), ("--safe-names", "im_ge.png"),
            ])
        func copies(options: String, name: String) async throws {
            let result = try await kf.shell(
                """
                mkdir $'d\\xff' && mv a.png $'d\\xff/im\\xe9ge.png' && "$1" fetch -q . -P out \(options) --create-dirs &&
                cmp b.png $'out/\(name)' && ls -d $'d\\xff/im\\xe9ge.png' >list.txt &&
                "$1" prefetch -q --allow-local list.txt -P list --results rows.csv && cmp b.png $'list/im\\xe9ge.png' &&
                grep -q 'd%FF/im%E9ge.png.*list/im%E9ge.png' rows.csv
                """)
            #expect(result.status == 0 && result.errors == "", "\(result)")
        }

        @Test("Every output replaces a link and keeps its target")
        func links() async throws {
            try kf.home.write("list", "a.png\nmissing.png\n")
            let result = try await kf.shell(
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

        @Test("Names of open descriptors are written to")
        func openFiles() async throws {
            try kf.home.write("list", "missing.png\n")
            let result = try await kf.shell(
                """
                echo before >log; "$1" prefetch -q --allow-local list --failures /dev/fd/3 3>>log; cat log
                "$1" fetch -q a.png -o /dev/stdout | cmp - a.png && "$1" fetch -q a.png -o /dev/fd/3 3>copy && cmp copy a.png
                echo x >more; "$1" fetch -q a.png -o /proc/self/fd/3 3>>more; tail -c +3 more | cmp - a.png; ls -A
                """)
            let before = "before\nmissing.png\n"
            #expect(result.output.hasPrefix(before) && !result.output.contains("differ"), "\(result)")
            #expect(!result.output.contains(".kf-") && result.errors.filter { $0 == "\n" }.count <= 1, "\(result)")
        }

        @Test("Files with URLs are private, and existing modes stay")
        func modes() async throws {
            try kf.home.write("list", "a.png\nmissing.png\n")
            let result = try await kf.shell(
                """
                umask 022; touch old.jsonl; chmod 640 old.jsonl
                "$1" prefetch -q --allow-local list --results new.csv --failures failed --shards data
                "$1" prefetch -q --allow-local list --results old.jsonl -P copies
                "$1" cache report -o report.html
                stat -c '%a %n' new.csv failed data/* old.jsonl report.html copies/*
                """)
            #expect(
                result.outputLines == [
                    "600 new.csv", "600 failed", "600 data/00000.jsonl", "600 data/00000.tar",
                    "600 data/00000_stats.json", "640 old.jsonl",
                    "600 report.html", "644 copies/a.png",
                ], "\(result)")
        }

        @Test("Colours appear on a terminal unless they are disabled")
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
                let screen = try PseudoTerminal(kf.binary.path, words, environment: environment, directory: kf.home.url)
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

        @Test("Each JSON object has a schema, and the last summarizes")
        func json() async throws {
            let result = try await kf.run("fetch", "--json", "a.png", "missing.png", "b.png")
            #expect(result.status == 1)
            let objects = try result.objects()
            #expect(objects.count == 4 && objects.allSatisfy { $0["schema"] as? Int == 1 })
            #expect(objects.last?["summary"] as? Bool == true && objects.last?["exit_status"] as? Int == 1)
        }
    }
}
