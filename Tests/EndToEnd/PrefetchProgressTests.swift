import Foundation
import KFCore
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Prefetch progress")
    struct PrefetchProgressTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            var kf = try KFCommand()
            kf.environment["TERM"] = "xterm-256color"
            self.kf = kf
            // Slow enough that something is drawn: half a second each.
            server = try FileServer(configuration: [FileServer.slowing("/jpeg/", bytesPerSecond: 200_000)])
        }

        private func start(_ arguments: [String], columns: UInt16 = 80) throws -> PseudoTerminal {
            try PseudoTerminal(
                kf.binary.path, arguments, environment: kf.environment, directory: kf.home.url, columns: columns)
        }

        private func list(_ count: Int, bad: Int = 0) throws {
            let lines =
                (0..<count).map { server.url("jpeg/landscape-420.jpg?\($0)") }
                + (0..<bad).map { server.url("none\($0)") }
            try kf.home.write("list.txt", lines.map { $0 + "\n" }.joined())
        }

        /// What a terminal would show: the rows, after carriage returns and erasing.
        private func screen(_ text: String) -> [String] {
            var rows: [[Character]] = [[]]
            var row = 0
            var column = 0
            var rest = Substring(text.replacingOccurrences(of: "\r\n", with: "\n"))
            while let character = rest.popFirst() {
                switch character {
                case "\n":
                    row += 1
                    column = 0
                    if row == rows.count { rows.append([]) }
                case "\r": column = 0
                case "\u{1b}":
                    rest.removeFirst()
                    let digits = rest.prefix { $0.isNumber || $0 == ";" }
                    rest = rest.dropFirst(digits.count)
                    switch rest.removeFirst() {
                    case "J":
                        rows.removeSubrange((row + 1)...)
                        rows[row].removeSubrange(min(column, rows[row].count)...)
                    case "m": break
                    case "A": row = max(0, row - (Int(digits) ?? 1))
                    default: Issue.record("an escape that is not understood")
                    }
                default:
                    if column < rows[row].count { rows[row][column] = character } else { rows[row].append(character) }
                    column += 1
                }
            }
            return rows.map { String($0) }
        }

        @Test("A progress bar redraws itself and disappears")
        func bar() throws {
            try list(24)
            let terminal = try start(["prefetch", "list.txt", "-j", "8"])
            #expect(terminal.finish() == 0)
            let output = terminal.shown
            #expect(output.contains("/24") && output.contains("%") && output.contains("/s"), "\(output)")
            #expect(output.contains("[#") && output.contains(" left"), "\(output)")
            let rows = screen(output)
            #expect(rows.count == 2 && rows[0].hasPrefix("kf: 24 fetched") && rows[1].isEmpty, "\(rows)")
            // Nothing but what is changed is drawn, and never a line's end with it.
            let drawn = output.components(separatedBy: "\r\u{1b}[J")
            #expect(drawn.count > 3 && zip(drawn, drawn.dropFirst()).allSatisfy { $0 != $1 || $0.isEmpty })
        }

        @Test("Messages appear as whole lines above the bar")
        func messages() throws {
            try list(16, bad: 30)
            let terminal = try start(["prefetch", "list.txt", "-j", "8", "-v"])
            #expect(terminal.finish() == 1)
            let output = terminal.shown
            let rows = screen(output).dropLast()
            #expect(rows.count == 48 && rows.last == "kf: the cache has changed", "\(rows)")
            #expect(rows.allSatisfy { $0.hasPrefix("kf: ") && !$0.contains("[#") && !$0.contains("...]") }, "\(rows)")
            #expect(rows.filter { $0.hasSuffix("[2002]") }.count == 30)
        }

        @Test("The bar fits the window", arguments: [20, 40, 200] as [UInt16])
        func width(columns: UInt16) throws {
            /// The lengths of the bars that are whole.
            func bars(_ text: String) -> [Int] {
                text.components(separatedBy: "\u{1b}[J").dropFirst().dropLast().filter { $0.contains("%") }.map {
                    $0.prefix { $0 != "\r" && $0 != "\u{1b}" }.count
                }
            }
            try list(40)
            let terminal = try start(["prefetch", "list.txt", "-j", "8"], columns: columns)
            #expect(terminal.wait { !bars($0).isEmpty })
            let drawn = bars(terminal.shown)
            #expect(!drawn.isEmpty && drawn.allSatisfy { $0 < Int(columns) }, "\(drawn)")
            terminal.clear()
            terminal.resize(columns: 30)
            // A bar for the old window may be on its way.
            #expect(terminal.wait { bars($0).last ?? 30 < 30 })
            terminal.clear()
            #expect(terminal.finish() == 0)
            let later = bars(terminal.shown)
            #expect(!later.isEmpty && later.allSatisfy { $0 < 30 }, "\(later)")
        }

        @Test("Two interrupts leave a clean terminal")
        func interrupted() throws {
            try list(40)
            let terminal = try start(["prefetch", "list.txt", "-j", "1"])
            #expect(terminal.wait(for: "%"))
            terminal.signal(SIGINT)
            terminal.signal(SIGTERM)
            let status = try #require(terminal.finish())
            #expect([130, 143].contains(status))
            let output = terminal.shown
            // A return and a line feed are one character to a String.
            #expect(output.hasSuffix("\u{1b}[J") || output.utf8.last == 0x0a, "\(output.debugDescription)")
        }

        @Test("A fetch of several sources has a bar")
        func fetch() throws {
            let urls = (0..<16).map { server.url("jpeg/landscape-420.jpg?\($0)") }
            let terminal = try start(["fetch", "-j", "8"] + urls, columns: 200)
            #expect(terminal.finish() == 0)
            let output = terminal.shown
            #expect(output.contains("/16"))
            let rows = screen(output).dropLast()
            #expect(rows.count == 16 && rows.allSatisfy { $0.hasPrefix("/") && $0.hasSuffix(".jpg") }, "\(rows)")
        }

        @Test("The bar can be turned off and needs a terminal")
        func hidden() async throws {
            try list(8)
            for options in [["-q"], ["--progress", "never"]] {
                let terminal = try start(["prefetch", "list.txt", "--force-refresh"] + options)
                #expect(terminal.finish() == 0)
                #expect(!terminal.shown.contains("%"))
            }
            let plain = try await kf.run("prefetch", "list.txt", "--force-refresh")
            #expect(plain.errorLines.count == 1 && !plain.errors.contains("\u{1b}"), "\(plain)")
            let always = try await kf.run("prefetch", "list.txt", "--force-refresh", "--progress", "always")
            #expect(always.errors.contains("\r\u{1b}[J") && always.errors.contains("%"), "\(always)")
        }

        @Test("Without a terminal progress is printed as lines")
        func lines() async throws {
            try list(4)
            var kf = kf
            let quiet = try await kf.run("prefetch", "list.txt", "-j", "2")
            #expect(quiet.errorLines.count == 1, "\(quiet)")
            kf.environment["KF_PROGRESS_INTERVAL"] = "200ms"
            let result = try await kf.run("prefetch", "list.txt", "-j", "2", "--force-refresh")
            let form =
                /kf: \d+% \d+\/4, (\d+:\d+ left, )?(\d+\/(s|min), )?[0-9.]+ [KM]?i?B, [0-9.]+ [KM]?i?B\/s/
            #expect(result.errorLines.count > 2, "\(result)")
            #expect(result.errorLines.dropLast().allSatisfy { $0.wholeMatch(of: form) != nil }, "\(result)")
            #expect(result.errors.contains(" left, "), "\(result)")
        }

        @Test("Bytes are those that came over the network")
        func bytes() async throws {
            let (jpeg, png) = try (
                FixturesDirectory.bytes("jpeg/landscape-420.jpg"), FixturesDirectory.bytes("png/grey.png")
            )
            let seen = Atomic(0)
            let server = try FaultServer { request in
                if request.path == "/none" { return [.reply("404 Not Found", body: png)] }
                // The first body breaks off, and has no validator to resume it with.
                let isFirst = seen.add(1, ordering: .relaxed).oldValue == 0
                return isFirst ? FaultStep.cut(jpeg, at: 1000, then: .close) : [.reply(body: jpeg)]
            }
            try kf.home.write("list.txt", "\(server.url("/a.jpg"))\n\(server.url("/none"))\n")
            let options = ["-P", "out", "--widths", "8,16", "--retry", "1", "--retry-delay", "0"]
            let result = try await kf.run(["prefetch", "list.txt", "--json"] + options)
            let summary = try #require(try result.objects().last)
            #expect(summary["bytes"] as? Int == jpeg.count + 1000, "\(result)")
            let files = TemporaryDirectory.files(in: kf.home.path("out"))
            let written = try files.reduce(0) { try $0 + kf.contents("out/\($1)").count }
            #expect(summary["written"] as? Int == 2 && summary["written_bytes"] as? Int == written, "\(result)")
            try FileManager.default.removeItem(at: kf.home.path("out"))
            let text = try await kf.run(["prefetch", "list.txt", "--force-refresh"] + options)
            #expect(text.errors.contains("1 fetched (\(ByteText.bytes(Int64(jpeg.count)))), "), "\(text)")
            #expect(text.errors.contains(", 2 files written (\(ByteText.bytes(Int64(written)))), "), "\(text)")
        }

        @Test("The progress counts the images made of each source")
        func images() async throws {
            let gate = Gate()
            defer { gate.open() }
            let jpeg = try FixturesDirectory.bytes("jpeg/landscape-420.jpg")
            let server = try FaultServer { request in
                if request.path == "/last.jpg" { gate.wait() }
                return [.reply(body: jpeg)]
            }
            try kf.home.write("list.txt", "\(server.url("/a.jpg"))\n\(server.url("/last.jpg"))\n")
            var kf = kf
            kf.environment["KF_PROGRESS_INTERVAL"] = "100ms"
            let run = try kf.start(["prefetch", "list.txt", "--widths", "8,16,24"])
            let line = "kf: 50% 1/2 sources, 3/6 images"
            #expect(await eventually { run.errorsSoFar.contains(line) }, "\(run.errorsSoFar)")
            gate.open()
            #expect(try await run.wait().status == 0)
        }

        @Test("The remaining time ignores cached images")
        func remaining() async throws {
            let server = try FileServer()
            let cached = (0..<3000).map { server.url("png/one-pixel.png?\($0)") + "\n" }.joined()
            try kf.home.write("cached.txt", cached)
            #expect(try await kf.run("prefetch", "-q", "cached.txt").status == 0)
            let missing = (3000..<3040).map { server.url("png/one-pixel.png?\($0)") + "\n" }.joined()
            try kf.home.write("list.txt", cached + missing)
            var kf = kf
            kf.environment["KF_PROGRESS_INTERVAL"] = "200ms"
            let result = try await kf.run("prefetch", "list.txt", "--rate", "10/s")
            #expect(result.status == 0 && result.errors.contains("40 fetched"), "\(result)")
            // Forty transfers at ten a second. The average of all items, thousands a second, would say 0:01.
            let spans = result.errors.matches(of: /([0-9]+):([0-9]+) left/).compactMap { match in
                Int(match.1).flatMap { minutes in Int(match.2).map { minutes * 60 + $0 } }
            }
            #expect(spans.contains { $0 >= 3 }, "\(result)")
            #expect(result.errors.contains(", 3000 cached"), "\(result)")
        }

        @Test("The progress of one source shows bytes")
        func one() async throws {
            let url = server.url("jpeg/landscape-420.jpg")
            let result = try await kf.run("fetch", "--progress", "always", url)
            #expect(result.status == 0 && result.outputLines.count == 1, "\(result)")
            let shown = result.errors.components(separatedBy: "\r\u{1b}[J")
            #expect(shown.contains { $0.contains(/[0-9]+% [0-9.]+ (Ki)?B\/[0-9.]+ KiB, .*B\/s/) }, "\(result)")
            #expect(result.errors.hasSuffix("\r\u{1b}[J"), "\(result)")
            let plain = try await kf.run("fetch", "--force-refresh", url)
            #expect(plain.status == 0 && plain.errors == "", "\(plain)")
        }

        @Test("Verbose mode explains each wait before a retry")
        func waits() async throws {
            let seen = Atomic(0)
            let png = try FixturesDirectory.bytes("png/one-pixel.png")
            let server = try FaultServer { request in
                switch seen.add(1, ordering: .relaxed).newValue {
                case 1: [.reply("429 Too Many Requests", headers: ["Retry-After: 2"], body: [])]
                case 2: [.reply("503 Service Unavailable", body: [])]
                default: [.reply(body: png)]
                }
            }
            let url = server.url("/a.png?token=secret")
            let result = try await kf.run("fetch", "-v", "--retry", "2", "--retry-delay", "10ms", url)
            #expect(result.status == 0, "\(result)")
            let name = server.url("/a.png?…")
            #expect(
                result.errorLines.dropLast() == [
                    "kf: 127.0.0.1:\(server.port): no requests for 2 s (Retry-After)",
                    "kf: \(name): response 503 Service Unavailable, waiting 10 ms (retry 1 of 2)",
                ], "\(result)")
            seen.store(0, ordering: .relaxed)
            let silent = try await kf.run("fetch", "--force-refresh", "--retry", "2", "--retry-delay", "10ms", url)
            #expect(silent.status == 0 && silent.errors == "", "\(silent)")
        }

        @Test("Verbose mode reports an open circuit once")
        func circuit() async throws {
            let server = try FaultServer { _ in [.reply("500 Internal Server Error", body: [])] }
            try kf.home.write("list.txt", (0..<30).map { server.url("/\($0).png\n") }.joined())
            let result = try await kf.run("prefetch", "list.txt", "-v", "--retry", "0")
            #expect(result.status == 1, "\(result)")
            let opened = result.errorLines.filter { $0.contains("no requests for") }
            #expect(opened.count == 1, "\(result)")
            #expect(opened[0].hasSuffix("no requests for 60 s (circuit open after 10 failures in a row)"), "\(result)")
        }
    }
}
