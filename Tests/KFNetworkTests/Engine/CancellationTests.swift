import KFNetwork
import Support
import Testing

@Suite("Cancelled transfers", .bounded, .engines)
struct CancellationTests {
    @Test("A cancelled task ends its transfer") func running() async throws {
        let server = try FaultServer { _ in [.head("HTTP/1.1 200 OK", "Content-Length: 100"), .text("abc"), .hold] }
        let engine = Engines.make()
        let (begun, signal) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            await fetch(server.url(), sink: CollectingSink(onBytes: { signal.yield() }), engine: engine).error
        }
        var iterator = begun.makeAsyncIterator()
        await iterator.next()
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(TransferError.cancelled.isRetryable == false)
    }

    @Test("A transfer can be cancelled before its start") func unstarted() async throws {
        let server = try FaultServer { _ in [.hold] }
        let engine = Engines.make()
        for _ in 0..<50 {
            let task = Task { await fetch(server.url(), engine: engine).error }
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }

    @Test("A waiting transfer can be cancelled") func waiting() async throws {
        let server = try FaultServer { $0.path == "/hold" ? [.hold] : [.reply()] }
        let engine = Engines.make { $0.maxPerHost = 1 }
        let holder = Task { await fetch(server.url("/hold"), engine: engine).error }
        #expect(await eventually { !server.requests.isEmpty })
        let waiting = Task { await fetch(server.url("/wait"), engine: engine).error }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        holder.cancel()
        #expect(await holder.value == .cancelled)
        #expect(await fetch(server.url("/after"), engine: engine).body == "hello")
        #expect(server.requests.map(\.path) == ["/hold", "/after"])
    }
}
