import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Repeated sources of a run")
    struct RepeatedSourceTests {
        let kf: KFCommand
        private let server: FaultServer

        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            server = try FaultServer { request in
                if request.path.contains("gone") { return [.reply("404 Not Found")] }
                if request.path.hasPrefix("/busy") { return [.reply("503 Service Unavailable")] }
                let tag = "ETag: \"\(request.path)\""
                if request.header("If-None-Match") != nil { return [.reply("304 Not Modified", headers: [tag])] }
                return [.reply(headers: [tag], body: picture)]
            }
        }

        /// The numbers of requests, by path.
        private var requests: [String: Int] { Dictionary(server.requests.map { ($0.path, 1) }, uniquingKeysWith: +) }

        private static let variants = ["--variant", "a=flip:h", "--variant", "b=resize:8x"]

        @Test(
            "A prefetch asks once, whatever comes of it",
            arguments: [
                ("/a.png", []), ("/gone.png", []), ("/gone.png", ["--retry-failed"]), ("/gone.png", variants),
                ("/a.png", ["--min-size", "9999x"]), ("/a.png", ["--max-pixels", "10"]),
                ("/a.png", ["--max-size", "50"]),
                ("/a.png", ["--max-size", "50", "-P", "out"]), ("/a.png", ["--max-size", "50"] + variants),
                ("/a.png", ["--force-refresh"]), ("/a.png", ["--force-refresh"] + variants),
                ("/a.png", ["--store", "none", "-p", "flip:h", "-P", "out"]),
                ("/a.png", ["--expire", "expired", "-P", "out"]),
                ("/a.png", ["--cache-policy", "http"]),
                ("/a.png", ["--hash", "sha256:" + String(repeating: "0", count: 64)]),
            ])
        func prefetch(path: String, options: [String]) async throws {
            // With so few descriptors, 16 items are in flight at once.
            let list = (0..<120).map { server.url($0 % 3 == 2 ? "/other-\(path.dropFirst())" : path) }
            let run = try await kf.run(
                ["prefetch", "-", "--json"] + options, under: "prlimit", "--nofile=128",
                input: Data(list.joined(separator: "\n").utf8))
            let rows = try run.items()
            #expect(rows.count == (options.contains("--variant") ? 240 : 120), "\(run.errors)")
            #expect(Set(rows.map(\.error?.code)).count == 1)
            #expect(requests[path] == 1 && requests.count == 2, "\(requests)")
            #expect(kf.leftovers() == [])
        }

        @Test(
            "A fetch asks once for a source named again",
            arguments: [
                ("/a.png", ["--force-refresh"]), ("/gone.png", []), ("/a.png", ["--max-size", "50", "-P", "out"]),
                ("/a.png", ["--max-pixels", "10"]),
            ])
        func fetch(path: String, options: [String]) async throws {
            let (url, other) = (server.url(path), server.url("/other.png"))
            let run = try await kf.run(["fetch", "-j", "1", "--json", url, other, url, url] + options)
            #expect(try run.items().count == 4)
            #expect(requests == [path: 1, "/other.png": 1])
        }

        @Test("A run revalidates an image once, however often it is named", arguments: ["fetch", "prefetch"])
        func revalidated(command: String) async throws {
            let urls = (0..<3).map { server.url("/\($0).png") }
            _ = try await kf.run(["fetch", "-q"] + urls)
            let named = urls + urls.reversed()
            try kf.home.write("list.txt", named.joined(separator: "\n"))
            let sources = command == "fetch" ? named : ["list.txt"]
            let run = try await kf.run([command, "-j", "1", "--revalidate"] + sources)
            #expect(run.status == 0, "\(run)")
            #expect(server.requests.map(\.path).sorted() == (0..<6).map { "/\($0 / 2).png" })
        }

        @Test("Retries of a failing source are not repeated")
        func retried() async throws {
            let (url, other) = (server.url("/busy.png"), server.url("/other.png"))
            let options = ["-j", "1", "--retry", "1", "--retry-delay", "1ms"]
            let run = try await kf.run(["fetch", "--json", url, other, url] + options)
            #expect(try run.items().map(\.attempts) == [2, 1, 0])
            #expect(requests == ["/busy.png": 2, "/other.png": 1])
        }

        @Test("Repeated sources wait for a retry together")
        func resting() async throws {
            // The other images make room for more lines during the rests.
            let list = Data((0..<120).map { server.url($0 % 8 == 0 ? "/busy.png" : "/\($0).png") + "\n" }.joined().utf8)
            _ = try await kf.run(
                ["prefetch", "-", "-q", "--retry", "2", "--retry-delay", "100ms"], under: "prlimit", "--nofile=128",
                input: list)
            #expect(requests["/busy.png"] == 3 && server.requests.count == 105 + 3)
        }

        @Test("The URLs of a key are asked one by one until one is stored", arguments: ["1", "8"])
        func oneKey(jobs: String) async throws {
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            let server = try FaultServer.answering(first: [.reply("404 Not Found")]) { _ in
                [.pause(.milliseconds(100)), .reply(body: picture)]
            }
            let list = (0..<40).map { server.url("/a.png?sig=\($0)") }.joined(separator: "\n")
            let run = try await kf.run(
                ["prefetch", "-", "-j", jobs, "--key-ignore", "*", "--json"], input: Data(list.utf8))
            #expect(try run.items().count { $0.status == "failed" } == 1, "\(run)")
            #expect(server.requests.count == 2, "\(run)")
            #expect(try run.items().reduce(0) { $0 + ($1.attempts ?? 0) } == 2, "\(run)")
        }

        @Test("The failure of a source is none of another one with its key")
        func named() async throws {
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            let server = try FaultServer.answering(first: [.reply("404 Not Found")]) { _ in [.reply(body: picture)] }
            let list =
                #"{"url": "\#(server.url("/b.png"))", "key": "k"}\#n{"url": "\#(server.url("/a.png"))", "key": "k"}"#
            let run = try await kf.run(
                ["prefetch", "-", "-j", "1", "-q", "--key-column", "key"], input: Data(list.utf8))
            #expect(run.status == 1)
            #expect(Set(server.requests.map(\.path)) == ["/a.png", "/b.png"], "\(run)")
        }
    }
}
