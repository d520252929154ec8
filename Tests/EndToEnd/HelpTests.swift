import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Help")
    final class HelpTests: CommandSuite {
        /// The names of all commands, as the overview lists them.
        private func commands() async throws -> [String] {
            try await kf.run("help").outputLines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
                .compactMap { $0.split(separator: "  ").first.map { $0.trimmingCharacters(in: .whitespaces) } }
                .filter { $0 != "help" }
        }

        @Test("Each topic has a page")
        func topics() async throws {
            for topic in ["processors", "encode", "formats", "names", "json", "exit", "environment"] {
                let page = try await kf.run("help", topic)
                #expect(
                    page.status == 0 && page.outputLines.count > 3 && page.outputLines.allSatisfy { $0.count <= 80 })
            }
            // Every parameter of encode: is explained.
            let page = try await kf.run("help", "encode").output
            let refusal = try await kf.run("fetch", "x.png", "-p", "encode:png,nothing=1").errors
            let names = try #require(refusal.components(separatedBy: "it takes format, ").last).split(separator: ", ")
            #expect(names.count > 8)
            for name in names { #expect(page.contains("  \(name.trimmingCharacters(in: .newlines))="), "\(name)") }
        }

        @Test("The options of every command are there as JSON")
        func dump() async throws {
            let result = try await kf.run("help", "--json")
            let lines = try result.outputLines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) }
            let objects = lines.compactMap { $0 as? [String: Any] }
            #expect(result.status == 0 && objects.count == lines.count)
            #expect(objects.map { $0["name"] as? String } == (try await commands()).map { Optional($0) })
            for object in objects {
                let name = try #require(object["name"] as? String)
                let options = try #require(object["options"] as? [[String: Any]]).compactMap { $0["name"] as? String }
                let page = try await kf.run(["help"] + name.split(separator: " ").map(String.init))
                #expect(!options.isEmpty && options.allSatisfy { page.output.contains("--\($0)") }, "\(name)")
            }
        }

        @Test("Brief help fits one screen, and long help has everything")
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
                #expect(try await kf.run(["help"] + words + ["all"]).output == long.output)
                let options = long.outputLines.prefix { $0 != "Examples:" }
                #expect(options.allSatisfy { $0.count <= 80 }, "\(command)")
            }
        }

        @Test("Help on a command with many options is read by groups", arguments: ["fetch", "prefetch"])
        func groups(command: String) async throws {
            let survey = try await kf.run("help", command)
            let lines = survey.outputLines.prefix { $0 != "Examples:" }
            #expect(survey.outputLines.count <= 50 && lines.allSatisfy { $0.count <= 80 }, "\(survey)")
            let named = lines.compactMap { $0.firstMatch(of: /^  ([a-z]+) +-/)?.1 }.map(String.init)
            #expect(named.count >= 5, "\(survey)")
            var explained = 0
            for group in named {
                let page = try await kf.run("help", command, group)
                #expect(page.status == 0, "\(page)")
                explained += page.outputLines.count { $0.hasPrefix("  -") || $0.hasPrefix("      --") }
            }
            let all = try await kf.run("help", command, "all").outputLines
            #expect(all.count { $0.hasPrefix("  -") || $0.hasPrefix("      --") } == explained)
            let unknown = try await kf.run("help", command, "nothing")
            #expect(unknown.status == 2 && unknown.errors.contains("has the parts all, "), "\(unknown)")
        }

        @Test("The help of an option takes at most two lines")
        func short() async throws {
            for command in try await commands() {
                let long = try await kf.run(["help"] + command.split(separator: " ").map(String.init) + ["all"])
                var lines = 0
                for line in long.outputLines.drop(while: { !$0.hasSuffix(":") }).prefix(while: { $0 != "Examples:" }) {
                    // The names of the option take a line of their own when they are long.
                    let startsOption = line.hasPrefix("  -") || line.hasPrefix("      --")
                    lines = startsOption ? (line.dropFirst(28).hasPrefix("  ") ? 1 : 0) : lines + 1
                    if line.hasPrefix("          ") || startsOption { #expect(lines <= 2, "\(command): \(line)") }
                }
            }
        }

        @Test("A request for help overrides other arguments")
        func wins() async throws {
            for arguments in [
                ["help"], ["--help"], ["fetch", "--help", "--bogus"], ["fetch", "-qh"], ["cache", "--help"],
                ["cache", "-h"],
            ] {
                let result = try await kf.run(arguments)
                #expect(result.status == 0 && result.errors == "" && result.output.contains("Usage:"), "\(result)")
            }
        }

        @Test("The help on processors names each processor")
        func processors() async throws {
            let refusal = try await kf.run("fetch", "x.png", "-p", "nothing-like-it:1")
            let list = try #require(refusal.errors.split(separator: "there are ").last)
            let names = list.split(separator: ", ").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            #expect(names.count > 12)
            let text = try await kf.run("help", "processors").output
            for name in names { #expect(text.contains("\n  \(name)"), "\(name)") }
        }

        @Test("The help on formats has a row for each format")
        func formats() async throws {
            let refusal = try await kf.run("cache", "ls", "--format", "nothing-like-it")
            let list = try #require(refusal.errors.firstMatch(of: /takes (.*), not/)?.1)
            let names = list.matches(of: /[a-z0-9]+/).map { String($0.output) }.filter { $0 != "or" }
            #expect(names.count >= 11, "\(refusal.errors)")
            let lines = try await kf.run("help", "formats").outputLines
            let rows = lines.dropFirst().prefix { !$0.isEmpty }
            #expect(rows.count == names.count)
            for name in names { #expect(rows.contains { $0.contains(" \(name) ") }, "\(name)") }
            for library in [
                "libpng 1.", "libjpeg-turbo ", "giflib 5.", "libwebp 1.", "libavif ", "libheif 1.", "libjxl 0.",
                "libtiff 4.",
            ] {
                #expect(rows.contains { $0.contains(library) }, "\(library)")
            }
            #expect(rows.contains { $0.hasPrefix("AVIF") && $0.contains(/\(dav1d [0-9.]+, aom [0-9.]+\)$/) })
            #expect(rows.allSatisfy { $0.count < 80 })
        }

        @Test(
            "A misspelt topic gets a suggestion",
            arguments: [
                ("formats", "did you mean 'kf help formats'?"), ("help fromats", "did you mean 'formats'?"),
                ("help formats --json", "'kf help formats' takes nothing more"),
            ])
        func topics(words: String, answer: String) async throws {
            let result = try await kf.run(words.split(separator: " ").map(String.init))
            #expect(result.status == 2 && result.errors.contains(answer), "\(result)")
        }

        @Test("The help on formats names the package of a missing library")
        func missingLibrary() async throws {
            let name = try #require(
                try await kf.run("help", "formats").output.firstMatch(of: /libavif ([0-9]+)/)?.1 == "0"
                    ? "libavif.so.15" : "libavif.so.16")
            let result = try await kf.lacking(name).run("help", "formats")
            #expect(result.status == 0 && result.output.contains("libavif (missing)"), "\(result)")
            let package = name.replacing(".so.", with: "")
            #expect(
                result.output.contains(
                    "Install \(package) (Debian, Ubuntu) or libavif (Fedora) to read and write AVIF: "))
        }

        @Test("The version is one line")
        func version() async throws {
            let result = try await kf.run("--version")
            #expect(result.status == 0 && result.errors == "")
            #expect(result.output.wholeMatch(of: /kf [0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
        }

        @Test("The long version names the commit and all libraries")
        func longVersion() async throws {
            let result = try await kf.run("--version", "-v")
            let names = [
                "commit", "SQLite", "libpng", "libjpeg-turbo", "giflib", "libwebp", "libavif", "libheif", "libjxl",
                "libtiff",
            ]
            for name in names + ["zlib", "lcms2", "libcurl", "libarchive"] {
                #expect(result.output.contains("\n\(name) "), "\(name): \(result)")
            }
            #expect(result.output.contains(/\nlibcurl +[78]\.[0-9.]+ \(.+\)\n/), "\(result)")
            let lacking = try await kf.lacking("libcurl.so.4").run("--version", "-v")
            #expect(lacking.status == 0 && lacking.output.contains(/\nlibcurl +\(missing\)\n/), "\(lacking)")
            #expect(lacking.output.contains("Install libcurl4 (Debian, Ubuntu)"), "\(lacking)")
            #expect(try await kf.run("--version", "--long").status == 2)
        }
    }
}
