import KFNetwork
import Support
import Testing

@Suite("Conditional requests and resumption")
struct ResumptionTests {
    private func resume(_ steps: FaultStep..., total: Int64? = 10) async throws -> Fetched {
        let server = try FaultServer { _ in steps }
        defer { server.stop() }
        let fetched = await fetch(server.url()) {
            $0.resumption = .init(offset: 5, validator: "\"tag\"", total: total)
        }
        #expect(server.requests.first?.header("Range") == "bytes=5-")
        #expect(server.requests.first?.header("If-Range") == "\"tag\"")
        return fetched
    }

    @Test func restArrives() async throws {
        let fetched = try await resume(.reply("206 Partial Content", headers: ["Content-Range: bytes 5-9/10"]))
        #expect(fetched.body == "hello")
        #expect(fetched.head?.status == 206)
    }

    @Test func changedBodyComesWhole() async throws {
        let fetched = try await resume(.reply(body: Array("0123456789".utf8)))
        #expect(fetched.body == "0123456789")
        #expect(fetched.head?.status == 200)
    }

    @Test(arguments: [
        "bytes 4-8/10", "bytes 5-9/11", "bytes 5-8/10", "bytes 5-9/5", "bytes */10", "bytes 9-5/10", "chars 5-9/10",
        "5-9",
    ])
    func wrongContentRangeIsRefused(_ range: String) async throws {
        let fetched = try await resume(.reply("206 Partial Content", headers: ["Content-Range: \(range)"]))
        guard case .contentRange = fetched.error else {
            Issue.record("\(fetched.result)")
            return
        }
        #expect(fetched.sink.heads.isEmpty)
    }

    @Test func missingContentRangeIsRefused() async throws {
        guard case .contentRange = try await resume(.reply("206 Partial Content")).error else {
            Issue.record("was accepted")
            return
        }
    }

    @Test func notModifiedIsAnAnswerToACondition() async throws {
        let fetched = try await fetch(from: .head("HTTP/1.1 304 Not Modified", "ETag: \"x\"")) {
            $0.isConditional = true
            $0.headers = [("If-None-Match", "\"x\"")]
        }
        #expect(fetched.head?.status == 304)
        #expect(fetched.body.isEmpty)
    }
}
