import Glibc
import Synchronization

/// A listening socket on a loopback port, with a thread for each connection.
final class FaultListener: Sendable {
    private struct State {
        var connections: Set<Int32> = []
        var accepted = 0
        var threads: [pthread_t] = []
        var isStopped = false
    }

    let port: Int
    private let listener: Int32
    private let state = Mutex(State())

    /// Listens on a loopback address, at a free port, or at a port that is known to be free. `window` limits the bytes that
    /// the kernel takes before they are read.
    init(_ address: String = "127.0.0.1", port: Int = 0, window: Int32? = nil) throws {
        (listener, self.port) = try FaultSocket.listen(address, port: port)
        if var window {
            setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        }
    }

    /// The number of connections accepted so far.
    var accepted: Int { state.withLock { $0.accepted } }

    /// The number of connections that neither side has closed.
    var open: Int { state.withLock { $0.connections.count } }

    /// Calls `converse` with each connection, on a thread of its own. The connection is closed after the return.
    func start(_ converse: @escaping @Sendable (Int32) -> Void) {
        let accepting = FaultThread.start { [weak self, listener] in
            while let connection = FaultSocket.accept(listener) {
                guard let self else { return FaultSocket.close(connection) }
                self.serve(connection, converse)
            }
        }
        state.withLock { $0.threads.append(accepting) }
    }

    private func serve(_ connection: Int32, _ converse: @escaping @Sendable (Int32) -> Void) {
        state.withLock { state in
            guard !state.isStopped else { return FaultSocket.close(connection) }
            state.accepted += 1
            state.connections.insert(connection)
            let thread = FaultThread.start { [self] in
                converse(connection)
                _ = self.state.withLock { $0.connections.remove(connection) }
                FaultSocket.close(connection)
            }
            state.threads.append(thread)
        }
    }

    /// Ends every connection and waits for its thread.
    func stop() {
        let threads: [pthread_t] = state.withLock { state in
            guard !state.isStopped else { return [] }
            state.isStopped = true
            FaultSocket.shutdown(listener)
            for connection in state.connections { FaultSocket.shutdown(connection) }
            return state.threads
        }
        guard !threads.isEmpty else { return }
        for thread in threads where pthread_equal(thread, pthread_self()) == 0 { pthread_join(thread, nil) }
        FaultSocket.close(listener)
    }
}
