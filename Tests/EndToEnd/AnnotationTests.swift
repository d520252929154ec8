import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Failures for the runner of a workflow")
    final class AnnotationTests: UnretriedSuite {
        private func run(_ options: String..., github: Bool = false) async throws -> CommandResult {
            let arguments = ["prefetch", "a,b%.txt"] + options
            return try await github
                ? kf.run(arguments, under: "/usr/bin/env", ["GITHUB_ACTIONS=true"]) : kf.run(arguments)
        }

        private func commands(_ result: CommandResult) -> [String] { result.errorLines.filter { $0.hasPrefix("::") } }

        @Test("Failures are shown at their lines of the list")
        func lines() async throws {
            try kf.home.write(
                "a,b%.txt", "\(server.url("png/grey.png"))\n\(server.url("gone.png"))\nhttp://no host/%0A\n")
            let shown = [
                "::error file=a%2Cb%25.txt,line=2::response 404 Not Found",
                "::error file=a%2Cb%25.txt,line=3::the URL's host has an invalid character",
            ]
            #expect(commands(try await run("--annotations", "github")).sorted() == shown)
            #expect(commands(try await run("--retry-failed", github: true)).sorted() == shown)
            let forgiven = commands(try await run("--retry-failed", "--allow-failures", github: true))
            #expect(forgiven.allSatisfy { $0.hasPrefix("::warning ") } && forgiven.count == 2, "\(forgiven)")
            #expect(commands(try await run()) == [])
            #expect(commands(try await run("--annotations", "none", github: true)) == [])
            let json = try await run("--annotations", "github", "--json")
            #expect(!json.output.contains("::error") && commands(json).count == 2, "\(json)")
        }

        @Test("A list is shown by its path below the repository")
        func paths() async throws {
            try kf.home.write("sub/list", server.url("gone.png") + "\n")
            let inFolder = try await kf.run(
                ["prefetch", "sub/list"], under: "/usr/bin/env",
                ["--chdir=\(kf.home.url.path)", "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE=\(kf.home.url.path)"])
            #expect(commands(inFolder) == ["::error file=sub/list,line=1::response 404 Not Found"], "\(inFolder)")
            let piped = try await kf.run(
                ["prefetch", "-", "--retry-failed"], under: "/usr/bin/env", "GITHUB_ACTIONS=true",
                input: Data("\(server.url("gone.png"))\n".utf8))
            #expect(commands(piped) == ["::error::\(server.url("gone.png")): response 404 Not Found"], "\(piped)")
        }

        @Test("At most fifty failures are shown")
        func most() async throws {
            let lines = (0..<60).map { "\(server.url("gone.png"))?\($0)\n" }
            try kf.home.write("a,b%.txt", lines.joined())
            #expect(commands(try await run("--annotations", "github")).count == 50)
        }

        @Test("A summary says whether the cache has changed")
        func changed() async throws {
            try kf.home.write("a,b%.txt", "\(server.url("png/grey.png"))\n\(server.url("gone.png"))\n")
            for (options, expected) in [([], true), ([], false), (["--retry-failed"], false), (["--revalidate"], true)]
            {
                let result = try await kf.run(["prefetch", "a,b%.txt", "--json"] + options)
                #expect(try result.objects().last?["changed"] as? Bool == expected, "\(options) \(result)")
            }
            let fetch = try await kf.run("fetch", server.url("png/grey.png"), server.url("png/rgb.png"), "--json")
            #expect(try fetch.objects().last?["changed"] as? Bool == true, "\(fetch)")
        }
    }
}
