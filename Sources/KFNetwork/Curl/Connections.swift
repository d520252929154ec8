import CCurl
import Glibc

/// The open sockets of libcurl, by the addresses of their connections. Confined to the I/O thread.
///
/// libcurl chooses the connection of a transfer by itself. Before the request it reports the connection's addresses but
/// not its socket, which is looked up here.
final class Connections {
    struct Ports: Hashable {
        var remote: UInt16
        var local: UInt16
    }

    /// Above this number of sockets, a connection is closed after its transfer if no transfer waits for its host.
    private let kept: Int
    /// Above this number of sockets, every connection is closed after its transfer.
    private let most: Int
    /// The open sockets. The value is nil until the connection's first request.
    private var sockets: [Int32: Connection?] = [:]
    /// The connections by their ports, because hashing the address text costs more than comparing it.
    private var named: [Ports: [Connection]] = [:]

    private let watcher: Watcher?

    init(kept: Int, watcher: Watcher? = nil) {
        self.watcher = watcher
        self.kept = kept
        most = kept + min(kept, 64)
    }

    /// The number of open sockets, in use or idle.
    var count: Int { sockets.count }

    /// Returns whether a connection stays open after its transfer while `waiting` transfers wait for its host.
    ///
    /// libcurl can close the oldest connection by itself. But 7.88 keeps an empty list per host of a closed connection,
    /// and walks all lists to find the next one: a third of the time of 10,000 transfers to 10,000 hosts.
    func keeps(waiting: Int) -> Bool { count <= (waiting > 0 ? most : kept) }

    func opened(_ socket: Int32) {
        sockets[socket] = .some(nil)
        watcher?.opened(socket)
    }

    func closed(_ socket: Int32) {
        watcher?.closed(socket)
        guard let known = sockets.removeValue(forKey: socket), let connection = known else { return }
        connection.isOpen = false
        let others = named[connection.ports]?.filter { $0 !== connection } ?? []
        named[connection.ports] = others.isEmpty ? nil : others
    }

    /// Returns the open connection with these addresses that has carried a request before.
    func find(_ remote: UnsafePointer<CChar>, _ ports: Ports) -> Connection? {
        named[ports]?.first { $0.remote.withCString { strcmp($0, remote) } == 0 }
    }

    /// Registers a connection that is about to carry its first request. Its socket is the one with the local port among
    /// those that the transfer has opened. A transfer without any shares a connection before its opener has used it.
    /// Returns nil if no socket has the port.
    func name(_ remote: UnsafePointer<CChar>, _ ports: Ports, opened: [Int32]) -> Connection? {
        for socket in opened.isEmpty ? Array(sockets.keys) : opened where isUnnamed(socket) {
            guard Self.localPort(of: socket) == ports.local else { continue }
            let connection = Connection(socket: socket, remote: String(cString: remote), ports: ports)
            named[ports, default: []].append(connection)
            sockets[socket] = connection
            return connection
        }
        return nil
    }

    private func isUnnamed(_ socket: Int32) -> Bool {
        if case .some(nil) = sockets[socket] { true } else { false }
    }

    /// The callback that closes a socket. Its context is the `Connections`.
    static let close: kf_close_fn = { context, socket in
        Unmanaged<Connections>.fromOpaque(context!).takeUnretainedValue().closed(socket)
        return Glibc.close(socket)
    }

    /// Returns the socket's local port, which is at the same offset in IPv4 and IPv6 addresses.
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
    /// The address of the peer.
    let remote: String
    /// The number of requests that were sent over it.
    var requests = 0
    /// The end of its last transfer.
    var idleSince = MonotonicTime.distantFuture
    fileprivate(set) var isOpen = true
    fileprivate let ports: Connections.Ports

    fileprivate init(socket: Int32, remote: String, ports: Connections.Ports) {
        self.socket = socket
        self.remote = remote
        self.ports = ports
    }
}
