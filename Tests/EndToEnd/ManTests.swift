import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Manual page")
    final class ManTests: CommandSuite {
        @Test("The manual page has no warnings")
        func lint() async throws {
            let page = try await kf.run("man")
            try #require(page.status == 0 && page.errors == "", "\(page)")
            let file = try kf.home.write("kf.1", page.standardOutput)
            let man = try await Tool.run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", file.path)
            #expect(man.status == 0 && man.errors == "", "\(man)")
            let mandoc = try await Tool.run("mandoc", "-T", "lint", "-W", "warning", file.path)
            #expect(mandoc.status == 0 && mandoc.output == "", "\(mandoc)")
        }

        @Test("The manual page contains every command and option")
        func complete() async throws {
            let page = try await kf.run("man")
            let file = try kf.home.write("kf.1", page.standardOutput)
            let rendered = try await Tool.run("mandoc", "-T", "utf8", "-O", "width=100", file.path)
            // Bold is a letter struck twice.
            let text = rendered.output.replacing(/.\u{8}/, with: "")
            for section in [
                "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "PROCESSORS", "JSON", "EXIT STATUS",
                "ENVIRONMENT", "FILES", "EXAMPLES",
            ] { #expect(text.contains("\n\(section)\n"), "\(section)") }
            let objects = try await kf.run("config", "--json").objects()
            for object in objects {
                guard let option = object["option"] as? String, let variable = object["variable"] as? String else {
                    continue
                }
                #expect(text.contains("--\(option)") && text.contains(variable), "\(option)")
                for command in object["commands"] as? [String] ?? [] { #expect(text.contains("kf \(command)")) }
            }
        }

        @Test("The manual page explains every JSON member")
        func fields() async throws {
            let server = try FileServer()
            try kf.home.write("urls", server.url("png/rgb.png") + "\n" + server.url("png/rgb.png?2") + "\n")
            let page = try await kf.run("man").output
            // A term lists several names of one meaning.
            let terms = page.matches(of: /\n\.TP\n\\fB([^\n]*)\\fR\n/).flatMap {
                $0.1.replacing("\\-", with: "-").split(separator: ", ").map(String.init)
            }
            try await explained(
                ["fetch", "--json", server.url("jpeg/grey.jpg"), "x.png", "--variant", "a=blur:2"], terms)
            try await explained(["prefetch", "--json", "urls"], terms)
            try await explained(["prefetch", "--json", "urls"], terms)
            for command in ["stat", "clean", "verify"] { try await explained(["cache", command, "--json"], terms) }
            try await explained(["cache", "ls", "--json"], terms)
            try await explained(["cache", "explain", "--json", server.url("jpeg/grey.jpg")], terms)
            try await explained(["cache", "path", "--json", server.url("jpeg/grey.jpg")], terms)
            try await explained(["cache", "report", "--json", "-o", "report.html"], terms)
            try await explained(["cache", "rm", "--json", "--glob", "*"], terms)
            try await explained(["config", "--json"], terms)
        }

        private func explained(_ arguments: [String], _ terms: [String]) async throws {
            let result = try await kf.run(arguments)
            let names = Set(try result.objects().flatMap(\.keys))
            try #require(!names.isEmpty, "\(result)")
            for name in names.sorted() { #expect(terms.contains(name), "\(name) of \(arguments.prefix(2))") }
        }

        @Test("Installing puts the binary, page and completions in place")
        func install() async throws {
            let makefile = PackageRoot.url.appendingPathComponent("Makefile").path
            let result = try await RunningCommand(
                "make",
                ["-f", makefile, "install", "KF=\(kf.binary.path)", "DESTDIR=\(kf.home.url.path)", "PREFIX=/opt"],
                environment: kf.environment, directory: PackageRoot.url
            ).wait()
            try #require(result.status == 0, "\(result)")
            let installed = TemporaryDirectory.files(in: kf.home.path("opt"))
            #expect(
                installed == [
                    "bin/kf", "share/bash-completion/completions/kf", "share/fish/vendor_completions.d/kf.fish",
                    "share/man/man1/kf.1", "share/zsh/site-functions/_kf",
                ])
            for (name, arguments) in [
                ("share/man/man1/kf.1", ["man"]), ("share/zsh/site-functions/_kf", ["completions", "zsh"]),
                ("share/bash-completion/completions/kf", ["completions", "bash"]),
            ] {
                let printed = try await kf.run(arguments)
                #expect(try kf.contents("opt/\(name)") == printed.standardOutput, "\(name)")
            }
            let version = try await Tool.run(kf.home.path("opt/bin/kf").path, "--version")
            #expect(try await version.output == kf.run("--version").output)
        }
    }
}
