import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("kf follows the server under --cache-policy http") struct HTTPCachingTests {
        private let kf: KFCommand
        private let picture: [UInt8]
        private let other: [UInt8]

        init() throws {
            kf = try KFCommand()
            picture = [UInt8](try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/rgb.png")))
            other = [UInt8](try Data(contentsOf: FixturesDirectory.url.appendingPathComponent("png/grey.png")))
        }

        private func reply(_ lines: [String], _ body: [UInt8], status: String = "200 OK") -> [FaultStep] {
            let head = ["HTTP/1.1 \(status)"] + lines + ["Content-Length: \(body.count)", "Connection: close", "", ""]
            return [.send(Array(head.joined(separator: "\r\n").utf8) + body), .close]
        }

        private func fetch(_ url: String, _ options: String...) async throws -> CommandResult {
            try await kf.run(["fetch", "--cache-policy", "http", "--retry", "0", url] + options)
        }

        @Test("A 404 with freshness is reported again without a request, until --force-refresh or --retry-failed asks")
        func remembered() async throws {
            let server = try FaultServer { _ in reply(["Cache-Control: max-age=600"], [], status: "404 Not Found") }
            let url = server.url("/gone.png")
            #expect(try await fetch(url).errors == "kf: \(url): response 404 Not Found [2002]\n")
            let again = try await fetch(url)
            #expect(again.status == 1)
            let text = try #require(
                again.errors.wholeMatch(
                    of:
                        /kf: (.*): response 404 Not Found, remembered for another (\d+)m; use --retry-failed to ask again \[2002\]\n/
                ))
            #expect(text.1 == url)
            #expect((9...10).contains(Int(text.2) ?? 0))
            #expect(server.requests.count == 1)
            let item = try #require(try await fetch(url, "--json").objects().first)
            #expect(item["http_status"] as? Int == 404 && item["attempts"] as? Int == 0)

            let stat = try await kf.run("cache", "stat")
            #expect(stat.output.contains("1 (0 originals, 0 processed, 1 answer without an image)"))
            #expect(try await kf.run("cache", "ls").output.hasSuffix("\(url)@no-image (response 404)\n"))
            let row = try #require(try await kf.run("cache", "ls", "--json").objects().first)
            #expect(row["http_status"] as? Int == 404 && row["format"] is NSNull && row["path"] is NSNull)
            let explained = try await kf.run("cache", "explain", "--cache-policy", "http", url).output
            #expect(explained.contains("no image: response 404, expires in"))
            #expect(explained.contains("the next fetch fails: the server's error is cached [2002]"))
            #expect(try await kf.run("cache", "path", "--cache-policy", "http", url).status == 1)
            #expect(try await kf.run("cache", "verify").status == 0)

            #expect(try await fetch(url, "--force-refresh").status == 1)
            #expect(server.requests.count == 2)
            #expect(try await fetch(url, "--retry-failed").status == 1)
            #expect(server.requests.count == 3)
            #expect(try await kf.run("cache", "rm", url).output == "removed 1 entry, 0 B\n")
            #expect(try await fetch(url).status == 1)
            #expect(server.requests.count == 4)
        }

        @Test("A prefetch reports a remembered answer as a failure, without a request")
        func prefetched() async throws {
            let server = try FaultServer { _ in reply(["Cache-Control: max-age=600"], [], status: "410 Gone") }
            let list = Data((0..<3).map { server.url("/\($0).png\n") }.joined().utf8)
            for _ in 0..<2 {
                let run = try await kf.run("prefetch", "--cache-policy", "http", "--json", input: list)
                #expect(run.status == 1)
                #expect(try run.items().allSatisfy { $0.status == "failed" && $0.error?.code == 2002 })
            }
            #expect(server.requests.count == 3)
        }

        @Test("Two languages of one URL are kept, found, listed and removed")
        func languages() async throws {
            let server = try FaultServer { [picture, other] request in
                let isGerman = request.header("Accept-Language")?.contains("de") == true
                return reply(lines, isGerman ? picture : other)
            }
            let url = server.url("/a.png")
            var paths: [String] = []
            for language in ["de, fr", "en", "fr,DE", "en"] {
                let result = try await fetch(url, "-H", "Accept-Language: \(language)")
                #expect(result.status == 0)
                paths.append(result.output)
            }
            #expect(server.requests.count == 2)
            #expect(paths[0] == paths[2] && paths[1] == paths[3] && paths[0] != paths[1])
            for (language, path) in [("de,fr", paths[0]), ("en", paths[1])] {
                let header = ["--cache-policy", "http", "-H", "Accept-Language: \(language)", url]
                #expect(try await kf.run(["cache", "path"] + header).output == path)
                #expect(try await kf.run(["cache", "explain"] + header).output.contains("is served from the disk"))
            }
            let small = try await fetch(url, "-H", "Accept-Language: en", "-p", "resize:4x4")
            #expect(small.status == 0 && server.requests.count == 2)
            let names = try await kf.run("cache", "ls").output
            #expect(names.matches(of: /@vary=[0-9a-f]{16}\|>resize:4x4,none\n/).count == 1)
            #expect(names.matches(of: /\n/).count == 3)
            #expect(
                try await kf.run("cache", "rm", "--dry-run", "--processor", "resize:4x4").output.contains("1 entry"))
            #expect(try await kf.run("cache", "verify").status == 0)
            #expect(try await kf.run("cache", "rm", url).output.hasPrefix("removed 3 entries"))
        }

        private let lines = ["Cache-Control: max-age=600", "Vary: Accept-Language"]

        @Test("stale-while-revalidate: the stale path is printed, stays good, and the next fetch has the new image")
        func staleWhileRevalidate() async throws {
            let count = Atomic(0)
            let server = try FaultServer { [picture, other] _ in
                let isFirst = count.add(1, ordering: .relaxed).oldValue == 0
                let control = isFirst ? "max-age=0, stale-while-revalidate=600" : "max-age=600"
                return reply(["Cache-Control: \(control)"], isFirst ? picture : other)
            }
            let first = try await fetch(server.url("/a.png"))
            let stale = try await fetch(server.url("/a.png"), "-v")
            #expect(stale.output == first.output)
            #expect(stale.errors.contains("stale"))
            let path = String(stale.output.dropLast())
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(picture))
            #expect(server.requests.count == 2)
            let next = try await fetch(server.url("/a.png"), "-o", "next.png")
            #expect(next.status == 0 && server.requests.count == 2)
            #expect(try Data(contentsOf: kf.home.path("next.png")) == Data(other))
        }

        @Test("stale-while-revalidate: a server that does not answer costs --timeout at most, and no failure")
        func staleAndSilent() async throws {
            let count = Atomic(0)
            let server = try FaultServer { [picture] _ in
                guard count.add(1, ordering: .relaxed).oldValue == 0 else { return [.hold] }
                return reply(["Cache-Control: max-age=0, stale-while-revalidate=600"], picture)
            }
            let first = try await fetch(server.url("/a.png"))
            let start = ContinuousClock.now
            let stale = try await fetch(server.url("/a.png"), "--timeout", "300ms")
            #expect(stale.status == 0 && stale.output == first.output && stale.errors.isEmpty)
            #expect(ContinuousClock.now - start < .seconds(30))
        }

        @Test(
            "An image with any 2xx is taken; under the plain policy 200 and 203 alone are", arguments: [201, 202, 299])
        func success(_ status: Int) async throws {
            let server = try FaultServer { [picture] _ in
                reply(["Cache-Control: max-age=600"], picture, status: "\(status) Whatever")
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            for _ in 0..<2 { #expect(try await fetch(server.url("/a.png")).status == 0) }
            #expect(server.requests.count == 2)
        }

        @Test(
            "An image is stored decoded from gzip and deflate, and as it came under an unknown encoding",
            arguments: ["gzip", "deflate", "rot13", "gzip, but not really"])
        func encoded(_ coding: String) async throws {
            let server = try FaultServer { [picture] _ in
                let body =
                    switch coding {
                    case "gzip": Packed.gzip(picture)
                    case "deflate": Packed.zlib(picture)
                    default: picture
                    }
                return reply(["Content-Encoding: \(coding.split(separator: ",")[0])", "ETag: \"1\""], body)
            }
            let result = try await kf.run("fetch", server.url("/a.png"), "-o", "a.png")
            #expect(result.status == 0, "\(result)")
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(picture))
        }

        @Test("A large encoded body that broke off is not resumed: its bytes are others")
        func encodedAndCut() async throws {
            let body = try ResumeTests.large()
            let packed = Packed.gzip(body)
            let server = try FaultServer { request in
                let head = [
                    "HTTP/1.1 200 OK", "ETag: \"1\"", "Content-Encoding: gzip", "Content-Length: \(packed.count)", "",
                    "",
                ]
                let isFirst = request.index == 0 && request.header("X-Again") == nil
                return [
                    .send(
                        Array(head.joined(separator: "\r\n").utf8)
                            + (isFirst ? packed[..<(packed.count / 2)] : packed[...])),
                    .close,
                ]
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            #expect(kf.leftovers().isEmpty)
            let again = try await kf.run(
                "fetch", server.url("/a.png"), "--retry", "0", "-H", "X-Again: 1", "-o", "a.png")
            #expect(again.status == 0)
            #expect(server.requests.allSatisfy { $0.header("Range") == nil })
            #expect(try Data(contentsOf: kf.home.path("a.png")) == Data(body))
        }
    }
}
