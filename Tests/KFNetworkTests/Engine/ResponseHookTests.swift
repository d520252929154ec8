import KFNetwork
import Support
import Synchronization
import Testing

@Suite("Response hooks", .bounded)
struct ResponseHookTests {
    @Test("A hook that allows the response changes nothing", arguments: [0, 5, 500_000])
    func allows(_ size: Int) async throws {
        let body = [UInt8](repeating: 7, count: size)
        let fetched = try await fetch(from: .reply(headers: ["ETag: \"e\""], body: body)) { request in
            request.hooks.response = { head in head.headers["ETag"] == "\"e\"" ? .allow : .cancel }
        }
        #expect(fetched.error == nil)
        #expect(fetched.sink.byteCount == size)
        #expect(fetched.sink.heads.count == 1)
    }

    @Test("A hook that cancels keeps the body from the sink", arguments: [0, 5, 500_000])
    func cancels(_ size: Int) async throws {
        let fetched = try await fetch(from: .reply(body: .init(repeating: 7, count: size))) { request in
            request.hooks.response = { _ in .cancel }
        }
        #expect(fetched.error == .cancelledByHook)
        #expect(fetched.error?.isRetryable == false)
        #expect(fetched.sink.heads.isEmpty)
        #expect(fetched.sink.byteCount == 0)
    }

    @Test("A hook does not see a refused status") func refusedStatus() async throws {
        let asked = Mutex(false)
        let fetched = try await fetch(from: .reply("404 Not Found")) { request in
            request.hooks.response = { _ in
                asked.withLock { $0 = true }
                return .allow
            }
        }
        #expect(fetched.refusal == 404, "\(fetched.result)")
        #expect(asked.withLock { $0 } == false)
    }

    @Test("An undecided hook ends with the timeout") func undecided() async throws {
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

    @Test("A sink can refuse the head after the hook") func sink() async throws {
        let fetched = try await fetch(from: .reply(), sink: CollectingSink(refusesHead: true)) { request in
            request.hooks.response = { _ in .allow }
        }
        #expect(fetched.error == .sink(SinkError(reason: "no room")))
    }
}
