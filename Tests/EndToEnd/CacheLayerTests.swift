import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Lower layers")
    struct CacheLayerTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        @Test("--cache-from serves after a miss, for fetch and prefetch, and is never written to")
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
            #expect(prefetched.status == 0 && prefetched.errors.contains("1 in the cache already"), "\(prefetched)")
            #expect(try await server.requests().count == 1)
            #expect(kf.cachedObjects().isEmpty)
            #expect(TemporaryDirectory.files(in: kf.home.path("lower")) == before)
        }

        @Test("A layer that is missing is one warning, and the next is looked into")
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
    }
}
