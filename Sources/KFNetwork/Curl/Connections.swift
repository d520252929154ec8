import CCurl
import Glibc

/// The sockets that libcurl has open. libcurl chooses the connection of a transfer itself. Before the request it tells
/// the connection's addresses but not its socket, which is looked up here. Confined to the I/O thread.
final class Connections {
    struct Ports: Hashable {
        var remote: UInt16
        var local: UInt16
    }

    /// Past this number, a connection that nothing waits for is closed after its transfer.
    private let kept: Int
    /// Past this number, every connection is closed after its transfer.
    private let most: Int
    /// The connection of a socket is known from its first request on.
    private var sockets: [Int32: Connection?] = [:]
    /// By the numbers of their ports, because text costs more to hash than to compare.
    private var named: [Ports: Connection] = [:]

    private let watcher: Watcher?

    /// The watcher is told of the sockets.
    init(kept: Int, watcher: Watcher? = nil) {
        self.watcher = watcher
        self.kept = kept
        most = kept + min(kept, 64)
    }

    /// Sockets that are open, in use or not.
    var count: Int { sockets.count }

    /// Whether a connection stays open after its transfer when so many others wait for its host.
    ///
    /// libcurl can close the oldest connection itself, but 7.88 keeps an empty list for the host of each one that it
    /// closed, and walks all lists to find the next: a third of the time of 10,000 transfers to 10,000 hosts.
    func keeps(waiting: Int) -> Bool { count <= (waiting > 0 ? most : kept) }

    func opened(_ socket: Int32) {
        sockets[socket] = .some(nil)
        watcher?.opened(socket)
    }

    func closed(_ socket: Int32) {
        watcher?.closed(socket)
        guard let known = sockets.removeValue(forKey: socket), let connection = known else { return }
        connection.isOpen = false
        var others: Connection?
        var link = named[connection.ports]
        while let one = link {
            link = one.next
            guard one !== connection else { continue }
            one.next = others
            others = one
        }
        named[connection.ports] = others
    }

    /// A connection that has carried a request before, and is open.
    func find(_ remote: UnsafePointer<CChar>, _ ports: Ports) -> Connection? {
        var link = named[ports]
        while let connection = link {
            if connection.remote.withCString({ strcmp($0, remote) }) == 0 { return connection }
            link = connection.next
        }
        return nil
    }

    /// A connection is about to carry its first request; its socket is one of these. Nil if it is none.
    func name(_ remote: UnsafePointer<CChar>, _ ports: Ports, among opened: [Int32]) -> Connection? {
        for socket in opened where isUnnamed(socket) {
            guard Self.localPort(of: socket) == ports.local else { continue }
            let connection = Connection(socket: socket, remote: String(cString: remote), ports: ports)
            connection.next = named[ports]
            named[ports] = connection
            sockets[socket] = connection
            return connection
        }
        return nil
    }

    private func isUnnamed(_ socket: Int32) -> Bool {
        if case .some(nil) = sockets[socket] { return true }
        return false
    }

    /// What libcurl calls, with the connections as context.
    static let close: kf_close_fn = { context, socket in
        Unmanaged<Connections>.fromOpaque(context!).takeUnretainedValue().closed(socket)
        return Glibc.close(socket)
    }

    /// The port stands at the same place in the addresses of both families.
    private static func localPort(of socket: Int32) -> UInt16? {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
        }
        return isKnown ? UInt16(bigEndian: name.sin6_port) : nil
    }
}

/// A connection that has carried a request. Confined to the I/O thread.
final class Connection {
    let socket: Int32
    /// The address of the other side.
    let remote: String
    /// When its last transfer ended.
    var idleSince = MonotonicTime.distantFuture
    fileprivate(set) var isOpen = true
    /// Another one with the same ports, to another address.
    fileprivate var next: Connection?
    fileprivate let ports: Connections.Ports

    fileprivate init(socket: Int32, remote: String, ports: Connections.Ports) {
        self.socket = socket
        self.remote = remote
        self.ports = ports
    }
}
