import Foundation
import Support
import Synchronization
import Testing

extension EndToEnd {
    /// The bounds are numbers of requests: a loaded machine makes a run slower and no less polite.
    @Suite("Hosts that fail, are silent, or limit their requests")
    struct HostBehaviourTests {
        let kf: KFCommand
        let png = FixturesDirectory.image("png/one-pixel.png")

        init() throws { kf = try KFCommand() }

        private func prefetch(_ urls: [String], _ options: String...) async throws -> (CommandResult, [ItemReport]) {
            let result = try await kf.run(
                ["prefetch", "-", "--json"] + options, input: Data(urls.joined(separator: "\n").utf8))
            return (result, try result.items())
        }

        @Test("A failing host gets few requests, and the others are no attempts")
        func failing() async throws {
            let server = try FaultServer { _ in [.reply("500 Internal Server Error")] }
            let (result, items) = try await prefetch((0..<3000).map { server.url("/\($0).png") })
            #expect(result.status == 1 && items.count == 3000)
            #expect(server.requests.count <= 20, "\(server.requests.count) requests")
            #expect(items.count { $0.error?.code == 2010 && $0.attempts == 0 } >= 2980)
            #expect(items.reduce(0) { $0 + ($1.attempts ?? 0) } == server.requests.count)
        }

        @Test("A silent host gets few requests")
        func silent() async throws {
            let server = try FaultServer { _ in [.hold] }
            let (result, items) = try await prefetch((0..<200).map { server.url("/\($0).png") }, "--timeout", "1s")
            #expect(result.status == 1 && items.count == 200)
            #expect(server.requests.count <= 20, "\(server.requests.count) requests")
        }

        @Test("The failures of a redirect's target cost no other image")
        func redirected() async throws {
            let dead = try FaultServer.lastingPort()
            let server = try FaultServer { [png] request in
                request.path.hasPrefix("/away")
                    ? [.reply("302 Found", headers: ["Location: http://127.0.0.1:\(dead)\(request.path)"], body: [])]
                    : [.reply(body: png)]
            }
            let urls = (0..<700).map { server.url("/away\($0).png") } + (0..<500).map { server.url("/\($0).png") }
            let (result, items) = try await prefetch(urls, "--retry", "0")
            #expect(items.count { $0.status == "fetched" } == 500, "\(result)")
            #expect(items.count { $0.status == "failed" } == 700)
            #expect(server.requests.count == 1200)
        }

        @Test("A limited host loses no image", arguments: [nil, 1])
        func limited(retryAfter: Int?) async throws {
            let limit = RequestLimit(rate: 50, burst: 20)
            let server = try FaultServer { [png] _ in
                if limit.allows() { return [.reply(headers: ["Connection: keep-alive"], body: png)] }
                return [.reply("429 Too Many Requests", headers: retryAfter.map { ["Retry-After: \($0)"] } ?? [])]
            }
            let (result, items) = try await prefetch((0..<500).map { server.url("/\($0).png") })
            #expect(result.status == 0 && items.count { $0.status == "fetched" } == 500, "\(result.errors)")
            #expect(server.requests.count <= 650, "\(server.requests.count) requests")
            #expect(items.reduce(0) { $0 + ($1.attempts ?? 0) } == server.requests.count)
        }

        @Test("A refusal for a limit uses no retry", arguments: ["429", "503"])
        func noRetry(status: String) async throws {
            let busy = [FaultStep.reply("\(status) Wait", headers: ["Retry-After: 1"])]
            let server = try FaultServer.answering(first: busy) { [png] _ in [.reply(body: png)] }
            let item = try await kf.run("fetch", "--json", "--retry", "0", server.url("/a.png")).item()
            #expect(item.status == "fetched" && item.attempts == 2, "\(item)")
        }

        @Test(
            "A Retry-After that is too long fails at once, and is not retried",
            arguments: ["429", "503"], [["--max-time", "5s"], []])
        func tooLong(status: String, options: [String]) async throws {
            let seconds = options.isEmpty ? 3600 : 20
            let server = try FaultServer { _ in [.reply("\(status) Wait", headers: ["Retry-After: \(seconds)"])] }
            let result = try await kf.run(["fetch", "--json", server.url("/a.png")] + options)
            let item = try result.item()
            #expect(item.httpStatus == Int(status) && item.attempts == 1 && server.requests.count == 1, "\(item)")
            #expect(!result.errors.contains("waiting"), "\(result)")
        }

