import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Failures")
    struct FailureTests {
        let kf: KFCommand

        init() throws { kf = try .withoutRetries() }

        @Test("A server's error is named, and no file is written", arguments: [403, 404, 410, 500, 503])
        func status(_ status: Int) async throws {
            let server = try FileServer(configuration: [FileServer.answering("/x.png", status, "sorry")])
            let result = try await kf.run("fetch", server.url("x.png"), "-o", "out.png")
            expectRefusal(result, kf, says: "\(status)", "[2002]", server.url("x.png"))
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
            #expect(try await server.requests().count == 1)
        }

        @Test(
            "A damaged image is refused",
            arguments: [
                ("truncated.jpg", 2008), ("no-end.jpg", 2008), ("truncated.png", 2008), ("bad-crc.png", 2008),
                ("truncated.gif", 2008), ("truncated.webp", 2008), ("truncated.bmp", 2008), ("truncated.ico", 2008),
                ("text.jpg", 2007), ("page.png", 2007), ("empty.png", 2007),
            ])
        func damaged(name: String, code: Int) async throws {
            let server = try FileServer()
            let result = try await kf.run("fetch", server.url("broken/" + name), "-o", "out.img")
            expectRefusal(result, kf, says: name, "[\(code)]")
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
            let report = try await kf.run("fetch", "--json", server.url("broken/" + name)).item()
            #expect(report.status == "failed" && report.error?.code == code)
        }

        @Test("An output that cannot be written leaves the image cached")
        func unwritableOutput() async throws {
            let server = try FileServer()
            for output in ["no-such-directory/out.png", "/proc/out.png", "folder"] {
                try FileManager.default.createDirectory(at: kf.home.path("folder"), withIntermediateDirectories: true)
                let result = try await kf.run("fetch", server.url("png/grey.png"), "-o", output)
                expectRefusal(result, kf, says: output, cached: 1)
            }
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
        }

        @Test("A missing or truncated cache file is fetched again")
        func damagedEntry() async throws {
            let server = try FileServer()
            let fixture = try FixturesDirectory.named("png/rgb.png")
            let path = try await kf.run("fetch", server.url(fixture.name)).printedPath
            try FileManager.default.removeItem(atPath: path)
            let missing = try await kf.run("fetch", "--json", server.url(fixture.name), "-o", "one.png")
            #expect(try missing.item().status == "fetched", "\(missing)")
            #expect(chmod(path, 0o644) == 0)
            try fixture.data.prefix(1000).write(to: URL(fileURLWithPath: path))
            let short = try await kf.run("fetch", "--json", server.url(fixture.name), "-o", "two.png")
            #expect(try short.item().status == "fetched", "\(short)")
            for name in ["one.png", "two.png"] {
                #expect(try kf.contents(name) == fixture.data)
            }
        }
    }
}
