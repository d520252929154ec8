import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Every option has an effect")
    struct OptionEffectTests {
        /// Where each option's effect is tested. An option that is not here has no test, and must get one.
        static let suites: [String: [String]] = [
            "AVIFWritingTests": ["speed"],
            "CacheAccessTests": ["read-only"],
            "CacheLayerTests": ["cache-from"],
            "CacheListingTests": ["host", "limit", "long", "reverse", "sort"],
            "SelectionTests": ["expired", "keep-list", "larger-than", "tag"],
            "CacheOptionTests": ["extend", "ignore-query", "key", "key-ignore", "memory-only", "store"],
            "CheckTests": ["check"],
            "CacheStatTests": ["glob", "repair", "reset"],
            "CommandLineTests": ["format", "output"],
            "NegativeTTLTests": ["negative-ttl", "retry-failed"],
            "OfflineTests": ["offline"],
            "FetchingTests": ["force-refresh", "json", "only-from-cache", "quiet", "verbose"],
            "FormatTests": [
                "background", "first-frame", "keep-metadata", "max-pixels", "process", "quality", "scale-down", "srgb",
            ],
            "NetworkOptionTests": [
                "alternative", "cache-policy", "cookie-jar", "deny-private", "expire", "header", "max-bytes",
                "max-redirects",
                "max-time",
                "netrc", "proxy", "retry", "retry-delay", "revalidate", "scale", "stale-if-error",
                "stale-while-revalidate", "user", "user-agent",
            ],
            "NetworkFaultTests": ["cacert", "timeout", "trusted-host"],
            "OptionEffectTests": [
                "dry-run", "fsync", "http1.1", "max-size", "older-than", "processor", "unused-for", "verify",
            ],
            "OutputContractTests": ["color"],
            "OutputTests": ["create-dirs", "no-clobber", "output-dir", "remote-name"],
            "PrefetchControlTests": ["deadline", "failures", "max-failures", "max-per-host", "rate"],
            "PrefetchExportTests": ["name"],
            "PrefetchListTests": ["allow-local", "input-format", "shard", "shard-by", "url-column"],
            "StrangerListTests": ["headers-column", "key-column", "name-column", "process-column"],
            "PrefetchProgressTests": ["progress"],
            "PrefetchTests": ["jobs"],
            "CacheCommandTests": ["all", "cache-dir", "yes"],
            "RemoteFailureTests": ["remote", "remote-dropped", "remote-required", "remote-wait", "remote-write"],
            "ReportTests": ["thumbnails"],
            "ShardTests": ["shard-size", "shards"],
            "ResultsTests": ["ordered", "results"],
            "ShowTests": ["show"],
            "VariantTests": ["variant"],
            "WarningTests": ["max-memory", "max-process-time"],
        ]

        private static let letters = [
            "format": "-f", "header": "-H", "jobs": "-j", "output": "-o", "process": "-p", "quiet": "-q",
            "remote-name": "-O", "user": "-u",
            "verbose": "-v", "yes": "-y",
        ]

        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        @Test("Each option of the table has its test, which names it")
        func tested() async throws {
            let options = try await kf.run("config", "--json").objects().compactMap { $0["option"] as? String }
            #expect(options.count > 50)
            let known = Self.suites.values.flatMap(\.self)
            for option in options { #expect(known.contains(option), "--\(option) has no test of its effect") }
            for (suite, names) in Self.suites {
                let file = PackageRoot.url.appending(path: "Tests/EndToEnd/\(suite).swift")
                let text = try String(contentsOf: file, encoding: .utf8)
                for name in names {
                    let letter = Self.letters[name].map { "\"\($0)\"" }
                    let isNamed = text.contains("\"--\(name)") || letter.map(text.contains) == true
                    #expect(isNamed, "\(suite) does not use --\(name)")
                }
            }
        }

        /// Two originals and one processed image in the cache.
        private func fill() async throws {
            for name in ["rgb.png", "grey.png"] {
                try kf.home.write(name, FixturesDirectory.named("png/\(name)").data)
                _ = try await kf.run("fetch", name)
            }
            _ = try await kf.run("fetch", "grey.png", "-p", "resize:8x8")
        }

        private func removed(_ arguments: String...) async throws -> Int? {
            try await kf.run(["cache"] + arguments + ["--json"]).objects().last?["removed"] as? Int
        }

        @Test("--dry-run only says what would go, and --processor, --older-than, --unused-for, --max-size choose it")
        func removing() async throws {
            try await fill()
            #expect(try await removed("clean", "--older-than", "1h", "--dry-run") == 0)
            #expect(try await removed("clean", "--older-than", "0s", "--dry-run") == 3)
            #expect(try await removed("clean", "--unused-for", "1h") == 0)
            #expect(try await removed("clean", "--unused-for", "0s", "--dry-run") == 3)
            #expect(try await removed("clean", "--max-size", "1G") == 0)
            #expect(kf.cachedObjects().count == 3)
            #expect(try await removed("rm", "--processor", "resize:8x8") == 1)
            #expect(try await removed("clean", "--max-size", "100k") == 1)
            #expect(kf.cachedObjects().count == 1)
        }

        @Test("--verify finds a file that changed without a trace, and gets it again")
        func verify() async throws {
            try await fill()
            let path = try await kf.run("fetch", "rgb.png").printedPath
            let script = """
                touch -r "$1" stamp; chmod u+w "$1"
                printf X | dd of="$1" bs=1 seek=1000 conv=notrunc status=none; touch -r stamp "$1"; chmod 444 "$1"
                """
            _ = try await RunningCommand(
                "/bin/bash", ["-c", script, "bash", path], environment: kf.environment, directory: kf.home.url
            ).wait()
            let good = try FixturesDirectory.named("png/rgb.png").data
            let trusting = try await kf.run("fetch", "rgb.png", "-o", "-")
            #expect(trusting.standardOutput != good, "the damage is not seen without --verify")
            let result = try await kf.run("fetch", "rgb.png", "--verify", "-o", "-")
            #expect(result.status == 0 && result.standardOutput == good, "\(result)")
        }

        @Test("--http1.1 keeps a server that has HTTP/2 to HTTP/1.1")
        func httpVersion() async throws {
            let certificates = try await TestCertificates.shared
            let server = try FileServer(
                configuration: ["if ($server_protocol = HTTP/2.0) { return 410; }"],
                identity: certificates.identity(.good))
            let arguments = [
                "fetch", "--json", "--cacert", certificates.authority,
                "https://127.0.0.1:\(server.securePort)/png/rgb.png",
            ]
            #expect(try await kf.run(arguments).item().httpStatus == 410)
            #expect(try await kf.run(arguments + ["--http1.1"]).item().httpStatus == 200)
        }

        @Test("--fsync puts files on the disk before they are published")
        func fsync() async throws {
            try #require(await HitPathTests.canTrace(), "strace cannot trace here")
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            /// Calls that put an image's own file on the disk.
            func calls(_ arguments: String...) async throws -> Int {
                let log = kf.home.path("trace")
                let result = try await RunningCommand(
                    "strace",
                    ["-f", "-y", "-e", "trace=fsync,fdatasync", "-o", log.path, kf.binary.path, "fetch", "a.png"]
                        + arguments,
                    environment: kf.environment, directory: kf.home.url
                ).wait()
                try #require(result.status == 0, "\(result)")
                let text = try String(contentsOf: log, encoding: .utf8)
                return text.split(separator: "\n").count {
                    $0.contains("sync(") && $0.contains("/v1/tmp/") && !$0.contains("/index-")
                }
            }
            #expect(try await calls("--force-refresh") == 0)
            _ = try await kf.run("cache", "clean", "--all", "--yes")
            #expect(try await calls("--fsync") > 0)
        }
    }
}
