import CCurl
import KFSystem

/// The sockets that libcurl wants watched, and the time of libcurl's next timeout.
final class Watcher {
    struct Event {
        var socket: Int32
        /// The readiness as CURL_CSELECT_… bits.
        var ready: Int32
    }

    private struct Socket {
        /// Whether `closed` reports the closing of the socket. libcurl also watches sockets that it closes by itself.
        var isKnown = false
        /// The readiness that the kernel watches for; empty if it does not watch the socket.
        var watched = ReadinessQueue.Readiness()
        /// Whether libcurl wants the socket watched.
        var isWanted = false
    }

    @exclusivity(unchecked) var timer: MonotonicTime?

    private let queue: ReadinessQueue
    /// The sockets that were ready at the end of the last wait.
    @exclusivity(unchecked) private(set) var events: [Event] = []

    /// The sockets by descriptor number.
    @exclusivity(unchecked) private var sockets: [Socket] = []

    /// Creates a watcher; nil when out of descriptors.
    init?() {
        guard let queue = ReadinessQueue() else { return nil }
        self.queue = queue
        events.reserveCapacity(ReadinessQueue.batch)
    }

    var waker: ReadinessQueue.Waker { queue.waker }

    /// Adds a socket whose closing `closed` will report.
    func opened(_ socket: Int32) {
        let missing = Int(socket) + 1 - sockets.count
        if missing > 0 { sockets += Array(repeating: Socket(), count: missing) }
        sockets[Int(socket)] = Socket(isKnown: true)
    }

    /// Forgets a socket that is about to be closed. The kernel would watch it for as long as a child process has it.
    func closed(_ socket: Int32) {
        guard sockets.indices.contains(Int(socket)) else { return }
        if !sockets[Int(socket)].watched.isEmpty { queue.forget(socket) }
        sockets[Int(socket)] = Socket()
    }

    /// Watches a socket for `what`, one of CURL_POLL_…, or stops watching it. Returns false if the kernel refuses.
    ///
    /// libcurl stops watching a kept connection after each transfer and watches it again for the next. So the kernel
    /// keeps watching a known socket until its first event that libcurl does not want: a new request needs no system
    /// call.
    func watch(_ socket: Int32, for what: Int32) -> Bool {
        let wanted: ReadinessQueue.Readiness
        switch what {
        case CURL_POLL_IN: wanted = .read
        case CURL_POLL_OUT: wanted = .write
        case CURL_POLL_INOUT: wanted = [.read, .write]
        case CURL_POLL_REMOVE:
            leave(socket)
            return true
        default: wanted = ReadinessQueue.Readiness()
        }
        let index = Int(socket)
        guard sockets.indices.contains(index), sockets[index].isKnown else { return queue.watch(socket, for: wanted) }
        sockets[index].isWanted = true
        if !wanted.isEmpty, sockets[index].watched == wanted { return true }
        let isWatched = queue.watch(socket, for: wanted)
        sockets[index].watched = isWatched ? wanted : ReadinessQueue.Readiness()
        return isWatched
    }

    private func leave(_ socket: Int32) {
        let index = Int(socket)
        guard sockets.indices.contains(index), !sockets[index].watched.isEmpty else { return queue.forget(socket) }
        sockets[index].isWanted = false
    }

    /// Has the kernel stop watching a socket that libcurl does not want watched. Returns false for any other socket.
    private func drop(_ socket: Int32) -> Bool {
        let index = Int(socket)
        guard sockets.indices.contains(index), !sockets[index].watched.isEmpty, !sockets[index].isWanted else {
            return false
        }
        queue.forget(socket)
        sockets[index].watched = ReadinessQueue.Readiness()
        return true
    }

    /// Waits up to `milliseconds` for ready sockets and stores them in `events`.
    func wait(milliseconds: Int64) {
        events.removeAll(keepingCapacity: true)
        queue.wait(milliseconds: milliseconds) { socket, readiness in
            if drop(socket) { return }
            var ready: Int32 = 0
            if readiness.contains(.read) { ready |= CURL_CSELECT_IN }
            if readiness.contains(.write) { ready |= CURL_CSELECT_OUT }
            if !readiness.isDisjoint(with: .broken) { ready |= CURL_CSELECT_ERR }
            events.append(Event(socket: socket, ready: ready))
        }
    }
}
