import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    @Suite("Another process wants the same image and does not get on")
    struct HeldFlightTests {
        let kf: KFCommand
        let image: Data

        init() throws {
            kf = try KFCommand()
            image = try FixturesDirectory.named("png/rgb.png").data
        }

        /// Waits for what another process does, 20 s at most.
        private func until(_ condition: () -> Bool) async throws {
            let deadline = ContinuousClock.now + .seconds(20)
            while !condition() {
                try #require(ContinuousClock.now < deadline, "it does not happen")
                try await Task.sleep(for: .milliseconds(2))
            }
        }

        @Test("what waits for its rate in a prefetch is fetched by another at once, and asked for once")
        func rate() async throws {
            let bytes = [UInt8](image)
            let server = try FaultServer { _ in [.reply(body: bytes)] }
            let urls = (1...6).map { server.url("/\($0).png") }
            let prefetch = try kf.start(
                ["prefetch", "-", "--rate", "1/s", "--json"], input: Data(urls.map { $0 + "\n" }.joined().utf8))
            try await until { !server.requests.isEmpty }
            let fetch = try await kf.run("fetch", urls[5], "-o", "-")
            #expect(fetch.status == 0 && fetch.standardOutput == image && fetch.wall < .seconds(4), "\(fetch)")
            let result = try await prefetch.wait(timeout: .seconds(40))
            #expect(try result.status == 0 && result.items().count == 6, "\(result)")
            #expect(server.requests.filter { $0.path == "/6.png" }.count == 1)
        }

        @Test("what rests for a Retry-After is fetched by another at once")
        func retryAfter() async throws {
            let bytes = [UInt8](image)
            let count = Atomic(0)
            let server = try FaultServer { _ in
                count.add(1, ordering: .relaxed).newValue == 1
                    ? [.reply("503 Service Unavailable", headers: ["Retry-After: 20"], body: [])]
                    : [.reply(body: bytes)]
            }
            let url = server.url("/busy.png")
            let first = try kf.start(["fetch", url, "-o", "-", "--retry", "1", "--retry-delay", "10ms"])
            try await until { !server.requests.isEmpty }
            try await Task.sleep(for: .milliseconds(300))
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
            try await until { !server.requests.isEmpty }
            first.signal(SIGSTOP)
            return first
        }

        private func holdingServer() throws -> FaultServer {
            let bytes = [UInt8](image)
            let count = Atomic(0)
            return try FaultServer { _ in
                count.add(1, ordering: .relaxed).newValue == 1 ? [.hold] : [.reply(body: bytes)]
            }
        }

        @Test("a stopped process is waited for five seconds, or as long as the options say, and then left behind")
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
            "--timeout, --max-time, --deadline and a signal end the wait for a stopped process",
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
                try await Task.sleep(for: .milliseconds(1000))
                second.signal(SIGTERM)
            }
            let result = try await second.wait(timeout: .seconds(20))
            #expect(result.status == status && result.wall < .milliseconds(4500), "\(result)")
            #expect(server.requests.count == (status == 0 ? 2 : 1))
        }

        @Test("a process that is alive is waited for longer, and the request is made once")
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
