import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Fetching")
    final class FetchingTests: ServedSuite {
        @Test("Every format arrives byte for byte")
        func everyFixture() async throws {
            let extensions = ["jpeg": "jpg", "png": "png", "gif": "gif", "webp": "webp", "bmp": "bmp", "ico": "ico"]
            for fixture in FixturesDirectory.all {
                let result = try await kf.run("fetch", server.url(fixture.name))
                #expect(result.status == 0, "\(result)")
                #expect(result.outputLines.count == 1, "\(result)")
                let file = URL(fileURLWithPath: result.printedPath)
                #expect(try Data(contentsOf: file) == fixture.data, "\(fixture)")
                #expect(file.pathExtension == extensions[fixture.format], "\(fixture)")
                #expect(file.path.hasPrefix(kf.cacheDirectory.path), "\(fixture)")
            }
            #expect(FixturesDirectory.all.count > 40)
        }

        @Test("The report describes the image and ends with a summary")
        func json() async throws {
            let fixture = try FixturesDirectory.named("jpeg/progressive.jpg")
            let url = server.url(fixture.name)
            let first = try await kf.run("fetch", "--json", url)
            #expect(first.status == 0, "\(first)")
            let item = try first.item()
            #expect(item.schema == 1)
            #expect(item.source == url)
            #expect(item.key == url)
            #expect(item.status == "fetched")
            #expect(item.format == "jpeg")
            #expect(item.width == fixture.width && item.height == fixture.height && item.frames == 1)
            #expect(try item.bytes == fixture.data.count)
            #expect(try await item.sha256 == Judge.sha256(fixture.data))
            #expect(item.httpStatus == 200)
            #expect(item.attempts == 1)
            #expect(Set(["connect", "first_byte", "total"]).isSubset(of: Set((item.timings ?? [:]).keys)))
            #expect(item.error == nil)
            #expect(try Data(contentsOf: URL(fileURLWithPath: item.path ?? "")) == fixture.data)
            let objects = try first.objects()
            #expect(objects.count == 2, "\(first)")
            #expect(objects.last?["source"] == nil && objects.last?["schema"] as? Int == 1, "\(first)")

            let again = try await kf.run("fetch", "--json", url).item()
            #expect(again.status == "disk")
            #expect(again.path == item.path)
            #expect(again.sha256 == item.sha256)
        }

        @Test("Paths are printed in the order of the sources")
        func order() async throws {
            let names = ["jpeg/landscape-420.jpg", "png/one-pixel.png", "missing.png", "gif/still.gif", "png/rgb.png"]
            let result = try await kf.run(["fetch"] + names.map(server.url))
            #expect(
                result.status == 1 && result.errorLines.count == 1 && result.errors.contains("missing.png"), "\(result)"
            )
            let found = names.filter { $0 != "missing.png" }
            try #require(result.outputLines.count == found.count)
            for (line, name) in zip(result.outputLines, found) {
                #expect(
                    try Data(contentsOf: URL(fileURLWithPath: line)) == FixturesDirectory.named(name).data, "\(name)")
            }
        }

        @Test("A forced refresh makes an unconditional request")
        func forceRefresh() async throws {
            let url = server.url("png/grey.png")
            _ = try await kf.run("fetch", url)
            let result = try await kf.run("fetch", "--force-refresh", "--json", url)
            #expect(try result.item().status == "fetched", "\(result)")
            let requests = try await server.requests()
            #expect(requests.map(\.status) == [200, 200])
            #expect(requests.allSatisfy { $0.ifNoneMatch == nil && $0.ifModifiedSince == nil })
        }

        @Test("The scheme's case and a fragment do not change the key")
        func sameEntry() async throws {
            let url = server.url("png/grey.png")
            _ = try await kf.run("fetch", url)
            let other = url.replacingOccurrences(of: "http:", with: "HTTP:") + "#part"
            let result = try await kf.run("fetch", "--json", other)
            #expect(try result.item().status == "disk", "\(result)")
            #expect(try await server.requests().count == 1)
        }

        @Test("Quiet mode prints errors and JSON only")
        func quiet() async throws {
            let quiet = try await kf.run("fetch", "-q", server.url("png/grey.png"))
            #expect(quiet.status == 0 && quiet.output == "" && quiet.errors == "", "\(quiet)")
            #expect(kf.cachedObjects().count == 1)
            #expect(try await kf.run("fetch", "-q", "--json", server.url("png/grey.png")).item().status == "disk")
            let missing = try await kf.run("fetch", "-q", server.url("missing.png"))
            #expect(missing.status == 1 && missing.errors.contains("[2002]"), "\(missing)")
        }

        @Test("Verbose mode says where an image came from")
        func verbose() async throws {
            let first = try await kf.run("fetch", "-v", server.url("png/grey.png"))
            let second = try await kf.run("fetch", "-v", server.url("png/grey.png"))
            #expect(first.output == second.output && second.outputLines.count == 1)
            #expect(first.errors.contains("fetched"), "\(first)")
            #expect(second.errors.contains("disk"), "\(second)")
        }

        @Test("The option --cache-dir overrides the environment")
        func cacheDirectory() async throws {
            let elsewhere = kf.home.path("else where").path
            let result = try await kf.run("fetch", "--cache-dir", elsewhere, server.url("png/grey.png"))
            #expect(result.status == 0 && result.printedPath.hasPrefix(elsewhere + "/"), "\(result)")
            #expect(kf.cachedObjects() == [])
        }
    }
}
