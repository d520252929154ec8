import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Looking after the cache")
    struct CacheCommandTests {
        let kf: KFCommand
        let server: FileServer

        init() throws {
            kf = try KFCommand()
            server = try FileServer()
        }

        private func fill() async throws {
            let names = ["png/grey.png", "png/rgb.png", "jpeg/grey.jpg"]
            let result = try await kf.run(["fetch"] + names.map(server.url))
            try #require(result.status == 0, "\(result)")
        }

        @Test("stat counts entries and bytes")
        func stat() async throws {
            try await fill()
            let result = try await kf.run("cache", "stat")
            #expect(result.status == 0, "\(result)")
            #expect(result.output.contains(/(?i)entries.*\b3\b|\b3\b.*entries/), "\(result)")
            #expect(result.output.contains(kf.cacheDirectory.path), "\(result)")
        }

        @Test("stat --json is one object, with the same figures")
        func statJSON() async throws {
            try await fill()
            let result = try await kf.run("cache", "stat", "--json")
            #expect(result.status == 0, "\(result)")
            let objects = try result.objects()
            #expect(objects.count == 1 && objects[0]["schema"] as? Int == 1, "\(result)")
            #expect(objects[0]["entries"] as? Int == 3, "\(result)")
        }

        @Test("stat of a cache that is not there says zero and creates nothing")
        func statOfNothing() async throws {
            let result = try await kf.run("cache", "stat")
            #expect(result.status == 0, "\(result)")
            #expect(TemporaryDirectory.files(in: kf.cacheDirectory) == [])
        }

        @Test("rm removes an address with all that was made from it")
        func remove() async throws {
            try await fill()
            _ = try await kf.run("fetch", server.url("png/rgb.png"), "-p", "resize:20x20")
            #expect(kf.cachedObjects().count == 4)
            let result = try await kf.run("cache", "rm", server.url("png/rgb.png"))
            #expect(result.status == 0, "\(result)")
            #expect(kf.cachedObjects().count == 2)
            let miss = try await kf.run("fetch", "--only-from-cache", server.url("png/rgb.png"))
            #expect(miss.status == 1 && miss.errors.contains("[3006]"), "\(miss)")
            let other = try await kf.run("fetch", "--only-from-cache", server.url("png/grey.png"))
            #expect(other.status == 0, "\(other)")
        }

        @Test("rm of an address that is not cached exits 1")
        func removeNothing() async throws {
            try await fill()
            let result = try await kf.run("cache", "rm", server.url("never.png"))
            #expect(result.status == 1, "\(result)")
            #expect(kf.cachedObjects().count == 3)
        }

        @Test("clean leaves what is fresh, clean --all leaves nothing")
        func clean() async throws {
            try await fill()
            let gentle = try await kf.run("cache", "clean")
            #expect(gentle.status == 0 && kf.cachedObjects().count == 3, "\(gentle)")
            let all = try await kf.run("cache", "clean", "--all", "--yes")
            #expect(all.status == 0 && kf.cachedObjects().isEmpty, "\(all)")
            #expect(try await Judge.integrity(of: kf.cacheDirectory) == "ok")
            try await fill()
            #expect(kf.cachedObjects().count == 3)
        }

        @Test("clean refuses a directory that is no cache")
        func cleanElsewhere() async throws {
            try kf.home.write("mine/objects/letter.txt", "keep me")
            let result = try await kf.run("cache", "clean", "--all", "--yes", "--cache-dir", kf.home.path("mine").path)
            #expect(result.status != 0, "\(result)")
            #expect(kf.home.files() == ["mine/objects/letter.txt"])
        }
    }
}
