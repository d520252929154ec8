import Glibc

/// A port where connections are neither accepted nor refused: its listener's queue is full.
package final class FullListener: Sendable {
    private let listener: Int32
    private let fillers: [Int32]
    package let port: Int

    package var authority: String { "127.0.0.1:\(port)" }
    package var url: String { "http://\(authority)/" }

    package init(address: String = "127.0.0.1") throws {
        (listener, port) = try FaultSocket.listen(address, backlog: 0)
        fillers = (0..<4).map { [port] _ in FaultSocket.connect(port: port, address: address) }
    }

    deinit {
        for socket in fillers { FaultSocket.close(socket) }
        FaultSocket.close(listener)
    }
}
