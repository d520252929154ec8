import Foundation
import Support
import Testing

extension EndToEnd {
    /// An earlier kf has written the cache of `Fixtures/cache`, whose README says how. A cache outlives the program that
    /// wrote it: later ones read, renew and remove its entries.
    @Suite("Caches of earlier versions", .enabled(if: Tool.isInstalled("tar")))
    struct KeptCacheTests {
        private static let folder = FixturesDirectory.url.appendingPathComponent("cache")
        private static let archive = folder.appendingPathComponent("kept.tar.gz")
        private static let listing = folder.appendingPathComponent("kept.jsonl")
        private static let isMade = ProcessInfo.processInfo.environment["KF_MAKE_KEPT_CACHE"] != nil

        private var kf: KFCommand
        private let origin: FaultServer

        init() throws {
            kf = try KFCommand()
            let origin = try KeptOrigin.server()
            self.origin = origin
            // Keys have no port of a test: the origin is asked as a proxy.
            kf.environment["http_proxy"] = origin.url("")
        }

        @Test("The kept cache is written", .enabled(if: isMade))
        func make() async throws {
            for (words, status) in KeptOrigin.commands {
                let result = try await kf.run(words)
                try #require(result.status == status, "\(words): \(result)")
                // An entry that lives for a second has expired for the next command.
                if words.contains("1s") { try await Task.sleep(for: .milliseconds(1100)) }
            }
            let listed = try await kf.run("cache", "ls", "--json")
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try listed.output.replacingOccurrences(of: kf.cacheDirectory.path, with: "CACHE").write(
                to: Self.listing, atomically: true, encoding: .utf8)
            let packed = try await Tool.run(
                "tar", "--create", "--gzip", "--format=pax", "--numeric-owner", "--owner=0", "--group=0",
                "--file", Self.archive.path, "--directory", kf.home.url.path, "cache")
            try #require(packed.status == 0, "\(packed)")
        }

        private func unpack() async throws {
            let result = try await Tool.run(
                "tar", "--extract", "--no-same-owner", "--file", Self.archive.path, "--directory", kf.home.url.path)
            try #require(result.status == 0, "\(result)")
        }

        /// The listed entries without what time and use change.
        private func lasting(_ lines: [[String: Any]]) -> [NSDictionary] {
            lines.map { line in
                var line = line
                line["path"] = (line["path"] as? String)?.replacingOccurrences(
                    of: kf.cacheDirectory.path, with: "CACHE")
                for name in ["expired", "hits", "accessed"] { line[name] = nil }
                return line as NSDictionary
            }
        }

        private func recorded() throws -> [[String: Any]] {
            try String(contentsOf: Self.listing, encoding: .utf8).split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }

        private func expectNoDamage() async throws {
            let verified = try await kf.run("cache", "verify")
            #expect(verified.status == 0 && verified.output.contains("no damage"), "\(verified)")
        }

        /// Fetches every fresh image, and prefetches those that a list can name, without a request.
        private func expectHits() async throws {
            let before = origin.requests.count
            for words in KeptOrigin.hits {
                let result = try await kf.run(["fetch", "--json", "--only-from-cache"] + words)
                let item = try result.item()
                #expect(item.status == "disk", "\(words): \(result)")
                let path = try #require(item.path)
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == item.bytes)
            }
            for (names, options) in KeptOrigin.lists {
                let list = names.map { KeptOrigin.url($0) + "\n" }.joined()
                let result = try await kf.run(["prefetch", "-", "--json"] + options, input: Data(list.utf8))
                #expect(try result.items().map(\.status) == names.map { _ in "cached" }, "\(result)")
            }
            #expect(origin.requests.count == before)
        }

        @Test("The kept cache lists the same entries and is whole", .disabled(if: isMade))
        func listed() async throws {
            try await unpack()
            let listed = try await kf.run("cache", "ls", "--json")
            #expect(try lasting(listed.objects()) == lasting(recorded()))
            let kinds = Set(try recorded().compactMap { ($0["identifier"] as? String)?.prefix(5) })
            #expect(kinds == ["", "resiz", "vary=", "no-im", "repla"])
            #expect(try await kf.run("cache", "ls", "--tag", "site").outputLines.count == 2)
            try await expectNoDamage()
            #expect(origin.requests.isEmpty)
        }

        @Test("The kept cache serves every kind of entry", .disabled(if: isMade))
        func served() async throws {
            try await unpack()
            try await expectHits()
            let missing = try await kf.run("fetch", KeptOrigin.url("missing.png"), "--negative-ttl", "36500d")
            #expect(missing.status == 1 && missing.errors.contains("remembered for another"), "\(missing)")
            #expect(origin.requests.isEmpty)
        }

        @Test("The kept cache can be revalidated, resumed and written to", .disabled(if: isMade))
        func written() async throws {
            try await unpack()
            let expired = try await kf.run("fetch", "--json", KeptOrigin.url("expired.png")).item()
            #expect(expired.status == "revalidated")
            #expect(origin.requests.last?.header("If-None-Match") == "\"expired\"")
            // A partial body is forgotten after a day.
            for name in kf.leftovers() where name.contains("/partial/") {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date()], ofItemAtPath: kf.cacheDirectory.appendingPathComponent(name).path)
            }
            let whole = try await kf.run("fetch", "--json", KeptOrigin.url("partial.png")).item()
            #expect(whole.status == "fetched" && whole.bytes == KeptOrigin.large.count)
            #expect(origin.requests.last?.header("Range") != nil)
            let again = try await kf.run("fetch", KeptOrigin.url("a.png"), "--force-refresh", "--expire", "never")
            #expect(again.status == 0, "\(again)")
            let made = try await kf.run("fetch", "--json", KeptOrigin.url("a.png"), "-p", "resize:30x").item()
            #expect(made.status == "derived")
            #expect(try await kf.run("fetch", KeptOrigin.url("new.png")).status == 0)
            #expect(try await kf.run("cache", "rm", KeptOrigin.url("expired.png")).status == 0)
            #expect(try await kf.run("cache", "clean").status == 0)
            try await expectHits()
            try await expectNoDamage()
            #expect(kf.leftovers() == [])
        }
    }
}
