import Foundation
import Support
import Synchronization
import Testing

@testable import KFNetwork

@Suite("A hold on a transfer", .bounded)
struct ControlTests {
    @Test func priorityChangesTheOrderOfThoseThatWait() async throws {
        let server = try FaultServer { $0.path == "/first" ? [.pause(.seconds(30)), .reply()] : [.reply()] }
        var configuration = EngineConfiguration()
        configuration.maxPerHost = 1
        let engine = TransferEngine(configuration: configuration)
        defer { engine.shutdown() }
        let first = Task { await fetch(server.url("/first"), engine: engine).error }
        #expect(await eventually { !server.requests.isEmpty })
        let controls = (0..<3).map { _ in TransferControl() }
        // Before its start as well as while it waits.
        controls[1].setPriority(0.6)
        let others = (0..<3).map { index in
            Task {
                await fetch(server.url("/\(index)"), engine: engine) { $0.control = controls[index] }.body
            }
        }
        for control in controls { #expect(await eventually { control.isAttached }) }
        controls[2].setPriority(0.9)
        first.cancel()
        #expect(await first.value == .cancelled)
        for other in others { #expect(await other.value == "hello") }
        #expect(server.requests.map(\.path) == ["/first", "/2", "/1", "/0"])
    }

    @Test(arguments: [false, true])
    func pausedSinkHoldsUpTheServerAndNobodyElse(_ isSecure: Bool) async throws {
        let size = 8 << 20
        let certificates = try await TestCertificates.shared
        let files = try TemporaryDirectory()
        try files.write("large", Data(repeating: 1, count: size))
        try files.write("small", "hello")
        let server = try FileServer(files: files, identity: certificates.identity(.good))
        let url: @Sendable (String) -> String = { isSecure ? server.secureURL($0) : server.url($0) }
        let engine = TransferEngine()
        defer { engine.shutdown() }

        let control = TransferControl()
        let begun = AsyncStream.makeStream(of: Void.self)
        let sink = CollectingSink(onBytes: {
            control.pause()
            begun.continuation.yield()
        })
        let large = Task {
            await fetch(url("large"), sink: sink, engine: engine) { request in
                request.options.caFile = certificates.authority
                // The stall timer would end it, did it count while paused.
                request.options.timeout = .milliseconds(400)
                request.control = control
            }
        }
        var pieces = begun.stream.makeAsyncIterator()
        await pieces.next()
        let held = sink.byteCount
        for _ in 0..<5 {
            let small = await fetch(url("small"), engine: engine) { $0.options.caFile = certificates.authority }
            #expect(small.body == "hello")
        }
        #expect(sink.byteCount == held)
        #expect(held < size / 2)

        // Every piece pauses again.
        let feeding = Task {
            while !Task.isCancelled {
                control.resume()
                await others(run: .microseconds(100))
            }
        }
        let fetched = await large.value
        feeding.cancel()
        #expect(fetched.error == nil)
        #expect(sink.byteCount == size)
    }

    @Test func maxTimeRunsOnWhilePaused() async throws {
        let control = TransferControl()
        let fetched = try await fetch(
            from: .reply(body: .init(repeating: 1, count: 1 << 20)),
            sink: CollectingSink(onBytes: { control.pause() })
        ) { request in
            request.options.maxTime = .milliseconds(200)
            request.control = control
        }
        #expect(fetched.error == .maxTimeExceeded(.milliseconds(200)))
    }

    @Test func progressIsToldAtMostSoOften() async throws {
        let told = Mutex<[(Int64, Int64?)]>([])
        let size = 1 << 20
        let fetched = try await fetch(from: .reply(body: .init(repeating: 1, count: size))) { request in
            request.hooks.progressInterval = .seconds(3600)
            request.hooks.progress = { received, total in told.withLock { $0.append((received, total)) } }
        }
        #expect(fetched.error == nil)
        let all = told.withLock { $0 }
        #expect(all.count <= 2)
        #expect(all.allSatisfy { $0.1 == Int64(size) })
        #expect(all.last?.0 == Int64(size))
    }
}
