import Foundation
import Glibc
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Partial downloads")
    struct PartialDownloadTests {
        let kf: KFCommand

        init() throws { kf = try KFCommand(in: .disk) }

        /// Sends so much of a body in chunks, then says no more, or leaves.
        private static func chunks(_ bytes: ArraySlice<UInt8>, then last: FaultStep) -> [FaultStep] {
            let size = Array("\(String(bytes.count, radix: 16))\r\n".utf8)
            let head = ["HTTP/1.1 200 OK", "ETag: \"1\"", "Transfer-Encoding: chunked"]
            return [.raw(head, size + bytes), .pause(.milliseconds(50)), last]
        }

        /// A server whose answers all break off.
        private func server(_ bytes: [UInt8], at end: Int) throws -> FaultServer {
            try FaultServer { _ in
                let head = ["HTTP/1.1 200 OK", "ETag: \"1\"", "Content-Length: \(bytes.count)"]
                return [.raw(head, bytes[..<end]), .pause(.milliseconds(50)), .close]
            }
        }

        private func stat() async throws -> [String: Any] {
            try #require(try await kf.run("cache", "stat", "--json").objects().first)
        }

        @Test("A body refused as too large leaves no files")
        func tooLarge() async throws {
            let body = try ResumeTests.large()
            let chunked = try FaultServer { _ in Self.chunks(body[...], then: .hold) }
            let result = try await kf.run("fetch", chunked.url("/a.png"), "--max-bytes", "1M", "--retry", "0")
            #expect(result.status == 1 && result.errors.contains("larger than"), "\(result)")
            #expect(kf.leftovers().isEmpty)
        }

        @Test("A broken download that is not an image leaves no files")
        func notAnImage() async throws {
            let page = Array("<!doctype html>".utf8) + [UInt8](repeating: 0x20, count: 2 << 20)
            let server = try server(page, at: 1_500_000)
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            #expect(kf.leftovers().isEmpty)
        }

        @Test("A 404 or 410 removes the partial download", arguments: ["404 Not Found", "410 Gone"])
        func gone(_ status: String) async throws {
            let body = try ResumeTests.large()
            let server = try FaultServer.answering(first: FaultStep.cut(body, "ETag: \"1\"")) { _ in [.reply(status)] }
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            #expect(kf.leftovers().count == 2)
            #expect(try await kf.run("fetch", server.url("/a.png"), "--retry", "0").status == 1)
            #expect(kf.leftovers().isEmpty)
            #expect(server.requests.count == 2)
        }

        @Test("A body above the cache limit loses its file name")
        func outgrown() async throws {
            let body = try ResumeTests.large()
            let sent = Atomic(0)
            let server = try FaultServer { _ in
                sent.store(1, ordering: .relaxed)
                return Self.chunks(body[..<1_900_000], then: .hold)
            }
            let running = try kf.start(["fetch", server.url("/a.png"), "--max-size", "1M"])
            // The file is there at first, and goes when the body passes the limit.
            #expect(await eventually { sent.load(ordering: .relaxed) == 1 && isAnonymous(running) })
            #expect(kf.leftovers().isEmpty)
            running.signal(SIGKILL)
            _ = try await running.wait()
            #expect(kf.leftovers().isEmpty)
        }

        /// Whether the process writes to a file of the cache that has no name.
        private func isAnonymous(_ running: RunningCommand) -> Bool {
            running.openFiles.contains { $0.contains("/partial/") && $0.hasSuffix(" (deleted)") }
        }

        @Test("A body above the cache limit is delivered but not kept")
        func announced() async throws {
            let body = try ResumeTests.large()
            let broken = try server(body, at: 1_500_000)
            #expect(try await kf.run("fetch", broken.url("/a.png"), "--retry", "0", "--max-size", "1M").status == 1)
            #expect(kf.leftovers().isEmpty)
            let whole = try FaultServer { _ in [.reply(headers: ["ETag: \"1\""], body: body)] }
            let result = try await kf.run("fetch", whole.url("/a.png"), "--max-size", "1M", "-o", "a.png")
            #expect(result.errors.contains("larger than the limit of the whole cache"), "\(result)")
            #expect(try kf.contents("a.png") == Data(body))
            #expect(kf.leftovers().isEmpty && kf.cachedObjects().isEmpty)
        }

        @Test("Partial downloads stay below the cache limit")
        func limit() async throws {
            let body = try ResumeTests.large()
            let server = try server(body, at: 1_500_000)
            for number in 0..<6 {
                let url = server.url("/\(number).png")
                #expect(try await kf.run("fetch", url, "--retry", "0", "--max-size", "6M").status == 1)
                #expect((try await stat())["partial_bytes"] as? Int ?? .max <= 6_000_000)
            }
            #expect(kf.leftovers().contains { !$0.hasSuffix(".facts") })
            // The last one can be continued.
            _ = try await kf.run("fetch", server.url("/5.png"), "--retry", "0", "--max-size", "6M")
            #expect(server.requests.last?.header("Range") == "bytes=1500000-")
        }

        @Test("The cache commands count and remove partial downloads")
        func commands() async throws {
            let body = try ResumeTests.large()
            let server = try server(body, at: 1_500_000)
            func breakOff(_ path: String) async throws {
                #expect(try await kf.run("fetch", server.url(path), "--retry", "0").status == 1)
            }
            try await breakOff("/a.png")
            try await breakOff("/b.png")
            let figures = try await stat()
            #expect(figures["partials"] as? Int == 2 && figures["partial_bytes"] as? Int == 3_000_000, "\(figures)")
            let text = try await kf.run("cache", "stat", "--max-size", "6M")
            #expect(text.output.contains(/partial +2 partial downloads, 2.86 MiB\n/), "\(text)")
            #expect(text.output.contains(/limit +6 MiB, 48 % full/), "\(text)")
            #expect(try await kf.run("cache", "stat", "-q").output.contains("; 2 partial downloads, 2.86 MiB"))

            let url = server.url("/a.png")
            for (option, verb) in [(["--dry-run"], "would remove"), ([], "removed")] {
                let result = try await kf.run(["cache", "rm", url] + option)
                #expect(result.status == 0, "\(result)")
                #expect(result.output == "\(verb) 0 entries, 0 B and 1 partial download, 1.43 MiB\n")
            }
            #expect(try await kf.run("cache", "rm", url).status == 1)

            #expect(try await kf.run("cache", "clean").output == "removed 0 entries, 0 B\n")
            for name in kf.leftovers() {
                var times = [timespec](repeating: timespec(tv_sec: time(nil) - 90_000, tv_nsec: 0), count: 2)
                let path = kf.cacheDirectory.appendingPathComponent(name).path
                #expect(utimensat(AT_FDCWD, path, &times, 0) == 0)
            }
            let cleaned = try await kf.run("cache", "clean")
            #expect(cleaned.output == "removed 0 entries, 0 B and 1 partial download, 1.43 MiB\n", "\(cleaned)")
            #expect(kf.leftovers().isEmpty)

            try await breakOff("/c.png")
            let small = try await kf.run("cache", "clean", "--max-size", "1M", "--json")
            #expect(try #require(small.objects().last)["partials"] as? Int == 1, "\(small)")
            #expect(kf.leftovers().isEmpty)

            try await breakOff("/d.png")
            let all = try await kf.run("cache", "clean", "--all", "--yes", "--json")
            let summary = try #require(all.objects().last)
            #expect(summary["partials"] as? Int == 1 && summary["partial_bytes"] as? Int == 1_500_000, "\(all)")
            #expect(kf.leftovers().isEmpty)
        }
    }
}
