import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Shell completion")
    struct CompletionTests {
        enum Shell: String, CaseIterable {
            case bash, zsh, fish

            var arguments: [String] {
                switch self {
                case .bash: ["--norc", "--noprofile", "-i"]
                case .zsh: ["-f", "-i"]
                case .fish: ["--no-config", "-i"]
                }
            }

            /// Makes the shell ready; `script` is the path of the completion script.
            func setUp(_ script: String) -> String {
                switch self {
                case .bash:
                    "bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; bind 'set page-completions off'; "
                        + "bind 'set completion-query-items 0'; source \(script); PS1='rea''dy> '\n"
                case .zsh:
                    "autoload -Uz compinit && compinit -u -D; unsetopt BEEP; LISTMAX=1000; source \(script); "
                        + "PS1='rea''dy> '\n"
                case .fish: "source \(script); function fish_prompt; echo -n rea'dy> '; end\n"
                }
            }
        }

        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        /// A shell that has read its script, in a directory with some files.
        private func start(_ shell: Shell) async throws -> PseudoTerminal {
            let printed = try await kf.run("completions", shell.rawValue)
            try #require(printed.status == 0 && printed.errors == "", "\(printed)")
            let script = try kf.home.write("script", printed.standardOutput)
            try kf.home.write("work/picture one.png", "x")
            try kf.home.write("work/folder/inside.txt", "x")
            var environment = kf.environment
            environment["TERM"] = "xterm"
            environment["XDG_DATA_HOME"] = kf.home.path("data").path
            let terminal = try PseudoTerminal(
                shell.rawValue, shell.arguments, environment: environment, directory: kf.home.path("work"),
                columns: 200, rows: 60)
            terminal.type(shell.setUp(script.path))
            try #require(terminal.wait(until: { _ in terminal.text.contains("ready> ") }), "\(terminal.text)")
            return terminal
        }

        /// Types a line and a TAB, waits until the shell shows all of these, and gives the line up.
        private func expect(_ terminal: PseudoTerminal, _ line: String, shows words: String...) throws {
            terminal.clear()
            terminal.type(line + "\t")
            let done = terminal.wait { _ in words.allSatisfy(terminal.text.contains) }
            try #require(done, "\(line): \(words) in \(terminal.text)")
            // Whoever shows this has done with the line; what is typed does not hold it.
            terminal.type("\u{15}echo out''put\n")
            let isOver = terminal.wait { _ in
                terminal.text.components(separatedBy: "output").dropFirst().last?.contains("ready> ") == true
            }
            try #require(isOver, "\(line): \(terminal.text)")
        }

        @Test("Shells complete commands, options, values, processors and files", arguments: Shell.allCases)
        func completes(shell: Shell) async throws {
            try #require(Tool.isInstalled(shell.rawValue), "make test installs it")
            let terminal = try await start(shell)
            try expect(terminal, "kf fet", shows: "fetch")
            try expect(terminal, "kf ", shows: "fetch", "prefetch", "cache", "config", "completions", "help")
            try expect(terminal, "kf cache ", shows: "stat", "clean", "rm")
            try expect(terminal, "kf cache cl", shows: "clean")
            try expect(terminal, "kf help pref", shows: "prefetch")
            try expect(terminal, "kf fetch --only-f", shows: "--only-from-cache")
            try expect(terminal, "kf fetch --no-sr", shows: "--no-srgb")
            try expect(terminal, "kf cache clean --ol", shows: "--older-than")
            try expect(terminal, "kf fetch -f we", shows: "webp")
            try expect(terminal, "kf fetch --format=j", shows: "=jpeg")
            try expect(terminal, "kf fetch --format ", shows: "keep", "png", "jpeg", "gif", "webp")
            try expect(terminal, "kf fetch -p downs", shows: "downsample:")
            try expect(terminal, "kf fetch -p ro", shows: "rotate:", "round-corner:")
            try expect(terminal, "kf fetch -p b", shows: "blur:", "border:", "black-white", "blend:")
            try expect(terminal, "kf fetch pic", shows: "picture\\ one.png")
            try expect(terminal, "kf fetch --output-dir fo", shows: "folder/")
            try expect(terminal, "kf completions fi", shows: "fish")
            try expect(terminal, "kf fetch --measure ent", shows: "entropy")
            try expect(terminal, "kf fetch --measure dhash,ent", shows: "dhash,entropy")
            try expect(terminal, "kf fetch --srcset pic", shows: "picture\\ one.png")
        }

        @Test("Every script contains every option")
        func complete() async throws {
            let options = try await kf.run("config", "--json").objects().compactMap { $0["option"] as? String }
            #expect(options.count > 20)
            for shell in Shell.allCases {
                let script = try await kf.run("completions", shell.rawValue).output
                for option in options {
                    #expect(script.contains(shell == .fish ? "-l \(option)" : "--\(option)"), "\(shell) \(option)")
                }
            }
        }

        @Test("An unknown shell is a usage error", arguments: [["tcsh"], [], ["bash", "zsh"]])
        func unknown(arguments: [String]) async throws {
            let result = try await kf.run(["completions"] + arguments)
            #expect(result.status == 2)
            #expect(result.errors == "kf: 'kf completions' needs the name of a shell: bash, zsh or fish\n")
        }
    }
}
