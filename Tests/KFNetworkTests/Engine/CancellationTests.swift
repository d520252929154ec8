import KFNetwork
import Support
import Testing

@Suite("Cancellation and shutdown", .bounded)
struct CancellationTests {
    @Test func cancelledTaskEndsItsTransfer() async throws {
        let server = try FaultServer { _ in [.head("HTTP/1.1 200 OK", "Content-Length: 100"), .text("abc"), .hold] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
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

    @Test func cancelledBeforeItsStart() async throws {
        let server = try FaultServer { _ in [.hold] }
        let engine = TransferEngine()
        defer { engine.shutdown() }
        for _ in 0..<50 {
            let task = Task { await fetch(server.url(), engine: engine).error }
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }

    @Test func cancelledWhileWaitingForAPlace() async throws {
        let server = try FaultServer { $0.path == "/hold" ? [.hold] : [.reply()] }
        var configuration = EngineConfiguration()
        configuration.maxPerHost = 1
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
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

    @Test func shutdownEndsWhatRunsAndWaits() async throws {
        let server = try FaultServer { _ in [.hold] }
        let engine = TransferEngine()
        let tasks = (0..<20).map { _ in Task { await fetch(server.url(), engine: engine).error } }
        #expect(await eventually { !server.requests.isEmpty })
        engine.shutdown()
        engine.shutdown()
        for task in tasks { #expect(await task.value == .shutDown) }
        #expect(await fetch(server.url(), engine: engine).error == .shutDown)
    }

    @Test func engineThatWasNeverUsedShutsDown() {
        TransferEngine().shutdown()
    }
}
