import Foundation
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Pushes to a remote", .bounded)
struct RemotePushTests {
    @Test("An image that leaves the cache meanwhile is no failure", arguments: [true, false])
    func gone(leavesIndex: Bool) async throws {
        let layer = MemoryLayer()
        let machine = try RemoteFixture(layer, transport: try RemoteFixture.origin(), writes: true)
        layer.answer { _ in .busy(.zero) }
        _ = try await machine.get()
        await machine.drain()
        layer.answer { _ in nil }
        layer.hold()
        let outcomes = SharedValue<[CachePush.Outcome]>([])
        async let pushed = machine.cache.push { _, outcome in outcomes.change { $0.append(outcome) } }
        #expect(await layer.holds(1))
        let storage = try #require(try machine.cache.storage())
        if leavesIndex {
            _ = try storage.removeAll()
        } else {
            // As a cleaning does it: the file goes before the entry.
            for file in machine.fixture.directory.files() where file.contains("/objects/") {
                try FileManager.default.removeItem(at: machine.fixture.directory.path(file))
            }
        }
        layer.open()
        let result = try #require(try await pushed)
        #expect(result.failed == 0 && result.skipped == 1 && result.uploaded.entries == 0, "\(outcomes.value)")
    }
}
