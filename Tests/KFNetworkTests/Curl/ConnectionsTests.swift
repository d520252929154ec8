import Glibc
import Testing

@testable import KFNetwork

@Suite("Open connections")
struct ConnectionsTests {
    /// libcurl's own limit is higher than what is ever open at once, so it never looks for the oldest connection.
    @Test("Past the limit only awaited connections are kept") func limit() {
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

    /// Ports are the same for connections from one port to several addresses.
    @Test("Connections are found by their addresses") func addresses() throws {
        let connections = Connections(kept: 4)
        let sockets = (0..<3).map { _ in socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0) }
        defer { for socket in sockets { close(socket) } }
        // Not bound: both have the local port 0.
        let ports = Connections.Ports(remote: 80, local: 0)
        for (socket, remote) in zip(sockets, ["192.0.2.1", "192.0.2.2"]) {
            connections.opened(socket)
            #expect(connections.find(remote, ports) === nil)
            #expect(connections.name(remote, ports, opened: [socket])?.remote == remote)
        }
        let first = try #require(connections.find("192.0.2.1", ports))
        #expect(first.socket == sockets[0])
        #expect(connections.find("192.0.2.2", ports)?.socket == sockets[1])
        #expect(connections.find("192.0.2.3", ports) === nil)
        #expect(connections.find("192.0.2.1", .init(remote: 443, local: 0)) === nil)
        // Another transfer than the opener may be the first to use a connection.
        connections.opened(sockets[2])
        #expect(connections.name("192.0.2.4", ports, opened: [])?.socket == sockets[2])
        #expect(connections.name("192.0.2.5", ports, opened: []) == nil)
        connections.closed(sockets[0])
        #expect(!first.isOpen)
        #expect(connections.find("192.0.2.1", ports) === nil)
        #expect(connections.find("192.0.2.2", ports)?.isOpen == true)
    }
}
