import KFNetwork
import Support
import Synchronization
import Testing

@Suite("A response hook", .bounded)
struct ResponseHookTests {
    @Test(arguments: [0, 5, 500_000])
    func thatAllowsChangesNothing(_ size: Int) async throws {
        let body = [UInt8](repeating: 7, count: size)
        let fetched = try await fetch(from: .reply(headers: ["ETag: \"e\""], body: body)) { request in
            request.hooks.response = { head in head.headers["ETag"] == "\"e\"" ? .allow : .cancel }
        }
        #expect(fetched.error == nil)
        #expect(fetched.sink.byteCount == size)
        #expect(fetched.sink.heads.count == 1)
    }

    @Test(arguments: [0, 5, 500_000])
    func thatCancelsKeepsTheBodyFromTheSink(_ size: Int) async throws {
        let fetched = try await fetch(from: .reply(body: .init(repeating: 7, count: size))) { request in
            request.hooks.response = { _ in .cancel }
        }
        #expect(fetched.error == .cancelledByHook)
        #expect(fetched.error?.isRetryable == false)
        #expect(fetched.sink.heads.isEmpty)
        #expect(fetched.sink.byteCount == 0)
    }

    @Test func isNotAskedAboutARefusedStatus() async throws {
        let asked = Mutex(false)
        let fetched = try await fetch(from: .reply("404 Not Found")) { request in
            request.hooks.response = { _ in
                asked.withLock { $0 = true }
                return .allow
            }
        }
        guard case .httpStatus(404, _) = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(asked.withLock { $0 } == false)
    }

    @Test func thatNeverDecidesEndsInItsTime() async throws {
        let fetched = try await fetch(from: .reply()) { request in
            request.options.timeout = .milliseconds(200)
            request.hooks.response = { _ in
                for await _ in AsyncStream<Void>.makeStream().stream {}
                return .allow
            }
        }
        #expect(fetched.error == .undecided(after: .milliseconds(200)))
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test func sinkThatRefusesTheHeadAfterwardsEndsTheTransfer() async throws {
        let fetched = try await fetch(from: .reply(), sink: CollectingSink(refusesHead: true)) { request in
            request.hooks.response = { _ in .allow }
        }
        #expect(fetched.error == .sink(SinkError(reason: "no room")))
    }
}
