import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Waiting for another download")
    final class HeldFlightTests: CommandSuite {
        let image = Data(FixturesDirectory.image("png/rgb.png"))

        @Test("An image waiting for its rate can be fetched by others")
        func rate() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { _ in [.reply(body: bytes)] }
            let urls = (1...6).map { server.url("/\($0).png") }
            let prefetch = try kf.start(
                ["prefetch", "-", "--rate", "1/s", "--json"], input: Data(urls.map { $0 + "\n" }.joined().utf8))
            #expect(await eventually { !server.requests.isEmpty })
            let fetch = try await kf.run("fetch", urls[5], "-o", "-")
            #expect(fetch.status == 0 && fetch.standardOutput == image && fetch.wall < .seconds(4), "\(fetch)")
            let result = try await prefetch.wait(timeout: .seconds(40))
            #expect(try result.status == 0 && result.items().count == 6, "\(result)")
            #expect(server.requests.filter { $0.path == "/6.png" }.count == 1)
        }

        @Test("An image waiting for Retry-After can be fetched by others")
        func retryAfter() async throws {
            let bytes = [UInt8](image)
            let busy = [FaultStep.reply("503 Service Unavailable", headers: ["Retry-After: 20"], body: [])]
            let server = try FaultServer.answering(first: busy) { _ in [.reply(body: bytes)] }
            let url = server.url("/busy.png")
            let first = try kf.start(["fetch", url, "-o", "-", "-v"])
            #expect(await eventually { first.errorsSoFar.contains("no requests for 20 s (Retry-After)") })
            let second = try await kf.run("fetch", url, "-o", "-")
            #expect(second.status == 0 && second.standardOutput == image && second.wall < .seconds(5), "\(second)")
            let start = ContinuousClock.now
            first.signal(SIGTERM)
            let ended = try await first.wait(timeout: .seconds(20))
            #expect(ended.status == 143 && start.duration(to: .now) < .seconds(4), "\(ended)")
        }

        /// A fetch that has made its request, has no answer, and is stopped.
        private func stopped(_ url: String, _ server: FaultServer) async throws -> RunningCommand {
            let first = try kf.start(["fetch", url, "-o", "-", "--timeout", "60s"])
            #expect(await eventually { !server.requests.isEmpty })
            try await first.stop()
            return first
        }

        private func holdingServer() throws -> FaultServer {
            let bytes = [UInt8](image)
            return try FaultServer.answering(first: [.hold]) { _ in [.reply(body: bytes)] }
        }

        @Test("A fetch waits five seconds for a stopped process")
        func stopped() async throws {
            let server = try holdingServer()
            let url = server.url("/a.png")
            let first = try await stopped(url, server)
            defer { first.signal(SIGKILL) }
            let short = try await kf.run("fetch", url, "-o", "-", "--timeout", "1s", "--store", "none")
            #expect(short.status == 0 && short.wall < .seconds(4), "\(short)")
            let result = try await kf.run("fetch", url, "-o", "-")
            #expect(result.status == 0 && result.standardOutput == image && result.errors == "", "\(result)")
            #expect(result.wall >= .seconds(5) && result.wall < .seconds(15), "\(result)")
            #expect(kf.cachedObjects().count == 1)
        }

        @Test(
            "Time limits and signals end the wait for a stopped process",
            arguments: [
                (["--timeout", "1s"], 0), (["--max-time", "1s"], 0), (["--deadline", "700ms"], 4), ([], 143),
            ] as [([String], Int32)])
        func bounds(options: [String], status: Int32) async throws {
            let server = try holdingServer()
            let url = server.url("/a.png")
            let first = try await stopped(url, server)
            defer { first.signal(SIGKILL) }
            let second = try kf.start(["fetch", url, "-o", "-"] + options)
            if options.isEmpty {
                #expect(await eventually { second.openFiles.contains { $0.hasSuffix("/v1/flights") } })
                second.signal(SIGTERM)
            }
            let result = try await second.wait(timeout: .seconds(20))
            #expect(result.status == status && result.wall < .milliseconds(4500), "\(result)")
            #expect(server.requests.count == (status == 0 ? 2 : 1))
        }

        @Test("A fetch waits for a slow download of another process")
        func alive() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { _ in [.pause(.seconds(8)), .reply(body: bytes)] }
            let url = server.url("/slow.png")
            let running = try (0..<5).map { _ in try kf.start(["fetch", url, "-o", "-"]) }
            for command in running {
                let result = try await command.wait(timeout: .seconds(40))
                #expect(result.status == 0 && result.standardOutput == image && result.errors == "", "\(result)")
            }
            #expect(server.requests.count == 1)
        }
    }
}
