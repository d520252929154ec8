import Glibc
import KFNetwork
import Support
import Testing

@Suite("Time limits", .bounded)
struct TimeoutTests {
    private let short = Duration.milliseconds(200)

    @Test func serverThatNeverAnswersStalls() async throws {
        let fetched = try await fetch(from: .hold) { $0.options.timeout = short }
        guard case .stalled(let host, short) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(fetched.error?.message == "\(host) sent less than 1 KiB in 0.2 s")
        #expect(fetched.error?.isRetryable == true)
    }

    @Test func slowDripStalls() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 1000"),
            .drip(.init(repeating: 1, count: 1000), every: .milliseconds(20))
        ) { $0.options.timeout = short }
        guard case .stalled = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
    }

    @Test func burstThenSilenceStalls() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 2000000"), .send(.init(repeating: 1, count: 1_000_000)),
            .hold
        ) { $0.options.timeout = short }
        guard case .stalled = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(fetched.sink.byteCount == 1_000_000)
    }

    @Test func slowButSteadyBodyOutlivesItsTimeout() async throws {
        let piece = FaultStep.send(.init(repeating: 1, count: 2048))
        var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(2048 * 12)")]
        for _ in 0..<12 { steps += [.pause(.milliseconds(200)), piece] }
        let server = try FaultServer { [steps] _ in steps }
        let fetched = await fetch(server.url()) { $0.options.timeout = .seconds(2) }
        #expect(fetched.sink.byteCount == 2048 * 12)
        #expect(fetched.error == nil)
    }

    /// The span between two bursts is longer than half the timeout: each counts from its own arrival.
    @Test func rareBurstsOutliveTheTimeout() async throws {
        var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(3000 * 4)")]
        for _ in 0..<4 { steps += [.pause(.milliseconds(1200)), .send(.init(repeating: 1, count: 3000))] }
        let server = try FaultServer { [steps] _ in steps }
        let fetched = await fetch(server.url()) { $0.options.timeout = .seconds(2) }
        #expect(fetched.sink.byteCount == 3000 * 4)
        #expect(fetched.error == nil)
    }

    @Test func sinkThatHoldsUpTheLoopEndsNoOtherTransfer() async throws {
        let piece = FaultStep.send(.init(repeating: 1, count: 2048))
        let server = try FaultServer { request in
            if request.path == "/held" { return [.pause(.milliseconds(100)), .reply()] }
            var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(2048 * 12)")]
            for _ in 0..<12 { steps += [.pause(.milliseconds(150)), piece] }
            return steps
        }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        let steady = Task {
            await fetch(server.url("/steady"), engine: engine) { $0.options.timeout = .seconds(2) }
        }
        // Longer than the other's timeout.
        let sink = CollectingSink { usleep(2_200_000) }
        #expect(await fetch(server.url("/held"), sink: sink, engine: engine).error == nil)
        #expect(await steady.value.error == nil)
    }

    @Test func maxTimeEndsEvenASteadyBody() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 1000"),
            .drip(.init(repeating: 1, count: 1000), every: .milliseconds(20))
        ) { $0.options.maxTime = short }
        #expect(fetched.error == .maxTimeExceeded(short))
    }

    @Test func maxTimeSpansRedirects() async throws {
        let server = try FaultServer { _ in
            [.pause(.milliseconds(50)), .reply("302 Found", headers: ["Location: /again"], body: [])]
        }
        let fetched = await fetch(server.url()) {
            $0.options.maxTime = short
            $0.options.maxRedirects = 1000
        }
        #expect(fetched.error == .maxTimeExceeded(short))
    }

    @Test func oneThatStallsHoldsUpNoOther() async throws {
        let server = try FaultServer { $0.path == "/stall" ? [.hold] : [.reply()] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        // It stalls until it is cancelled: the others end while it does, however slow the machine is.
        let stalled = Task { await fetch(server.url("/stall"), engine: engine) { $0.options.timeout = .seconds(600) } }
        for _ in 0..<20 { #expect(await fetch(server.url("/fine"), engine: engine).body == "hello") }
        stalled.cancel()
        #expect(await stalled.value.error == .cancelled)
    }

    @Test func hostThatDropsPacketsIsAConnectTimeout() async throws {
        // A listener whose queue is full answers no SYN.
        let full = try FullListener()
        let fetched = await fetch(full.url) { $0.options.timeout = .milliseconds(300) }
        #expect(fetched.error == .connectTimeout(host: full.authority))
    }

    @Test func connectingHasItsOwnLimit() async throws {
        let full = try FullListener()
        for timeout in [Duration.seconds(600), nil] {
            let fetched = await fetch(full.url) {
                $0.options.timeout = timeout
                $0.options.connectTimeout = .milliseconds(200)
            }
            #expect(fetched.error == .connectTimeout(host: full.authority))
        }
    }

    @Test func limitOfConnectingEndsWithTheConnection() async throws {
        let slow = try await fetch(from: .pause(.milliseconds(500)), .reply()) {
            $0.options.timeout = .seconds(600)
            $0.options.connectTimeout = .milliseconds(200)
        }
        #expect(slow.body == "hello", "\(slow.result)")
        let silent = try await fetch(from: .hold) {
            $0.options.timeout = short
            $0.options.connectTimeout = .seconds(600)
        }
        guard case .stalled(_, short) = silent.error else {
            Issue.record("\(silent.result)")
            return
        }
    }
}
