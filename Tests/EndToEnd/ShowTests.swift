import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Pictures in a terminal")
    struct ShowTests {
        let kf: KFCommand

        init() throws {
            kf = try KFCommand()
            for name in ["rgba.png", "rgb.png"] {
                try kf.home.write(name, FixturesDirectory.named("png/\(name)").data)
            }
        }

        /// What a terminal of 40 by 14 characters is sent.
        private func shown(_ variables: [String: String], _ arguments: String...) throws -> String {
            let terminal = try PseudoTerminal(
                kf.binary.path, ["fetch", "--show"] + arguments, environment: kf.environment.merging(variables) { $1 },
                directory: kf.home.url, columns: 40, rows: 14)
            #expect(terminal.finish() == 0, "\(terminal.text)")
            return terminal.shown.replacing("\r\n", with: "\n")
        }

        @Test("Blocks use the colours of the terminal and fit it")
        func blocks() throws {
            let full = try shown(["TERM": "xterm-256color", "COLORTERM": "truecolor"], "rgb.png")
            let lines = full.split(separator: "\n")
            // 512×384 fits 34 by 26 half characters; a line is left for the prompt.
            #expect(lines.count == 13, "\(lines.count)")
            #expect(lines.allSatisfy { $0.count { "▀▄ ".contains($0) } == 35 && $0.hasSuffix("\u{1b}[0m") })
            #expect(full.contains("\u{1b}[38;2;"))
            let few = try shown(["TERM": "xterm"], "rgb.png")
            #expect(few.contains("38;5;") && !few.contains("38;2;"))
            let open = try shown(["TERM": "xterm", "COLORTERM": "24bit"], "rgba.png")
            #expect(open.contains("\u{1b}[0m ") && open.contains("▄"), "transparent corners stay open")
        }

        @Test("The terminals kitty and iTerm2 get a PNG")
        func protocols() async throws {
            for (variables, form) in [
                (["TERM": "xterm-kitty"], "\u{1b}_Ga=T,f=100,m="), (["TERM_PROGRAM": "ghostty"], "\u{1b}_Ga=T"),
                (["TERM_PROGRAM": "iTerm.app"], "\u{1b}]1337;File=inline=1:"),
            ] {
                let text = try shown(variables, "rgb.png")
                #expect(text.hasPrefix(form), "\(text.prefix(40))")
                // The pieces behind their controls are one file.
                var data = ""
                for match in text.matches(of: /;([A-Za-z0-9+\/=]+)\x1b\\/) { data += match.1 }
                if data.isEmpty, let match = text.firstMatch(of: /:([A-Za-z0-9+\/=]+)\x07/) { data = String(match.1) }
                let png = try #require(Data(base64Encoded: data))
                let result = try await kf.run("fetch", "-", "--json", input: png).item()
                #expect(result.format == "png" && result.width == 347 && result.height == 260, "\(result)")
            }
            let inside = try shown(["TERM": "tmux-256color", "TERM_PROGRAM": "iTerm.app"], "rgb.png")
            #expect(inside.contains("▀"), "tmux passes no such sequences on")
        }

        @Test("A terminal that draws sixels gets sixels")
        func sixels() throws {
            let text = try shown(["TERM": "foot"], "rgb.png")
            #expect(text.hasPrefix("\u{1b}P") && text.hasSuffix("\u{1b}\\\n"), "\(text.prefix(40))")
            // Raster attributes: the aspect, and the picture's size.
            #expect(text.contains("\"1;1;347;260"), "\(text.prefix(40))")
        }

        @Test("Showing a picture needs a terminal")
        func refused() async throws {
            let none = try await kf.run("fetch", "--show", "rgb.png")
            #expect(
                none.status == 2 && none.errors == "kf: --show draws in a terminal, and standard output is not one\n")
            let json = try await kf.run("fetch", "--show", "--json", "rgb.png")
            #expect(json.status == 2 && json.errors == "kf: --show and --json exclude each other\n")
        }

        @Test("A picture can be shown and written")
        func together() async throws {
            let text = try shown(["TERM": "xterm"], "rgb.png", "-o", "copy.png", "-p", "resize:8x8")
            #expect(text.split(separator: "\n").count == 4)
            #expect(FileManager.default.fileExists(atPath: kf.home.path("copy.png").path))
        }
    }
}