        @Test("A stale image that may serve does not wait long for a limit")
        func stale() async throws {
            let isLimited = Mutex(false)
            let server = try FaultServer { [png] _ in
                isLimited.withLock { $0 }
                    ? [.reply("429 Wait", headers: ["Retry-After: 120"])] : [.reply(body: png)]
            }
            _ = try await kf.run("fetch", server.url("/a.png"), "--expire", "1ms")
            isLimited.withLock { $0 = true }
            let item = try await kf.run("fetch", "--json", "--stale-if-error", "1d", server.url("/a.png")).item()
            #expect(item.status == "stale" && server.requests.count == 2, "\(item)")
        }

        @Test("Stale images that may serve do not wait behind each other for a limit")
        func staleList() async throws {
            let isLimited = Mutex(false)
            let server = try FaultServer { [png] _ in
                isLimited.withLock { $0 }
                    ? [.reply("429 Wait", headers: ["Retry-After: 120"])] : [.reply(body: png)]
            }
            let urls = (0..<20).map { server.url("/\($0).png") }
            _ = try await prefetch(urls, "--expire", "1ms")
            isLimited.withLock { $0 = true }
            let (result, items) = try await prefetch(urls, "--stale-if-error", "1d")
            #expect(result.status == 0 && items.count { $0.status == "stale" } == 20, "\(result)")
            #expect(server.requests.count <= 28 && !result.errors.contains("waiting"), "\(result)")
        }

        @Test(
            "A mirror that limits its requests is passed over",
            arguments: [
                ("429 Wait", "Retry-After: 120"), ("503 Wait", "Retry-After: 120"),
                ("200 OK", "RateLimit: \"a\";r=0;t=120"),
            ])
        func limitedMirror(status: String, header: String) async throws {
            let source = try FaultServer { [png] _ in [.reply(body: png)] }
            let mirror = try FaultServer { [png] _ in
                [.reply(status, headers: [header, "Connection: keep-alive"], body: status == "200 OK" ? png : [])]
            }
            let (result, items) = try await prefetch(
                (0..<100).map { source.url("/\($0).png") }, "--mirror", "\(source.url("/"))=\(mirror.url("/"))")
            #expect(result.status == 0 && items.count { $0.status == "fetched" } == 100, "\(result.errors)")
            let served = status == "200 OK" ? mirror.requests.count : 0
            #expect(source.requests.count == 100 - served)
            #expect(mirror.requests.count <= 10, "\(mirror.requests.count) requests")
        }

        @Test("A host with a quota that is used up rests until it is renewed")
        func quota() async throws {
            let count = Mutex(0)
            let server = try FaultServer { [png] _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return [.reply(headers: ["RateLimit: \"a\";r=\(max(0, 5 - number));t=2"], body: png)]
            }
            let result = try await kf.run(
                ["fetch", "-q", "-v", "-j", "1"] + (0..<8).map { server.url("/\($0).png") })
            #expect(result.status == 0 && result.errors.contains("no requests for 2 s (RateLimit)"), "\(result)")
        }

        @Test("A long wait is said once for each host", arguments: [[], ["-q"]])
        func longWait(options: [String]) async throws {
            let busy = [FaultStep.reply("503 Wait", headers: ["Retry-After: 3"])]
            let server = try FaultServer.answering(first: busy) { [png] _ in [.reply(body: png)] }
            let result = try await kf.run(["fetch", server.url("/a.png"), server.url("/b.png")] + options)
            let said = options.isEmpty ? ["kf: waiting 3 s for 127.0.0.1:\(server.port), as it asked"] : []
            #expect(result.status == 0 && result.errorLines.filter { $0.contains("waiting") } == said, "\(result)")
        }

        @Test("A wait is announced for an image that waits, not for one that fails")
        func laterWait() async throws {
            let busy = [FaultStep.reply("429 Wait", headers: ["Retry-After: 3"])]
            let server = try FaultServer.answering(first: busy) { [png] _ in [.reply(body: png)] }
            let urls = ["/a.png", "/b.png"].map { server.url($0) }
            let result = try await kf.run(["fetch", "-j", "1", "--max-time", "2s", "--json"] + urls)
            // Either may be asked first.
            #expect(try result.items().map(\.status).sorted() == ["failed", "fetched"], "\(result)")
            #expect(result.errorLines.count { $0.contains("kf: waiting") } == 1, "\(result)")
        }

