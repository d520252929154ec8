import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("HTTP caching") final class HTTPCachingTests: CommandSuite {
        private let picture = FixturesDirectory.image("png/rgb.png")
        private let other = FixturesDirectory.image("png/grey.png")

        private static func reply(_ lines: [String], _ body: [UInt8], status: String = "200 OK") -> [FaultStep] {
            [
                .raw(["HTTP/1.1 \(status)"] + lines + ["Content-Length: \(body.count)", "Connection: close"], body),
                .close,
            ]
        }

        private func fetch(_ url: String, _ options: String...) async throws -> CommandResult {
            try await kf.run(["fetch", "--cache-policy", "http", "--retry", "0", url] + options)
        }

        @Test("A fresh 404 is reported again without a request")
        func remembered() async throws {
            let server = try FaultServer { _ in Self.reply(["Cache-Control: max-age=600"], [], status: "404 Not Found")
            }
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

            let explained = try await kf.run("cache", "explain", "--cache-policy", "http", url).output
            #expect(explained.contains("no image: response 404, expires in"))
            #expect(explained.contains("the next fetch fails: the server's error is cached [2002]"))
            #expect(try await kf.run("cache", "path", "--cache-policy", "http", url).status == 1)
            #expect(try await fetch(url, "--force-refresh").status == 1)
            #expect(server.requests.count == 2)
            #expect(try await fetch(url, "--retry-failed").status == 1)
            #expect(server.requests.count == 3)
        }

        @Test("Validators and headers go out with the bytes that came")
        func otherBytes() async throws {
            let tag = Array("\"a".utf8) + [0xe9, 0x22]
            let server = try FaultServer { [picture] request in
                // The helper reads such a byte as U+FFFD.
                if request.header("If-None-Match") == "\"a\u{fffd}\"" { return [.head("HTTP/1.1 304 Not Modified")] }
                let head = "HTTP/1.1 200 OK\r\nContent-Length: \(picture.count)\r\nETag: "
                return [.send(Array(head.utf8) + tag + Array("\r\n\r\n".utf8) + picture)]
            }
            let url = server.url("/a.png")
            #expect(try await fetch(url).status == 0)
            let second = try await kf.shell("\"$1\" fetch --json --revalidate -H $'X-A: \\xe9' \"$2\"", url)
            #expect(second.status == 0 && server.requests.last?.header("X-A") == "\u{fffd}", "\(second)")
            #expect(try await fetch(url, "--revalidate", "--json").item().status == "revalidated")
            #expect(
                try await kf.run("cache", "ls", "--json").objects().allSatisfy { $0["etag"] as? String == "\"a%E9\"" })
        }

        @Test("A prefetch reports a remembered failure without a request")
        func prefetched() async throws {
            let server = try FaultServer { _ in Self.reply(["Cache-Control: max-age=600"], [], status: "410 Gone") }
            let list = Data((0..<3).map { server.url("/\($0).png\n") }.joined().utf8)
            for _ in 0..<2 {
                let run = try await kf.run("prefetch", "--cache-policy", "http", "--json", input: list)
                #expect(run.status == 1)
                #expect(try run.items().allSatisfy { $0.status == "failed" && $0.error?.code == 2002 })
            }
            #expect(server.requests.count == 3)
        }

        @Test("Two languages of one URL are cached separately")
        func languages() async throws {
            let server = try FaultServer { [picture, other] request in
                let isGerman = request.header("Accept-Language")?.contains("de") == true
                return Self.reply(Self.lines, isGerman ? picture : other)
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

        private static let lines = ["Cache-Control: max-age=600", "Vary: Accept-Language"]

        @Test("A stale image is served while a new one is stored")
        func staleWhileRevalidate() async throws {
            let stale = Self.reply(["Cache-Control: max-age=0, stale-while-revalidate=600"], picture)
            let server = try FaultServer.answering(first: stale) { [other] _ in
                Self.reply(["Cache-Control: max-age=600"], other)
            }
            let first = try await fetch(server.url("/a.png"))
            let second = try await fetch(server.url("/a.png"), "-v")
            #expect(second.output == first.output && second.errors.contains("stale"))
            let path = String(second.output.dropLast())
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(picture))
            #expect(server.requests.count == 2)
            let next = try await fetch(server.url("/a.png"), "-o", "next.png")
            #expect(next.status == 0 && server.requests.count == 2)
            #expect(try kf.contents("next.png") == Data(other))
        }

        @Test("A silent server does not fail a stale hit")
        func staleAndSilent() async throws {
            let expired = Self.reply(["Cache-Control: max-age=0, stale-while-revalidate=600"], picture)
            let server = try FaultServer.answering(first: expired) { _ in [.hold] }
            let first = try await fetch(server.url("/a.png"))
            let start = ContinuousClock.now
            let stale = try await fetch(server.url("/a.png"), "--timeout", "300ms")
            #expect(stale.status == 0 && stale.output == first.output && stale.errors.isEmpty)
            #expect(ContinuousClock.now - start < .seconds(30))
        }

        @Test("An image with any 2xx status is accepted", arguments: [201, 202, 299])
        func success(_ status: Int) async throws {
            let server = try FaultServer { [picture] _ in
                Self.reply(["Cache-Control: max-age=600"], picture, status: "\(status) Whatever")
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            for _ in 0..<2 { #expect(try await fetch(server.url("/a.png")).status == 0) }
            #expect(server.requests.count == 2)
        }

        @Test(
            "A compressed image is stored decoded",
            arguments: ["gzip", "deflate", "rot13", "gzip, but not really"])
        func encoded(_ coding: String) async throws {
            let server = try FaultServer { [picture] _ in
                let body =
                    switch coding {
                    case "gzip": Packed.gzip(picture)
                    case "deflate": Packed.zlib(picture)
                    default: picture
                    }
                return Self.reply(["Content-Encoding: \(coding.split(separator: ",")[0])", "ETag: \"1\""], body)
            }
            let result = try await kf.run("fetch", server.url("/a.png"), "-o", "a.png")
            #expect(result.status == 0, "\(result)")
            #expect(try kf.contents("a.png") == Data(picture))
        }

        @Test("A compressed body that broke off is not resumed")
        func encodedAndCut() async throws {
            let body = try ResumeTests.large()
            let packed = Packed.gzip(body)
            let server = try FaultServer { request in
                let isFirst = request.index == 0 && request.header("X-Again") == nil
                let end = isFirst ? packed.count / 2 : packed.count
                return FaultStep.cut(packed, at: end, "ETag: \"1\"", "Content-Encoding: gzip")
            }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            #expect(kf.leftovers().isEmpty)
            let again = try await kf.run(
                "fetch", server.url("/a.png"), "--retry", "0", "-H", "X-Again: 1", "-o", "a.png")
            #expect(again.status == 0)
            #expect(server.requests.allSatisfy { $0.header("Range") == nil })
            #expect(try kf.contents("a.png") == Data(body))
        }
    }
}
