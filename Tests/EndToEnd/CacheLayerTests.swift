import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Lower cache layers")
    final class CacheLayerTests: ServedSuite {
        @Test("A lower layer serves misses and is never written to")
        func layer() async throws {
            let lower = kf.home.path("lower").path
            let grey = server.url("png/grey.png")
            _ = try await kf.run("fetch", grey, "--cache-dir", lower)
            let before = TemporaryDirectory.files(in: kf.home.path("lower"))
            let fetched = try await kf.run("fetch", grey, "--json", "--cache-from", lower)
            let object = try #require(try fetched.objects().first)
            #expect(object["status"] as? String == "disk", "\(fetched)")
            #expect((object["path"] as? String)?.hasPrefix(lower) == true, "\(fetched)")
            let list = Data("\(grey)\n".utf8)
            let prefetched = try await kf.run(["prefetch", "--cache-from", lower], input: list)
            #expect(prefetched.status == 0 && prefetched.errors.contains("1 cached"), "\(prefetched)")
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().isEmpty)
            #expect(TemporaryDirectory.files(in: kf.home.path("lower")) == before)
        }

        @Test("A missing layer is one warning, and the next one serves")
        func missing() async throws {
            let lower = kf.home.path("lower").path
            _ = try await kf.run("fetch", server.url("png/grey.png"), "--cache-dir", lower)
            let result = try await kf.run(
                "fetch", server.url("png/grey.png"), server.url("png/rgb.png"),
                "--cache-from", kf.home.path("nowhere").path, "--cache-from", lower)
            #expect(result.status == 0 && result.outputLines.first?.hasPrefix(lower) == true, "\(result)")
            #expect(result.errorLines.filter { $0.contains("nowhere") }.count == 1, "\(result)")
            #expect(!FileManager.default.fileExists(atPath: kf.home.path("nowhere").path))
        }

        @Test("The commands path and explain read lower layers")
        func looking() async throws {
            let lower = kf.home.path("lower").path
            let grey = server.url("png/grey.png")
            _ = try await kf.run("fetch", grey, "--cache-dir", lower)
            #expect(try await kf.run("cache", "path", grey).status == 1)
            let path = try await kf.run("cache", "path", grey, "--cache-from", lower)
            #expect(path.status == 0 && path.printedPath.hasPrefix(lower), "\(path)")
            let explained = try await kf.run("cache", "explain", grey, "--cache-from", lower)
            #expect(explained.output.contains("in a lower layer"), "\(explained)")
            #expect(explained.output.contains("the next fetch is served from the disk"), "\(explained)")
            let made = try await kf.run("cache", "explain", grey, "-p", "flip:h", "--cache-from", lower, "-q")
            #expect(made.output == "derive\n", "\(made)")
        }

        @Test("A lower layer serves expired images only when the source fails")
        func stale() async throws {
            let lower = kf.home.path("lower").path
            let grey = server.url("png/grey.png")
            _ = try await kf.run("fetch", grey, "--cache-dir", lower, "--expire", "1ms")
            let options = ["--cache-from", lower, "--stale-if-error", "1d", "--retry", "0"]
            // Nothing can be said of it down there, so that all of it is asked for, and kept above.
            let working = try await kf.run(["fetch", grey, "--json"] + options).item()
            #expect(working.status == "fetched" && working.httpStatus == 200)
            _ = try await kf.run("cache", "rm", grey)
            try await server.stop()
            let explained = try await kf.run(["cache", "explain", grey] + options.dropLast(2))
            #expect(explained.output.contains("the expired image is served"), "\(explained)")
            let result = try await kf.run(["fetch", grey, "--json"] + options).item()
            #expect(result.status == "stale" && result.path?.hasPrefix(lower) == true)
            let only = try await kf.run(["fetch", grey, "--json", "--only-from-cache"] + options).item()
            #expect(only.status == "stale")
            // What is made of it is not stored: there it would count as fresh.
            let output = kf.home.path("out.png").path
            let made = try await kf.run(["fetch", grey, "-p", "flip:h", "-o", output, "--json"] + options).item()
            #expect(made.status == "stale")
            #expect(kf.cachedObjects().isEmpty)
            #expect(try await kf.run(["fetch", grey, "--cache-from", lower, "--retry", "0"]).status == 1)
        }
    }
}
