import Testing

@testable import KFNetwork

@Suite("The queue of a host")
struct HostQueueTests {
    private let host = HostQueue(name: "a", isNumeric: false, HostState(EngineConfiguration(), of: "a"))

    @Test("Connections are shared again after a while") func separation() {
        #expect(host.reusesConnections(now: schedulerStart))
        host.separate(now: schedulerStart)
        #expect(!host.reusesConnections(now: schedulerStart + .seconds(9)))
        #expect(host.reusesConnections(now: schedulerStart + .seconds(10)))
    }

    @Test("A host that has sent excess bytes never shares a connection again") func excess() {
        host.reuseStart = .distantFuture
        host.separate(now: schedulerStart)
        #expect(host.reuseStart == .distantFuture)
    }
}
