import Glibc
import KFNetwork
import Support
import Testing

@Suite("Time limits", .bounded, .engines)
struct TimeoutTests {
    private let short = Duration.milliseconds(200)

    @Test("A silent server stalls") func silent() async throws {
        let fetched = try await fetch(from: .hold) { $0.options.timeout = short }
        #expect(fetched.error?.message.hasSuffix(" sent less than 1 KiB in 0.2 s") == true, "\(fetched.result)")
        #expect(fetched.error?.isRetryable == true)
    }

    @Test("A slow drip stalls") func drip() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 1000"),
            .drip(.init(repeating: 1, count: 1000), every: .milliseconds(20))
        ) { $0.options.timeout = short }
        #expect(fetched.failure == "stalled", "\(fetched.result)")
    }

    @Test("Silence after a burst stalls") func burst() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 2000000"), .send(.init(repeating: 1, count: 1_000_000)),
            .hold
        ) { $0.options.timeout = short }
        #expect(fetched.failure == "stalled", "\(fetched.result)")
        #expect(fetched.sink.byteCount == 1_000_000)
    }

    @Test("A slow but steady body outlives the timeout") func steady() async throws {
        let piece = FaultStep.send(.init(repeating: 1, count: 2048))
        var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(2048 * 12)")]
        for _ in 0..<12 { steps += [.pause(.milliseconds(200)), piece] }
        let server = try FaultServer { [steps] _ in steps }
        let fetched = await fetch(server.url()) { $0.options.timeout = .seconds(2) }
        #expect(fetched.sink.byteCount == 2048 * 12)
        #expect(fetched.error == nil)
    }

    /// The span between two bursts is longer than half the timeout: each counts from its own arrival.
    @Test("Rare bursts outlive the timeout") func rareBursts() async throws {
        var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(3000 * 4)")]
        for _ in 0..<4 { steps += [.pause(.milliseconds(1200)), .send(.init(repeating: 1, count: 3000))] }
        let server = try FaultServer { [steps] _ in steps }
        let fetched = await fetch(server.url()) { $0.options.timeout = .seconds(2) }
        #expect(fetched.sink.byteCount == 3000 * 4)
        #expect(fetched.error == nil)
    }

    @Test("A slow sink stalls no other transfer") func slowSink() async throws {
        let piece = FaultStep.send(.init(repeating: 1, count: 2048))
        let server = try FaultServer { request in
            if request.path == "/held" { return [.pause(.milliseconds(100)), .reply()] }
            var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(2048 * 12)")]
            for _ in 0..<12 { steps += [.pause(.milliseconds(150)), piece] }
            return steps
        }
        let engine = Engines.make()
        let steady = Task {
            await fetch(server.url("/steady"), engine: engine) { $0.options.timeout = .seconds(2) }
        }
        // Longer than the other's timeout.
        let sink = CollectingSink { usleep(2_200_000) }
        #expect(await fetch(server.url("/held"), sink: sink, engine: engine).error == nil)
        #expect(await steady.value.error == nil)
    }

    @Test("The total time limit ends a steady body") func maxTime() async throws {
        let fetched = try await fetch(
            from: .head("HTTP/1.1 200 OK", "Content-Length: 1000"),
            .drip(.init(repeating: 1, count: 1000), every: .milliseconds(20))
        ) { $0.options.maxTime = short }
        #expect(fetched.error == .maxTimeExceeded(short))
    }

    @Test("The total time limit includes redirects") func redirects() async throws {
        let server = try FaultServer { _ in
            [.pause(.milliseconds(50)), .reply("302 Found", headers: ["Location: /again"], body: [])]
        }
        let fetched = await fetch(server.url()) {
            $0.options.maxTime = short
            $0.options.maxRedirects = 1000
        }
        #expect(fetched.error == .maxTimeExceeded(short))
    }

    @Test("The total time limit ends a redirect that waits for its host") func queuedRedirect() async throws {
        let target = try FaultServer { _ in [.hold] }
        let server = try FaultServer { [url = target.url("/to")] _ in
            [.reply("302 Found", headers: ["Location: \(url)"], body: [])]
        }
        let engine = Engines.make { $0.maxPerHost = 1 }
        let held = Task { await fetch(target.url("/held"), engine: engine) }
        #expect(await eventually { target.requests.count == 1 })
        let fetched = await fetch(server.url(), engine: engine) { $0.options.maxTime = short }
        #expect(fetched.error == .maxTimeExceeded(short))
        held.cancel()
        #expect(await held.value.error == .cancelled, "it has kept its place all the time")
    }

    @Test("A stalled transfer does not delay others") func others() async throws {
        let server = try FaultServer { $0.path == "/stall" ? [.hold] : [.reply()] }
        let engine = Engines.make()
        // It stalls until it is cancelled: the others end while it does, however slow the machine is.
        let stalled = Task { await fetch(server.url("/stall"), engine: engine) { $0.options.timeout = .seconds(600) } }
        for _ in 0..<20 { #expect(await fetch(server.url("/fine"), engine: engine).body == "hello") }
        stalled.cancel()
        #expect(await stalled.value.error == .cancelled)
    }

    @Test("A host that drops packets is a connect timeout") func droppedPackets() async throws {
        // A listener whose queue is full answers no SYN.
        let full = try FullListener()
        let fetched = await fetch(full.url) { $0.options.timeout = .milliseconds(300) }
        #expect(fetched.error == .connectTimeout(host: full.authority))
    }

    @Test("Connecting has its own time limit") func connecting() async throws {
        let full = try FullListener()
        for timeout in [Duration.seconds(600), nil] {
            let fetched = await fetch(full.url) {
                $0.options.timeout = timeout
                $0.options.connectTimeout = .milliseconds(200)
            }
            #expect(fetched.error == .connectTimeout(host: full.authority))
        }
    }

    @Test("The connect limit ends with the connection") func connected() async throws {
        let slow = try await fetch(from: .pause(.milliseconds(500)), .reply()) {
            $0.options.timeout = .seconds(600)
            $0.options.connectTimeout = .milliseconds(200)
        }
        #expect(slow.body == "hello", "\(slow.result)")
        let silent = try await fetch(from: .hold) {
            $0.options.timeout = short
            $0.options.connectTimeout = .seconds(600)
        }
        #expect(silent.failure == "stalled", "\(silent.result)")
    }
}
