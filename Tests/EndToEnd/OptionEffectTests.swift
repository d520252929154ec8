import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Options")
    struct OptionEffectTests {
        /// Where each option's effect is tested. An option that is not here has no test, and must get one.
        static let suites: [String: [String]] = [
            "AVIFWritingTests": ["speed"],
            "DuplicateTests": ["distance"],
            "MeasureTests": ["measure"],
            "PasswordTests": ["auth"],
            "PlaceholderTests": ["placeholder"],
            "CacheAccessTests": ["fsync", "read-only", "verify"],
            "CacheLayerTests": ["cache-dir", "cache-from"],
            "RemovalCommandTests": ["all", "dry-run", "max-size", "older-than", "processor", "unused-for", "yes"],
            "CacheListingTests": ["host", "limit", "long", "reverse", "sort"],
            "SelectionTests": ["expired", "glob", "keep-list", "larger-than", "tag"],
            "CacheOptionTests": ["extend", "jobs", "key", "key-ignore", "store"],
            "CheckTests": ["check"],
            "CacheStatTests": ["reset"],
            "CacheVerifyTests": ["repair"],
            "CommandLineTests": ["format", "output"],
            "RememberedFailureTests": ["negative-ttl", "retry-failed"],
            "LeavingOutTests": [
                "formats", "max-aspect", "min-bytes", "min-size", "respect-opt-out",
            ],
            "LockTests": ["frozen", "hash", "hash-column", "keep-lock", "lock", "prune-lock", "update-lock"],
            "OfflineTests": ["offline", "only-from-cache"],
            "FetchingTests": ["force-refresh", "json", "quiet", "verbose"],
            "FormatTests": [
                "background", "first-frame", "keep-metadata", "max-pixels", "process", "quality", "scale-down", "srgb",
                "strip-metadata",
            ],
            "IdentityTests": ["netrc", "user"],
            "MirrorTests": ["mirror"],
            "NetworkFault": ["max-time"],
            "NetworkOptionTests": [
                "allow-failures", "cert", "cert-key", "limit-rate", "on-failure", "alternative", "cache-policy",
                "cookie-jar", "deny-private", "expire", "header", "max-bytes",
                "max-redirects", "proxy", "retry", "retry-delay", "revalidate", "stale-if-error",
                "stale-while-revalidate", "user-agent",
            ],
            "NetworkFaultTests": ["timeout"],
            "OptionEffectTests": ["http1.1"],
            "OutputContractTests": ["color"],
            "OutputTests": ["safe-names", "create-dirs", "no-clobber", "output-dir", "remote-name"],
            "PrefetchControlTests": ["deadline", "failures", "max-failures", "max-per-host", "rate"],
            "PrefetchExportTests": ["name"],
            "PruneOutputTests": ["prune-output"],
            "AnnotationTests": ["annotations"],
            "MixedFolderTests": ["undecoded"],
            "DropDuplicatesTests": ["drop-duplicates"],
            "ListCommandTests": [
                "allow-local", "base-url", "print", "skip-invalid", "input-format", "shard", "url-column",
            ],
            "StrangerListTests": ["headers-column", "key-column", "name-column", "process-column"],
            "PrefetchProgressTests": ["progress"],
            "RemoteFailureTests": ["remote", "remote-dropped", "remote-required", "remote-wait", "remote-write"],
            "ReportTests": ["thumbnails"],
            "TLSFaultTests": ["cacert", "trusted-host"],
            "ShardContentTests": ["caption-column"],
            "TarShardTests": ["shard-size", "shards"],
            "ResultsTests": ["ordered", "results"],
            "RunEndTests": ["grace"],
            "SrcsetTests": ["alt-column", "srcset", "srcset-sizes", "srcset-url", "widths"],
            "VariantCommandTests": ["variant"],
            "ReadFormatTests": ["decoders"],
            "DamageWarningTests": ["lenient", "max-memory", "max-process-time"],
        ]

        private static let letters = [
            "format": "-f", "header": "-H", "jobs": "-j", "output": "-o", "process": "-p", "quiet": "-q",
            "remote-name": "-O", "user": "-u",
            "verbose": "-v", "yes": "-y",
        ]

        let kf: KFCommand

        init() throws { kf = try KFCommand() }

        @Test("Each option has a test that uses it")
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

        @Test("The option --http1.1 avoids HTTP/2")
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
    }
}
