import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Cache access")
    struct CacheAccessTests {
        let kf: KFCommand
        let server: FileServer
        let grey: String

        init() throws {
            kf = try KFCommand(in: .disk)
            server = try FileServer()
            grey = server.url("png/grey.png")
        }

        /// Every file of the cache with what is in it; readers share memory beside the index.
        private func contents() throws -> [String: Data] {
            var contents: [String: Data] = [:]
            for name in TemporaryDirectory.files(in: kf.cacheDirectory) where !name.hasSuffix("-shm") {
                contents[name] = try Data(contentsOf: kf.cacheDirectory.appendingPathComponent(name))
            }
            return contents
        }

        @Test("With --read-only the cache serves hits and does not change")
        func readOnly() async throws {
            // Of an entry that is used for the first time in ten minutes the times would be written.
            _ = try await kf.run("fetch", grey, "--expire", "1ms", "--cache-policy", "ttl")
            _ = try await kf.run("fetch", server.url("jpeg/grey.jpg"), "--expire", "100ms", "--extend", "none")
            _ = try await kf.run("fetch", server.url("png/rgb.png"), "--expire", "60s")
            let before = try contents()
            #expect(before.count > 3)
            let hit = try await kf.run("fetch", server.url("png/rgb.png"), "--read-only", "--json").item()
            #expect(hit.status == "disk")
            let output = kf.home.path("out.png").path
            let miss = try await kf.run("fetch", server.url("png/rgba.png"), "--read-only", "-o", output)
            #expect(miss.status == 0 && miss.errors.isEmpty, "\(miss)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: output)) == FixturesDirectory.named("png/rgba.png").data)
            let expired = try await kf.run("fetch", grey, "--read-only", "-o", output, "--json").item()
            #expect(expired.status == "revalidated")
            let nowhere = try await kf.run("fetch", server.url("png/rgba.png"), "--read-only")
            #expect(nowhere.status == 3 && nowhere.output.isEmpty && nowhere.errors.contains("-o"), "\(nowhere)")
            let list = Data("\(server.url("png/rgba.png"))\n".utf8)
            let requests = try await server.requests().count
            let prefetch = try await kf.run(["prefetch", "--read-only"], input: list)
            #expect(prefetch.status == 3 && prefetch.errors.contains("reading only"), "\(prefetch)")
            // A result that cannot be stored is missing, unless it is written elsewhere.
            let cached = Data("\(server.url("png/rgb.png"))\n".utf8)
            for (options, status) in [([], 3), (["-P", "out", "--create-dirs"], 0)] as [([String], Int32)] {
                let processed = ["prefetch", "-", "--read-only", "-p", "resize:8x8"] + options
                let run = try await kf.run(processed + ["--json"], input: cached)
                #expect(run.status == status, "\(run)")
                #expect(try run.objects().first?["status"] as? String == (status == 0 ? "derived" : "failed"), "\(run)")
                let dry = try await kf.run(processed + ["--dry-run"], input: cached)
                #expect(dry.output.hasPrefix(status == 0 ? "hit\t" : "missing\t"), "\(dry)")
            }
            let forms = ["--variant", "same=encode:keep", "--variant", "small=resize:8x8", "--json"]
            let rows = try await kf.run(["prefetch", "-", "--read-only"] + forms, input: cached).objects()
            #expect(rows.prefix(2).map { $0["status"] as? String } == ["cached", "failed"], "\(rows)")
            #expect(try await server.requests().count == requests)
            #expect(try contents() == before)
        }

        @Test("With --read-only no cache is created")
        func readOnlyNowhere() async throws {
            let output = kf.home.path("out.png").path
            let result = try await kf.run("fetch", grey, "--read-only", "-o", output)
            #expect(result.status == 0 && FileManager.default.fileExists(atPath: output), "\(result)")
            #expect(!FileManager.default.fileExists(atPath: kf.cacheDirectory.path))
        }

        @Test("With --verify a silently changed file is fetched again")
        func verify() async throws {
            let path = try await kf.run("fetch", grey).printedPath
            let image = URL(fileURLWithPath: path)
            let good = try Data(contentsOf: image)
            let reference = kf.home.path("reference").path
            #expect(try await Tool.run("cp", "-p", path, reference).status == 0)
            #expect(try await Tool.run("chmod", "u+w", path).status == 0)
            var bad = good
            bad[good.count / 2] ^= 0xff
            let file = try FileHandle(forWritingTo: image)
            try file.write(contentsOf: bad)
            try file.close()
            #expect(try await Tool.run("touch", "-r", reference, path).status == 0)
            let trusting = try await kf.run("fetch", grey, "--json").item()
            #expect(trusting.status == "disk", "the size and the time are what they were")
            let explained = try await kf.run("cache", "explain", grey, "--verify", "-q")
            #expect(explained.output == "request\n", "\(explained)")
            let checking = try await kf.run("fetch", grey, "--json", "--verify").item()
            #expect(checking.status == "fetched")
            #expect(try Data(contentsOf: URL(fileURLWithPath: try #require(checking.path))) == good)
        }

        @Test(
            "With --fsync kf waits for the image and the index",
            .enabled("strace cannot trace here") { await SystemCalls.areTraceable() })
        func fsync() async throws {
            _ = try await kf.run("fetch", server.url("png/rgb.png"))
            let fetch = ["fetch", grey, "--force-refresh"]
            let without = try await kf.calls("fsync,fdatasync", of: fetch)
            #expect(!without.contains { $0.contains("/v1/tmp/") || $0.contains("-wal") }, "\(without)")
            let with = try await kf.calls("fsync,fdatasync", of: fetch + ["--fsync"])
            #expect(with.contains { $0.contains("/v1/tmp/") || $0.contains("/v1/objects/") }, "\(with)")
            #expect(with.contains { $0.contains("index.sqlite") }, "\(with)")
        }
    }
}
