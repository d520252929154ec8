import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Reasons of fetches")
    struct FetchReasonTests {
        private let kf: KFCommand
        private let server: FaultServer
        private let version = Counter()

        private final class Counter: @unchecked Sendable {
            private let lock = NSLock()
            private var number = 1
            var value: Int { lock.withLock { number } }
            func grow() { lock.withLock { number += 1 } }
        }

        init() throws {
            kf = try KFCommand()
            let picture = try FixturesDirectory.bytes("png/rgb.png")
            server = try FaultServer { [version] request in
                if request.path.hasPrefix("/moved") {
                    return [.reply("302 Found", headers: ["Location: \(request.path.dropFirst(6))"], body: [])]
                }
                if request.path == "/gone" { return [.reply("404 Not Found", body: [])] }
                return [.reply(headers: ["ETag: \"\(version.value)\""], body: picture)]
            }
        }

        private func fetched(_ url: String, _ options: String...) async throws -> [String: Any] {
            try #require(try await kf.run(["fetch", url, "--retry", "0", "--json"] + options).objects().first)
        }

        private func removal(of url: String) async throws -> String? {
            let explained = try await kf.run("cache", "explain", url, "--json").objects().first
            return (explained?["removal"] as? [String: Any])?["reason"] as? String
        }

        @Test("A fetched image says why it was fetched")
        func reasons() async throws {
            let url = server.url("/a.png")
            let first = try await fetched(url, "--expire", "1ms")
            #expect(first["fetch_reason"] as? String == "new" && first["removed_at"] == nil, "\(first)")
            #expect(try await removal(of: url) == nil)
            version.grow()
            #expect(try await fetched(url)["fetch_reason"] as? String == "changed")
            #expect(try await fetched(url)["fetch_reason"] is NSNull, "a hit is not fetched")
            #expect(try await fetched(url, "--force-refresh")["fetch_reason"] as? String == "forced")

            for (command, word) in [
                (["clean", "--max-size", "1"], "evicted"), (["rm", url], "removed"),
                (["clean", "--expired"], "expired"),
            ] {
                if word == "expired" { _ = try await kf.run("fetch", url, "--force-refresh", "--expire", "1ms") }
                let removed = try await kf.run(["cache"] + command)
                #expect(removed.status == 0, "\(removed)")
                #expect(try await removal(of: url) == word)
                let again = try await fetched(url)
                let age = (again["removed_at"] as? Double).map { Date.now.timeIntervalSince1970 - $0 }
                #expect(again["fetch_reason"] as? String == word && age.map { (-1...60) ~= $0 } == true, "\(again)")
                #expect(try await removal(of: url) == word, "afterwards too")
            }

            let object = try #require(kf.cachedObjects().first)
            try FileManager.default.removeItem(at: kf.cacheDirectory.appending(path: object))
            #expect(try await fetched(url)["fetch_reason"] as? String == "damaged")
        }

        @Test("A processed image says why it was fetched", arguments: [[], ["--store", "processed"]])
        func processed(options: [String]) async throws {
            let url = server.url("/a.png")
            let options = ["fetch", url, "-p", "resize:10x", "--json"] + options
            _ = try await kf.run(options)
            _ = try await kf.run("cache", "clean", "--max-size", "1")
            let again = try await kf.run(options).objects().first
            #expect(again?["fetch_reason"] as? String == "evicted")
        }

        @Test("A list says why each image was fetched, in words and rows")
        func list() async throws {
            try kf.home.write("list.txt", "\(server.url("/a.png"))\n\(server.url("/moved/b.png"))")
            _ = try await kf.run("prefetch", "list.txt")
            _ = try await kf.run("cache", "clean", "--max-size", "1")
            let run = try await kf.run("prefetch", "list.txt", "-v", "--results", "rows.csv")
            #expect(
                run.errors.contains(#/a.png: fetched \(evicted on 20\d\d-\d\d-\d\dT[0-9:]{8}Z\) \(check: /#), "\(run)")
            #expect(
                run.errors.contains(#/b.png: fetched \(evicted .*\), redirected by .*/moved/b.png to .*/b.png,/#),
                "\(run)")
            let rows = String(decoding: try kf.contents("rows.csv"), as: UTF8.self)
            #expect(rows.split(separator: "\n").dropFirst().allSatisfy { $0.contains(",fetched,evicted,") }, "\(rows)")
        }

        @Test("Redirects and the alternative that answered are named")
        func origin() async throws {
            let moved = try await fetched(server.url("/moved/moved/a.png"))
            #expect(
                moved["redirects"] as? [String]
                    == [server.url("/moved/moved/a.png"), server.url("/moved/a.png")], "\(moved)")
            #expect(moved["alternative"] == nil)
            let (gone, other) = (server.url("/gone"), server.url("/other.png"))
            let found = try await fetched(gone, "--alternative", other)
            #expect(found["alternative"] as? String == other && found["redirects"] == nil, "\(found)")
            let run = try await kf.run("fetch", gone, "--alternative", other, "-v", "--force-refresh", "--retry", "0")
            #expect(run.errors.contains("fetched (forced), from the alternative \(other),"), "\(run)")
        }
    }
}
