import Support
import Synchronization
import Testing

@testable import KFNetwork

@Suite("Progress of a transfer", .bounded)
struct ProgressTests {
    @Test("Progress is reported at most once an interval") func interval() async throws {
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
