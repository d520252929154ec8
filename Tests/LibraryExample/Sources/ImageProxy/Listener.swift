import Dispatch
import Glibc
import Synchronization

/// A socket on a free loopback port that accepts a bounded number of connections at once.
final class Listener: Sendable {
    private struct State {
        var isClosed = false
        var connections: Set<Int32> = []
    }

    let port: UInt16
    private let socket: Int32
    private let room: DispatchSemaphore
    private let state = Mutex(State())
    private let underWay = DispatchGroup()

    init(connections: Int) throws(Failure) {
        room = DispatchSemaphore(value: connections)
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.socket = socket
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutableBytes(of: &place) { bytes in
            guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return false }
            var length = size
            return bind(socket, address, size) == 0 && listen(socket, 1024) == 0
                && getsockname(socket, address, &length) == 0
        }
        guard isListening else { throw Failure(description: "no port: \(String(cString: strerror(errno)))") }
        port = UInt16(bigEndian: place.sin_port)
    }

    /// Whether no connection is accepted any more.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Waits until there is room, then for a connection; nil after `close()`.
    func accept() -> Connection? {
        room.wait()
        while true {
            let connection = Glibc.accept(socket, nil, nil)
            let isKept = state.withLock { state in
                guard connection >= 0, !state.isClosed else { return false }
                state.connections.insert(connection)
                underWay.enter()
                return true
            }
            if isKept { return Connection(connection) }
            if connection >= 0 { _ = Glibc.close(connection) }
            if isClosed {
                // A semaphore may not end below its first value.
                room.signal()
                return nil
            }
            // A client has gone, or the process has no descriptor left.
            usleep(1000)
        }
    }

    /// Closes a connection that was served.
    func end(_ connection: Connection) {
        state.withLock { _ = $0.connections.remove(connection.socket) }
        _ = Glibc.close(connection.socket)
        room.signal()
        underWay.leave()
    }

    /// Accepts no more connections, and waits for the end of the others. They are told nothing new.
    func close() {
        state.withLock { state in
            state.isClosed = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RD)) }
        }
        shutdown(socket, Int32(SHUT_RDWR))
        underWay.wait()
    }

    /// Runs work on a new thread, which ends with it.
    static func thread(_ work: @escaping @Sendable () -> Void) {
        final class Box {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().work()
                return nil
            }, Unmanaged.passRetained(Box(work)).toOpaque())
        precondition(failure == 0, "no thread: \(String(cString: strerror(failure)))")
        pthread_detach(thread)
    }
}

/// A connection of a client, with time limits.
final class Connection: Sendable {
    /// The most bytes of a head.
    private static let longestHead = 8192

    let socket: Int32

    init(_ socket: Int32) {
        self.socket = socket
        for (option, seconds) in [(SO_RCVTIMEO, 30), (SO_SNDTIMEO, 10)] {
            var time = timeval(tv_sec: seconds, tv_usec: 0)
            setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Waits for a request and returns its path with the query; nil when there is none, or no GET.
    func readTarget() -> Substring? {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 2048)
        while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0, head.count + count <= Self.longestHead else { return nil }
            head += buffer[..<count]
        }
        let words = String(decoding: head.prefix { $0 != 13 }, as: UTF8.self).split(separator: " ")
        return words.count == 3 && words[0] == "GET" ? words[1] : nil
    }

    /// Sends a head and a body. Returns false when the client is gone, or took no byte for the time limit.
    func send(_ head: String, _ body: [UInt8]) -> Bool { send(Array(head.utf8)) && send(body) }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.send(socket, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, 0)
                guard count > 0 else { return false }
                rest = rest.dropFirst(count)
            }
            return true
        }
    }
}
