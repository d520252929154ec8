import CCurl
import Glibc

/// The sockets that libcurl has open. libcurl chooses the connection of a transfer itself. Before the request it tells
/// the connection's addresses but not its socket, which is looked up here. Confined to the I/O thread.
final class Connections {
    struct Addresses: Hashable {
        var remote: String
        var remotePort: Int32
        var localPort: Int32
    }

    struct Entry {
        let socket: Int32
        /// When its last transfer ended.
        var idleSince = MonotonicTime.distantFuture
    }

    /// Past this number, a connection that nothing waits for is closed after its transfer.
    private let kept: Int
    /// Past this number, every connection is closed after its transfer.
    private let most: Int
    /// The addresses of a socket are known from its first request on.
    private var addresses: [Int32: Addresses?] = [:]
    private var entries: [Addresses: Entry] = [:]

    init(kept: Int) {
        self.kept = kept
        most = kept + min(kept, 64)
    }

    /// Sockets that are open, in use or not.
    var count: Int { addresses.count }

    /// Whether a connection stays open after its transfer when so many others wait for its host.
    ///
    /// libcurl can close the oldest connection itself, but 7.88 keeps an empty list for the host of each one that it
    /// closed, and walks all lists to find the next: a third of the time of 10,000 transfers to 10,000 hosts.
    func keeps(waiting: Int) -> Bool { count <= (waiting > 0 ? most : kept) }

    func opened(_ socket: Int32) { addresses[socket] = .some(nil) }

    func closed(_ socket: Int32) {
        guard let known = addresses.removeValue(forKey: socket), let known else { return }
        entries[known] = nil
    }

    /// A connection that has carried a request before, and is open.
    subscript(addresses: Addresses) -> Entry? { entries[addresses] }

    func fellIdle(_ addresses: Addresses, now: MonotonicTime) { entries[addresses]?.idleSince = now }

    /// A connection is about to carry its first request; its socket is one of these.
    func name(_ addresses: Addresses, among opened: [Int32]) {
        for socket in opened where self.addresses[socket] == .some(nil) {
            guard Self.localPort(of: socket) == addresses.localPort else { continue }
            self.addresses[socket] = addresses
            entries[addresses] = Entry(socket: socket)
            return
        }
    }

    /// What libcurl calls, with the connections as context.
    static let close: kf_close_fn = { context, socket in
        Unmanaged<Connections>.fromOpaque(context!).takeUnretainedValue().closed(socket)
        return Glibc.close(socket)
    }

    /// The port stands at the same place in the addresses of both families.
    private static func localPort(of socket: Int32) -> Int32? {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
        }
        return isKnown ? Int32(UInt16(bigEndian: name.sin6_port)) : nil
    }
}
