import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("What goes wrong")
    struct FailureTests {
        let kf: KFCommand

        init() throws {
            var kf = try KFCommand()
            // The waiting between attempts is somebody else's test.
            kf.environment["KF_RETRY"] = "0"
            self.kf = kf
        }

        @Test("404 is named, and no file is written")
        func notFound() async throws {
            let server = try FileServer()
            let result = try await kf.run("fetch", server.url("missing.png"), "-o", "out.png")
            expectRefusal(result, kf, says: "404", "[2002]", server.url("missing.png"))
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
            #expect(try await server.requests().count == 1)
        }

        @Test("a server's error is named", arguments: [403, 410, 500, 503])
        func serverError(status: Int) async throws {
            let server = try FileServer(configuration: [FileServer.answering("/x.png", status, "sorry")])
            expectRefusal(try await kf.run("fetch", server.url("x.png")), kf, says: "\(status)", "[2002]")
        }

        @Test("an HTML page with status 200 is no image, and the message says what it was")
        func htmlPage() async throws {
            let server = try FileServer(configuration: [
                FileServer.answering("/login.png", 200, "<!DOCTYPE html><title>Sign in</title>", type: "image/png")
            ])
            let result = try await kf.run("fetch", server.url("login.png"), "-o", "out.png")
            expectRefusal(result, kf, says: "HTML", "login.png")
            expectRefusal(try await kf.run("fetch", server.url("broken/page.png")), kf, says: "HTML", "page.png")
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
        }

        @Test(
            "a damaged image is refused",
            arguments: [
                "truncated.jpg", "no-end.jpg", "truncated.png", "bad-crc.png", "truncated.gif", "truncated.webp",
                "text.jpg", "empty.png",
            ])
        func damaged(name: String) async throws {
            let server = try FileServer()
            let result = try await kf.run("fetch", server.url("broken/" + name), "-o", "out.img")
            expectRefusal(result, kf, says: name)
            #expect(result.errors.contains(/\[[0-9]{4}\]/), "\(result)")
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
            let report = try await kf.run("fetch", "--json", server.url("broken/" + name)).item()
            #expect(report.status == "failed" && report.error != nil)
        }

        @Test("nobody listens")
        func connectionRefused() async throws {
            let server = try FileServer()
            try await server.stop()
            let result = try await kf.run("fetch", server.url("png/rgb.png"), "-o", "out.png")
            expectRefusal(result, kf, says: "[2003]", server.url("png/rgb.png"))
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
        }

        @Test(
            "a URL that is none, or of a scheme that kf does not speak",
            arguments: [
                "http://", "http:///picture.png", "http://host:99999/a.png", "ftp://127.0.0.1/a.png",
                "gopher://127.0.0.1/",
            ])
        func wrongURL(url: String) async throws {
            let result = try await kf.run("fetch", url, "-o", "out.png")
            expectRefusal(result, kf, says: "kf: ")
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
        }

        @Test("a name that does not resolve")
        func unknownHost() async throws {
            expectRefusal(
                try await kf.run("fetch", "http://nowhere.invalid/a.png"), kf, says: "nowhere.invalid", "[2003]")
        }

        @Test("no password or query is printed")
        func secrets() async throws {
            let server = try FileServer()
            let host = server.address.dropFirst("http://".count)
            let result = try await kf.run("fetch", "http://user:secret@\(host)/missing.png?token=hidden")
            #expect(result.status == 1, "\(result)")
            #expect(!result.errors.contains("secret") && !result.errors.contains("hidden"), "\(result)")
            #expect(result.errors.contains("missing.png"), "\(result)")
        }

        @Test("an output that cannot be written is named, and the image stays cached")
        func unwritableOutput() async throws {
            let server = try FileServer()
            for output in ["no-such-directory/out.png", "/proc/out.png", "folder"] {
                try FileManager.default.createDirectory(
                    at: kf.home.path("folder"), withIntermediateDirectories: true)
                let result = try await kf.run("fetch", server.url("png/grey.png"), "-o", output)
                expectRefusal(result, kf, says: output, cached: 1)
            }
            #expect(kf.home.files().filter { !$0.hasPrefix("cache/") } == [])
        }

        @Test("one failure does not keep the others back")
        func oneOfSeveral() async throws {
            let server = try FileServer()
            let result = try await kf.run(
                "fetch", server.url("png/grey.png"), server.url("missing.png"), server.url("png/rgb.png"))
            #expect(result.status == 1, "\(result)")
            #expect(result.outputLines.count == 2, "\(result)")
            #expect(result.errorLines.count == 1 && result.errors.contains("missing.png"), "\(result)")
            for (line, name) in zip(result.outputLines, ["png/grey.png", "png/rgb.png"]) {
                let expected = try FixturesDirectory.named(name).data
                #expect(try Data(contentsOf: URL(fileURLWithPath: line)) == expected)
            }
        }

        @Test("--json reports a failure with its code")
        func jsonFailure() async throws {
            let server = try FileServer()
            let result = try await kf.run("fetch", "--json", server.url("missing.png"))
            #expect(result.status == 1, "\(result)")
            let item = try result.item()
            #expect(item.status == "failed")
            #expect(item.error?.code == 2002)
            #expect(item.error?.message.contains("404") == true, "\(result)")
            #expect(item.httpStatus == 404)
            #expect(item.path == nil)
        }

        @Test("a failure is not remembered: the next fetch asks again")
        func notRemembered() async throws {
            let root = try TemporaryDirectory()
            let server = try FileServer(root: root.url)
            expectRefusal(try await kf.run("fetch", server.url("late.png")), kf, says: "404")
            let data = try FixturesDirectory.named("png/rgb.png").data
            try root.write("late.png", data)
            let result = try await kf.run("fetch", server.url("late.png"), "-o", "-")
            #expect(result.status == 0 && result.standardOutput == data, "\(result)")
        }

        @Test("a damaged cache entry heals itself")
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
                #expect(try Data(contentsOf: kf.home.path(name)) == fixture.data)
            }
        }
    }
}