        @Test("Four processes share a limited host without losing an image")
        func shards() async throws {
            let limit = RequestLimit(rate: 50, burst: 20)
            let server = try FaultServer { [png] _ in
                limit.allows() ? [.reply(body: png)] : [.reply("429 Too Many Requests")]
            }
            let urls = (0..<200).map { server.url("/\($0).png") }
            let ended = try await withThrowingTaskGroup(of: [ItemReport].self) { group in
                for shard in 0..<4 {
                    group.addTask { try await prefetch(urls, "--shard", "\(shard)/4").1 }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(ended.count { $0.status == "fetched" } == 200)
            #expect(server.requests.count <= 300, "\(server.requests.count) requests")
        }

        @Test("A quick host does not wait behind the lines of a slow one")
        func slowFirst() async throws {
            let gate = Gate()
            let slow = try FaultServer(address: "127.0.1.1") { [png] _ in
                gate.wait()
                return [.reply(body: png)]
            }
            let quick = try FaultServer(address: "127.0.1.2") { [png] _ in [.reply(body: png)] }
            let lines = (0..<5000).map { slow.url("/\($0).png") } + (0..<20).map { quick.url("/\($0).png") }
            let run = try kf.start(
                ["prefetch", "-", "--timeout", "60s", "--grace", "60s"],
                input: Data(lines.joined(separator: "\n").utf8))
            // The slow one has not answered a single request.
            #expect(await eventually { quick.requests.count == 20 } && slow.requests.count == 2)
            run.signal(SIGTERM)
            // Images of the quick one may still be on their way.
            #expect(await eventually { run.errorsSoFar.contains("terminated, finishing ") }, "\(run.errorsSoFar)")
            gate.open()
            let result = try await run.wait(timeout: .seconds(40))
            #expect(result.errors.contains("22 fetched") && result.errors.contains("4998 not tried"), "\(result)")
        }

        @Test("A host can have a rate of its own")
        func rate() async throws {
            let server = try FaultServer(address: "0.0.0.0") { [png] _ in [.reply(body: png)] }
            let urls = { (host: String, count: Int) in
                (0..<count).map { "http://\(host):\(server.port)/\($0).png" }
            }
            let own = "127.0.0.2:\(server.port)=10/s"
            let start = ContinuousClock.now
            let all = urls("127.0.0.2", 15) + urls("127.0.0.1", 3)
            let (result, items) = try await prefetch(all, "--rate", "100/s", "--rate", own)
            #expect(result.status == 0 && items.count == 18, "\(result)")
            // 15 starts at 10 a second take 14 spans.
            #expect(start.duration(to: .now) >= .milliseconds(1400))
            let hosts = server.requests.map { $0.header("Host") ?? "" }
            let last = hosts.lastIndex { $0.hasPrefix("127.0.0.1:") } ?? 0
            #expect(hosts[last...].count { $0.hasPrefix("127.0.0.2:") } >= 5, "the other host does not wait")
            for wrong in ["=5/s", "h=", "h=x/s", "http://h/=5/s", "5/s,", "h=0/s", "*.h=5/s", "::1=5/s"] {
                let refused = try await kf.run("fetch", server.url("/a.png"), "--rate", wrong)
                #expect(refused.status == 2 && refused.errors.contains("--rate takes"), "\(refused)")
            }
        }

        @Test(
            "The host of a rate is read as URLs are",
            arguments: [
                ("bücher.example", "bücher.example"), ("BÜCHER.example:80", "bücher.example"),
                ("xn--bcher-kva.example", "bücher.example"), ("127.1", "127.0.0.1"), ("127.0.0.1:80", "127.1"),
                ("[0:0::1]", "[::1]"), ("h.example.", "h.example"), ("h.example", "h.example."),
            ])
        func rateHost(name: String, host: String) async throws {
            let proxy = try FaultServer { [png] _ in [.reply(body: png)] }
            let start = ContinuousClock.now
            let (result, items) = try await prefetch(
                (0..<8).map { "http://\(host)/\($0).png" }, "--rate", "\(name)=10/s", "--proxy", proxy.url("/"))
            #expect(result.status == 0 && items.count { $0.status == "fetched" } == 8, "\(result)")
            #expect(start.duration(to: .now) >= .milliseconds(700))
        }
    }
}

/// nginx's `limit_req` with `nodelay`.
private final class RequestLimit: Sendable {
    private let rate: Double
    private let burst: Double
    private let state = Mutex<(excess: Double, last: ContinuousClock.Instant?)>((0, nil))

    init(rate: Double, burst: Double) { (self.rate, self.burst) = (rate, burst) }

    func allows() -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            let next = state.last.map { max(0, state.excess - rate * ($0.duration(to: now) / .seconds(1)) + 1) } ?? 0
            if next > burst { return false }
            state = (next, now)
            return true
        }
    }
}
