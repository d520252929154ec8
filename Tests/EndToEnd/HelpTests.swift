import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Help")
    struct HelpTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        /// The names of all commands, as the overview lists them.
        private func commands() async throws -> [String] {
            try await kf.run("help").outputLines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
                .compactMap { $0.split(separator: "  ").first.map { $0.trimmingCharacters(in: .whitespaces) } }
                .filter { $0 != "help" }
        }

        @Test("-h fits one screen, --help says everything; both go to standard output")
        func forms() async throws {
            let commands = try await commands()
            #expect(commands.count >= 6)
            for command in commands {
                let words = command.split(separator: " ").map(String.init)
                let brief = try await kf.run(words + ["-h"])
                #expect(brief.status == 0 && brief.errors == "", "\(brief)")
                #expect(brief.outputLines.count <= 24, "\(command): \(brief.outputLines.count) lines")
                #expect(brief.outputLines.allSatisfy { $0.count <= 80 }, "\(brief)")
                let long = try await kf.run(words + ["--help"])
                #expect(long.status == 0 && long.errors == "", "\(long)")
                #expect(long.output.contains("Usage: kf \(command)") && long.output.contains("Examples:"), "\(long)")
                #expect(try await kf.run(["help"] + words).output == long.output)
                let options = long.outputLines.prefix { $0 != "Examples:" }
                #expect(options.allSatisfy { $0.count <= 80 }, "\(command)")
            }
        }

        @Test("The help of an option takes at most two lines")
        func short() async throws {
            for command in try await commands() {
                let long = try await kf.run(["help"] + command.split(separator: " ").map(String.init))
                var lines = 0
                for line in long.outputLines.drop(while: { !$0.hasSuffix(":") }).prefix(while: { $0 != "Examples:" }) {
                    // The names of the option take a line of their own when they are long.
                    let startsOption = line.hasPrefix("  -") || line.hasPrefix("      --")
                    lines = startsOption ? (line.dropFirst(28).hasPrefix("  ") ? 1 : 0) : lines + 1
                    if line.hasPrefix("          ") || startsOption { #expect(lines <= 2, "\(command): \(line)") }
                }
            }
        }

        @Test("help wins over what stands behind it, and over what the command lacks")
        func wins() async throws {
            for arguments in [
                ["fetch", "--help", "--bogus"], ["fetch", "-qh"], ["cache", "--help"], ["cache", "-h"],
            ] {
                let result = try await kf.run(arguments)
                #expect(result.status == 0 && result.output.contains("Usage:"), "\(result)")
            }
        }

        @Test("kf help processors names each processor that the parser knows")
        func processors() async throws {
            let refusal = try await kf.run("fetch", "x.png", "-p", "nothing-like-it:1")
            let list = try #require(refusal.errors.split(separator: "there are ").last)
            let names = list.split(separator: ", ").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            #expect(names.count > 12)
            let text = try await kf.run("help", "processors").output
            for name in names { #expect(text.contains("\n  \(name)"), "\(name)") }
        }

        @Test("kf --version is one line")
        func version() async throws {
            let result = try await kf.run("--version")
            #expect(result.status == 0 && result.errors == "")
            #expect(result.output.wholeMatch(of: /kf [0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
        }
    }
}
