import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Cached redirects") final class RedirectCachingTests: CommandSuite {
        private let february = FixturesDirectory.image("png/rgb.png")
        private let january = FixturesDirectory.image("png/grey.png")

        /// Serves both pictures. It confirms any ETag, and any date that is not before the picture's.
        private func pictures(byDate: Bool) throws -> FaultServer {
            try FaultServer { [february, january] request in
                let isFebruary = request.path == "/february.png"
                let validator =
                    byDate ? "Last-Modified: Sun, 0\(isFebruary ? 6 : 5) Nov 1994 08:49:37 GMT" : "ETag: \"1\""
                let condition = request.header("If-None-Match") ?? request.header("If-Modified-Since")
                if condition != nil { return [.head("HTTP/1.1 304 Not Modified", validator)] }
                return [.reply(headers: [validator], body: isFebruary ? february : january)]
            }
        }

        @Test("A redirect to a new image fetches that image", arguments: [false, true], [false, true])
        func otherTarget(byDate: Bool, onTwoOrigins: Bool) async throws {
            let (first, second) = (try pictures(byDate: byDate), try pictures(byDate: byDate))
            let targets = [first, onTwoOrigins ? second : first].enumerated().map {
                $1.url($0 == 0 ? "/february.png" : "/january.png")
            }
            let count = Atomic(0)
            let source = try FaultServer { _ in
                let target = targets[min(1, count.add(1, ordering: .relaxed).oldValue)]
                return [.reply("302 Found", headers: ["Location: \(target)"])]
            }
            let url = source.url("/latest.png")
            var bodies: [Data] = []
            for _ in 0..<3 {
                let item = try await kf.run("fetch", url, "--revalidate", "--json").item()
                bodies.append(try Data(contentsOf: URL(fileURLWithPath: try #require(item.path))))
            }
            #expect(bodies == [Data(february), Data(january), Data(january)])
            #expect(
                source.requests.allSatisfy {
                    $0.header("If-None-Match") == nil && $0.header("If-Modified-Since") == nil
                })
            let conditional = (first.requests + second.requests).filter {
                $0.header("If-None-Match") != nil || $0.header("If-Modified-Since") != nil
            }
            #expect(conditional.map(\.path) == ["/january.png"])
        }

        @Test("An image behind a temporary redirect is revalidated")
        func freshness() async throws {
            let server = try FaultServer { [february] request in
                if request.path == "/latest.png" { return [.reply("302 Found", headers: ["Location: /a.png"])] }
                if request.header("If-None-Match") != nil { return [.head("HTTP/1.1 304 Not Modified")] }
                return [.reply(headers: ["ETag: \"1\"", "Cache-Control: max-age=600"], body: february)]
            }
            let fetch = ["fetch", server.url("/latest.png"), "--cache-policy", "http", "--json"]
            #expect(try await kf.run(fetch).item().status == "fetched")
            #expect(try await kf.run(fetch).item().status == "revalidated")
            let explained = try await kf.run("cache", "explain", "--cache-policy", "http", server.url("/latest.png"))
            #expect(explained.output.contains("it came over a redirect, whose target alone gets the conditions"))
        }

        @Test("An image behind a private redirect is not uploaded")
        func privacy() async throws {
            let server = try FaultServer { [february] request in
                request.path.hasSuffix(".png")
                    ? [.reply("302 Found", headers: ["Location: /image", "Cache-Control: private"])]
                    : [.reply(headers: ["Cache-Control: public, max-age=600"], body: february)]
            }
            let folder = kf.home.path("remote")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let urls = ["/a.png", "/b.png"].map { server.url($0) }
            let run = try await kf.run(["fetch", "-v", "--remote", "file://\(folder.path)", "--remote-write"] + urls)
            #expect(run.status == 0, "\(run)")
            for url in urls { #expect(run.errors.contains("\(url) says Cache-Control: private; such images")) }
            #expect(TemporaryDirectory.files(in: folder).isEmpty)
        }
    }
}
