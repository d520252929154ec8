import Testing

@testable import KFNetwork

@Suite("Which connections are kept")
struct ConnectionsTests {
    /// libcurl's own limit is higher than what is ever open at once, so it never looks for the oldest connection.
    @Test func pastTheLimitOnlyThoseThatAreWaitedFor() {
        let connections = Connections(kept: 4)
        for socket in 100..<104 { connections.opened(Int32(socket)) }
        #expect(connections.keeps(waiting: 0))
        connections.opened(104)
        #expect(!connections.keeps(waiting: 0))
        #expect(connections.keeps(waiting: 1))
        for socket in 105..<109 { connections.opened(Int32(socket)) }
        #expect(!connections.keeps(waiting: 1))
        for socket in 104..<109 { connections.closed(Int32(socket)) }
        #expect(connections.keeps(waiting: 0))
    }
}
