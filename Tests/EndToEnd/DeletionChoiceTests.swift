import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Deletion settings")
    struct DeletionChoiceTests {
        var kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        private var grey: String { server.url("png/grey.png") }

        private func fill() async throws {
            let result = try await kf.run("fetch", grey, server.url("jpeg/grey.jpg"), server.url("gif/still.gif"))
            try #require(result.status == 0, "\(result)")
        }

        private func configure(_ text: String) throws { try kf.home.write(".config/kf/config", text) }

        @Test("A limit of 0 removes no fresh image")
        func noLimit() async throws {
            try await fill()
            #expect(try await kf.with(["KF_MAX_SIZE": "0"]).run("cache", "clean").status == 0)
            #expect(try await kf.run("cache", "clean", "--max-size", "0").status == 0)
            try configure("max-size = 0\n")
            #expect(try await kf.run("cache", "clean").status == 0)
            #expect(kf.cachedObjects().count == 3)
        }

        @Test("A configured limit also applies when cleaning")
        func limits() async throws {
            try await fill()
            _ = try await kf.run("fetch", grey, "--force-refresh", "--expire", "1ms")
            try configure("max-size = 20G\n")
            let expired = try await kf.run("cache", "clean", "--json").objects().last
            #expect(expired?["removed"] as? Int == 1 && kf.cachedObjects().count == 2)
            try configure("max-size = 1\n")
            // A selection on the command line is not widened by a limit elsewhere.
            #expect(try await kf.run("cache", "clean", "--host", "example.com").status == 0)
            #expect(kf.cachedObjects().count == 2)
            // The command line's 0 beats the file's limit.
            #expect(try await kf.run("cache", "clean", "--max-size", "0").status == 0)
            #expect(kf.cachedObjects().count == 2)
            #expect(try await kf.run("cache", "clean").status == 0)
            #expect(kf.cachedObjects().isEmpty)
            try configure("max-size = 20G\n")
            try await fill()
            #expect(try await kf.run("cache", "clean", "--all", "--yes").status == 0)
            #expect(kf.cachedObjects().isEmpty)
        }

        @Test(
            "Removing everything without a terminal needs --yes", arguments: ["", "KF_YES=1 KF_ALL=1 ", "KF_QUIET=1 "])
        func unasked(variables: String) async throws {
            try await fill()
            let script = "\(variables)\"$1\" cache clean --all </dev/null"
            let result = try await kf.shell(script)
            #expect(result.status == 2 && kf.cachedObjects().count == 3, "\(result)")
            #expect(result.errors.contains(variables.hasPrefix("KF_YES") ? "command line only" : "--yes"), "\(result)")
            #expect(try await kf.run("cache", "clean", "--all", "--dry-run").status == 0)
            #expect(kf.cachedObjects().count == 3)
            #expect(try await kf.run("cache", "clean", "--all", "-y").status == 0)
            #expect(kf.cachedObjects().isEmpty)
        }

        @Test(
            "A filter in the environment or config file is an error",
            arguments: [
                ("host", "localhost", ["clean"]), ("older-than", "0s", ["clean"]), ("unused-for", "0s", ["clean"]),
                ("all", "1", ["clean"]), ("yes", "1", ["clean", "--all"]), ("repair", "1", ["verify"]),
                ("expired", "1", ["clean"]), ("larger-than", "0", ["rm"]), ("keep-list", "x", ["clean"]),
                ("glob", "*", ["rm"]), ("processor", "blur:2", ["rm"]), ("key", "a", ["rm"]), ("reset", "1", ["stat"]),
            ])
        func elsewhere(option: String, value: String, command: [String]) async throws {
            try await fill()
            let name = "KF_" + option.uppercased().replacingOccurrences(of: "-", with: "_")
            let variable = try await kf.with([name: value]).run(["cache"] + command)
            #expect(variable.status == 2 && variable.errors.contains(name), "\(variable)")
            try configure("\(option) = \(value)\n")
            let line = try await kf.run(["cache"] + command)
            #expect(line.status == 2, "\(line)")
            #expect(line.errors.contains("config:1: '\(option)' works on the command line only"), "\(line)")
            #expect(kf.cachedObjects().count == 3)
        }

        @Test("A filter on the command line overrides a variable")
        func nearest() async throws {
            try await fill()
            let result = try await kf.with(["KF_HOST": "127.0.0.1"]).run("cache", "clean", "--host", "example.com")
            #expect(result.status == 0 && kf.cachedObjects().count == 3, "\(result)")
        }

        @Test("A filter with an empty value is an error")
        func empty() async throws {
            try await fill()
            for arguments in [
                ["clean", "--host", ""], ["rm", "--processor", ""], ["rm", "--processor", " \t"], ["rm", "--key", ""],
                ["rm", ""],
                ["clean", "--older-than", ""], ["rm", "--glob", ""], ["rm", "--tag", ""], ["clean", "--format", ""],
                ["clean", "--keep-list", ""], ["clean", ""], ["clean", "--larger-than", ""],
            ] {
                let result = try await kf.run(["cache"] + arguments)
                #expect(result.status != 0 && kf.cachedObjects().count == 3, "\(result)")
            }
        }
    }

    @Suite("Host filters")
    final class HostOptionTests: CommandSuite {
        private func keep(_ key: String, host: String) async throws {
            try kf.home.write("\(key).png", FixturesDirectory.named("png/grey.png").data + Data(key.utf8))
            let result = try await kf.run("fetch", "\(key).png", "--key", key)
            try #require(result.status == 0, "\(result)")
            let change = """
                INSERT OR IGNORE INTO hosts (name) VALUES ('\(host)');
                UPDATE entries SET host = (SELECT id FROM hosts WHERE name = '\(host)') WHERE key = '\(key)';
                """
            try await kf.changeIndex(change)
        }

        @Test("Host filters match names, domains, ports and IPv6 addresses")
        func matching() async throws {
            let hosts = [
                "a": "example.com", "b": "example.com:8080", "c": "img.example.com", "d": "img.example.com:8080",
                "e": "badexample.com", "f": "[::1]", "g": "[::1]:8080", "h": "[::12]",
            ]
            for (key, host) in hosts { try await keep(key, host: host) }
            let cases = [
                "example.com": "ab", "EXAMPLE.com": "ab", "example.com:8080": "b", "*.example.com": "cd",
                "*.example.com:8080": "d", "*": "abcdefgh", "*:8080": "bdg", "[::1]": "fg", "::1": "fg",
                "[::1]:8080": "g",
                "[::1]:9": "", "com": "", "xample.com": "", "*.com": "abcde",
            ]
            for (host, expected) in cases {
                let listed = try await kf.run("cache", "ls", "--json", "--host", host).objects()
                #expect(listed.compactMap { $0["key"] as? String }.sorted().joined() == expected, "ls --host \(host)")
                let cleaned = try await kf.run("cache", "clean", "--json", "-v", "--dry-run", "--host", host).objects()
                #expect(
                    cleaned.compactMap { $0["key"] as? String }.sorted().joined() == expected, "clean --host \(host)")
            }
        }

        @Test("A URL without a port has the port of its scheme")
        func standardPort() async throws {
            for (key, url) in [("a", "http://h/a.png"), ("b", "https://h/b.png"), ("c", "https://h:80/c.png")] {
                try await keep(key, host: key == "c" ? "h:80" : "h")
                let change = "UPDATE entries SET url = '\(url)' WHERE key = '\(key)'"
                try await kf.changeIndex(change)
            }
            for (host, expected) in ["h:80": "ac", "h:443": "b", "h": "abc"] {
                let listed = try await kf.run("cache", "ls", "--json", "--host", host).objects()
                #expect(listed.compactMap { $0["key"] as? String }.sorted().joined() == expected, "\(host)")
            }
        }

        @Test(
            "An invalid host is a usage error",
            arguments: [
                "", "http://example.com/", "a*b", "**", "*.", "exa mple", "example.com:0", "example.com:99999",
                "example.com:x", "[::1", "[::1]8", "[x]", "a/b", "[]", "user@host",
            ])
        func refused(host: String) async throws {
            for command in ["ls", "clean"] {
                let result = try await kf.run("cache", command, "--host", host)
                #expect(result.status == 2 && result.errors.contains("--host takes a host such as"), "\(result)")
            }
        }
    }
}
