import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Showing how far a run is")
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

        @Test("a bar with figures is drawn over itself, and gone at the end")
        func bar() throws {
            try list(24)
            let terminal = try start(["prefetch", "list.txt", "-j", "8"])
            #expect(terminal.finish(.seconds(40)) == 0)
            let output = terminal.shown
            #expect(output.contains("/24") && output.contains("%") && output.contains("/s"), "\(output)")
            #expect(output.contains("[#") && output.contains(" left"), "\(output)")
            let rows = screen(output)
            #expect(rows.count == 2 && rows[0].hasPrefix("kf: 24 fetched") && rows[1].isEmpty, "\(rows)")
            // Nothing but what is changed is drawn, and never a line's end with it.
            let drawn = output.components(separatedBy: "\r\u{1b}[J")
            #expect(drawn.count > 3 && zip(drawn, drawn.dropFirst()).allSatisfy { $0 != $1 || $0.isEmpty })
        }

        @Test("messages are whole lines, above the bar")
        func messages() throws {
            try list(16, bad: 30)
            let terminal = try start(["prefetch", "list.txt", "-j", "8", "-v"])
            #expect(terminal.finish(.seconds(40)) == 1)
            let output = terminal.shown
            let rows = screen(output).dropLast()
            #expect(rows.count == 47, "\(rows)")
            #expect(rows.allSatisfy { $0.hasPrefix("kf: ") && !$0.contains("[#") && !$0.contains("...]") }, "\(rows)")
            #expect(rows.filter { $0.hasSuffix("[2002]") }.count == 30)
        }

        @Test("the bar fits the window, also when that changes", arguments: [20, 40, 200] as [UInt16])
        func width(columns: UInt16) throws {
            try list(16)
            let terminal = try start(["prefetch", "list.txt", "-j", "8"], columns: columns)
            #expect(terminal.wait(for: "%"))
            let drawn = terminal.shown.components(separatedBy: "\r\u{1b}[J").filter { $0.contains("%") }
            #expect(!drawn.isEmpty && drawn.allSatisfy { $0.count < Int(columns) }, "\(drawn)")
            terminal.clear()
            terminal.resize(columns: 30)
            #expect(terminal.finish(.seconds(40)) == 0)
            let later = terminal.shown.components(separatedBy: "\u{1b}[J").dropFirst(3).dropLast().filter {
                $0.contains("%")
            }
            #expect(later.allSatisfy { $0.prefix { $0 != "\r" && $0 != "\u{1b}" }.count < 30 }, "\(later)")
        }

        @Test("two interrupts leave a clean terminal")
        func interrupted() throws {
            try list(40)
            let terminal = try start(["prefetch", "list.txt", "-j", "1"])
            #expect(terminal.wait(for: "%"))
            terminal.signal(SIGINT)
            terminal.signal(SIGTERM)
            let status = try #require(terminal.finish(.seconds(40)))
            #expect([130, 143].contains(status))
            let output = terminal.shown
            // A return and a line feed are one character to a String.
            #expect(output.hasSuffix("\u{1b}[J") || output.utf8.last == 0x0a, "\(output.debugDescription)")
        }

        @Test("fetch of several sources has a bar too, and its paths stay whole")
        func fetch() throws {
            let urls = (0..<16).map { server.url("jpeg/landscape-420.jpg?\($0)") }
            let terminal = try start(["fetch", "-j", "8"] + urls, columns: 200)
            #expect(terminal.finish(.seconds(40)) == 0)
            let output = terminal.shown
            #expect(output.contains("/16"))
            let rows = screen(output).dropLast()
            #expect(rows.count == 16 && rows.allSatisfy { $0.hasPrefix("/") && $0.hasSuffix(".jpg") }, "\(rows)")
        }

        @Test("no bar with -q, with --progress never, and where there is no terminal")
        func none() async throws {
            try list(8)
            for options in [["-q"], ["--progress", "never"]] {
                let terminal = try start(["prefetch", "list.txt", "--force-refresh"] + options)
                #expect(terminal.finish(.seconds(40)) == 0)
                #expect(!terminal.shown.contains("%"))
            }
            let plain = try await kf.run("prefetch", "list.txt", "--force-refresh")
            #expect(plain.errorLines.count == 1 && !plain.errors.contains("\u{1b}"), "\(plain)")
            let always = try await kf.run("prefetch", "list.txt", "--force-refresh", "--progress", "always")
            #expect(always.errors.contains("\r\u{1b}[J") && always.errors.contains("%"), "\(always)")
        }
    }
}
