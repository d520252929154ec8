import Synchronization

/// A server on a loopback port that says byte for byte what a test wants, malformed answers first of all. A thread per
/// connection; each request on it asks the script for its steps.
package final class FaultServer: Sendable {
    package typealias Script = @Sendable (FaultRequest) -> [FaultStep]

    private let listener: FaultListener
    private let host: String
    private let script: Script
    private let bodies: @Sendable (FaultRequest) -> FaultBody
    private let asked = Mutex<[FaultRequest]>([])

    /// Listens on 127.0.0.1, or on another loopback address, at a free port, or at a port that is known to be free.
    /// `bodies` says how to take the body of each request; `script` is asked after that.
    package init(
        address: String = "127.0.0.1", port: Int = 0,
        bodies: @escaping @Sendable (FaultRequest) -> FaultBody = { _ in .whole }, _ script: @escaping Script
    ) throws {
        self.script = script
        self.bodies = bodies
        host = address.allSatisfy { $0 == "." || $0.isNumber } && address != "0.0.0.0" ? address : "127.0.0.1"
        listener = try FaultListener(address, port: port)
        listener.start { [weak self] in self?.converse(on: $0) }
    }

    deinit { stop() }

    package var port: Int { listener.port }

    /// A port for a server that a test stops: no other test's server listens there afterwards.
    package static func lastingPort() throws -> Int { try FaultSocket.freePort() }

    /// `user` stands in front of the host, as `user:password`.
    package func url(_ path: String = "/", user: String? = nil) -> String {
        "http://\(user.map { "\($0)@" } ?? "")\(host):\(port)\(path)"
    }

    /// Every request whose head was read, in order.
    package var requests: [FaultRequest] { asked.withLock { $0 } }

    /// Connections accepted so far.
    package var accepted: Int { listener.accepted }

    /// Connections that neither side has closed.
    package var open: Int { listener.open }

    /// Ends every connection and waits for its thread. Called by deinit.
    package func stop() { listener.stop() }

    private func converse(on connection: Int32) {
        let reader = FaultReader(connection: connection)
        while var request = reader.next() {
            let index = asked.withLock { asked in
                asked.append(request)
                return asked.count - 1
            }
            if request.contentLength > 0 {
                let taking = bodies(request)
                request.body = reader.body(of: request, taking: taking)
                asked.withLock { [request] in $0[index].body = request.body }
                if case .none = taking {} else if request.body.count < request.contentLength { return }
            }
            let steps = script(request)
            for (index, step) in steps.enumerated() where !perform(step, on: connection) {
                // A test that waits for a call must not wait for ever because the client has left.
                for case .call(let function) in steps[index...] { function() }
                return
            }
        }
    }

    /// False when the connection is over.
    private func perform(_ step: FaultStep, on connection: Int32) -> Bool {
        switch step {
        case .send(let bytes): return FaultSocket.send(bytes, on: connection)
        case .zeros(let count):
            let piece = [UInt8](repeating: 0, count: 1 << 16)
            for sent in stride(from: 0, to: count, by: piece.count) {
                let rest = min(piece.count, count - sent)
                guard FaultSocket.send(Array(piece[..<rest]), on: connection) else { return false }
            }
            return true
        case .drip(let bytes, let interval):
            for byte in bytes {
                guard FaultSocket.send([byte], on: connection) else { return false }
                guard !FaultSocket.isClosed(connection, within: interval) else { return false }
            }
            return true
        case .pause(let span): return !FaultSocket.isClosed(connection, within: span)
        case .hold:
            // Bounded, so that no mistake of a test leaves a thread behind for ever.
            _ = FaultSocket.isClosed(connection, within: .seconds(60))
            return false
        case .call(let function):
            function()
            return true
        case .close: return false
        case .reset:
            FaultSocket.resetOnClose(connection)
            return false
        }
    }
}
