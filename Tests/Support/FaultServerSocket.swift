import Glibc

/// The system calls of the server. Failures end a connection, or fail the test that wanted to listen.
enum FaultSocket {
    struct Failure: Error { let errno: Int32 }

    /// POLLRDHUP, which Glibc shows to _GNU_SOURCE alone.
    private static let pollRDHUP: Int16 = 0x2000

    /// Listens at a port, or at a free one, of an IPv4 or IPv6 address.
    static func listen(_ address: String, port: Int = 0, backlog: Int32 = 512) throws -> (socket: Int32, port: Int) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(address.contains(":") ? AF_INET6 : AF_INET, type, 0)
        guard socket >= 0 else { throw Failure(errno: errno) }
        guard bind(socket, to: address, port: port), Glibc.listen(socket, backlog) == 0 else {
            let failure = Failure(errno: errno)
            close(socket)
            throw failure
        }
        return (socket, self.port(of: socket))
    }

    static func bind(_ socket: Int32, to address: String, port: Int) -> Bool {
        withName(address, port) { Glibc.bind(socket, $0, $1) == 0 }
    }

    /// Calls `body` with an IPv4 or IPv6 address and a port as the system calls take them.
    private static func withName<Value>(
        _ address: String, _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        func pass<Name>(_ name: Name) -> Value {
            withUnsafeBytes(of: name) {
                body($0.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t($0.count))
            }
        }
        if address.contains(":") {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = in_port_t(port).bigEndian
            inet_pton(AF_INET6, address, &name.sin6_addr)
            return pass(name)
        }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = in_port_t(port).bigEndian
        inet_pton(AF_INET, address, &name.sin_addr)
        return pass(name)
    }

    /// A port where no program listens. The system gives it to no socket by itself: those ports begin at 32768.
    static func freePort() throws -> Int {
        while true {
            do {
                let (socket, port) = try listen("127.0.0.1", port: .random(in: 10_000..<20_000))
                close(socket)
                return port
            } catch let failure as Failure where failure.errno == EADDRINUSE {}
        }
    }

    /// The port stands at the same place in the addresses of both families.
    private static func port(of socket: Int32) -> Int {
        var name = sockaddr_in6()
        var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let isKnown = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
        }
        return isKnown ? Int(UInt16(bigEndian: name.sin6_port)) : 0
    }

    /// A non-blocking socket on its way to a loopback port.
    static func connect(port: Int, address: String = "127.0.0.1") -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let socket = Glibc.socket(address.contains(":") ? AF_INET6 : AF_INET, type, 0)
        _ = withName(address, port) { Glibc.connect(socket, $0, $1) }
        return socket
    }

    /// nil when the listener was shut down.
    static func accept(_ listener: Int32) -> Int32? {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            if connection >= 0 { return connection }
            if errno != EINTR && errno != ECONNABORTED { return nil }
        }
    }

    static func receive(_ connection: Int32, atMost most: Int = 16384) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: most)
        while true {
            let count = recv(connection, &bytes, bytes.count, 0)
            if count > 0 { return Array(bytes[..<count]) }
            if count == 0 || errno != EINTR { return nil }
        }
    }

    static func send(_ bytes: [UInt8], on connection: Int32) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count > 0 { sent += count } else if errno != EINTR { return false }
        }
        return true
    }

    /// Waits that long, or until the other side or `stop()` has ended the connection.
    static func isClosed(_ connection: Int32, within span: Duration) -> Bool {
        var entry = pollfd(fd: connection, events: pollRDHUP, revents: 0)
        return poll(&entry, 1, milliseconds(span)) > 0
    }

    private static func milliseconds(_ span: Duration) -> Int32 {
        let (seconds, attoseconds) = span.components
        return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }

    static func resetOnClose(_ connection: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(connection, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    static func shutdown(_ socket: Int32) { _ = Glibc.shutdown(socket, Int32(SHUT_RDWR)) }

    static func close(_ socket: Int32) { _ = Glibc.close(socket) }
}

enum FaultThread {
    private final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
        var id = pthread_t()
        let context = Unmanaged.passRetained(Box(body)).toOpaque()
        let code = pthread_create(
            &id, nil,
            {
                Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body()
                return nil
            }, context)
        precondition(code == 0, "no thread for the fault server")
        return id
    }
}
