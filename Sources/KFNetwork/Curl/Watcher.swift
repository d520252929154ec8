import CCurl
import Glibc

/// The epoll instance with the sockets that libcurl wants watched, and the time of libcurl's next timeout.
final class Watcher {
    struct Event {
        var socket: Int32
        /// The readiness as CURL_CSELECT_… bits.
        var ready: Int32
    }

    private struct Socket {
        /// Whether `closed` reports the closing of the socket. libcurl also watches sockets that it closes by itself.
        var isKnown = false
        /// The events that the kernel watches for; 0 if it does not watch the socket.
        var watched: UInt32 = 0
        /// Whether libcurl wants the socket watched.
        var isWanted = false
    }

    /// The greatest number of events taken from the kernel at once; the next call returns the rest.
    private static let batch = 64

    let wakeDescriptor: Int32
    @exclusivity(unchecked) var timer: MonotonicTime?

    private let epoll: Int32
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: Watcher.batch)
    /// The sockets that were ready at the end of the last wait.
    @exclusivity(unchecked) private(set) var events: [Event] = []

    /// The sockets by descriptor number.
    @exclusivity(unchecked) private var sockets: [Socket] = []

    /// Creates a watcher; nil when out of descriptors.
    init?() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        events.reserveCapacity(Self.batch)
        guard epoll >= 0, wakeDescriptor >= 0, control(EPOLL_CTL_ADD, wakeDescriptor, EPOLLIN.rawValue) else {
            return nil
        }
    }

    deinit {
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
        if epoll >= 0 { close(epoll) }
        buffer.deallocate()
    }

    /// Adds a socket whose closing `closed` will report.
    func opened(_ socket: Int32) {
        let missing = Int(socket) + 1 - sockets.count
        if missing > 0 { sockets += Array(repeating: Socket(), count: missing) }
        sockets[Int(socket)] = Socket(isKnown: true)
    }

    /// Forgets a socket that is about to be closed. The kernel would watch it for as long as a child process has it.
    func closed(_ socket: Int32) {
        guard sockets.indices.contains(Int(socket)) else { return }
        if sockets[Int(socket)].watched != 0 { _ = control(EPOLL_CTL_DEL, socket, 0) }
        sockets[Int(socket)] = Socket()
    }

    /// Watches a socket for `what`, one of CURL_POLL_…, or stops watching it. Returns false if the kernel refuses.
    ///
    /// libcurl stops watching a kept connection after each transfer and watches it again for the next. So the kernel
    /// keeps watching a known socket until its first event that libcurl does not want: a new request needs no system
    /// call.
    func watch(_ socket: Int32, for what: Int32) -> Bool {
        let wanted: UInt32
        switch what {
        case CURL_POLL_IN: wanted = EPOLLIN.rawValue
        case CURL_POLL_OUT: wanted = EPOLLOUT.rawValue
        case CURL_POLL_INOUT: wanted = EPOLLIN.rawValue | EPOLLOUT.rawValue
        case CURL_POLL_REMOVE:
            leave(socket)
            return true
        default: wanted = 0
        }
        let index = Int(socket)
        guard sockets.indices.contains(index), sockets[index].isKnown else { return add(socket, for: wanted) }
        sockets[index].isWanted = true
        if wanted != 0, sockets[index].watched == wanted { return true }
        let isWatched = add(socket, for: wanted)
        sockets[index].watched = isWatched ? wanted : 0
        return isWatched
    }

    private func leave(_ socket: Int32) {
        let index = Int(socket)
        guard sockets.indices.contains(index), sockets[index].watched != 0 else {
            // Fails for a closed socket, which the kernel has removed already.
            _ = control(EPOLL_CTL_DEL, socket, 0)
            return
        }
        sockets[index].isWanted = false
    }

    /// Has the kernel stop watching a socket that libcurl does not want watched. Returns false for any other socket.
    private func drop(_ socket: Int32) -> Bool {
        let index = Int(socket)
        guard sockets.indices.contains(index), sockets[index].watched != 0, !sockets[index].isWanted else {
            return false
        }
        _ = control(EPOLL_CTL_DEL, socket, 0)
        sockets[index].watched = 0
        return true
    }

    private func add(_ socket: Int32, for wanted: UInt32) -> Bool {
        // libcurl does not say whether the socket is watched already, and its number may have been another socket's.
        if control(EPOLL_CTL_ADD, socket, wanted) { return true }
        return errno == EEXIST && control(EPOLL_CTL_MOD, socket, wanted)
    }

    /// Waits up to `milliseconds` for ready sockets and stores them in `events`.
    func wait(milliseconds: Int64) {
        events.removeAll(keepingCapacity: true)
        let count = epoll_wait(epoll, buffer, Int32(Self.batch), Int32(clamping: milliseconds))
        // Interrupted or timed out: in both cases there is nothing to do yet.
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let (socket, flags) = (buffer[index].data.fd, buffer[index].events)
            if socket == wakeDescriptor {
                var value: eventfd_t = 0
                eventfd_read(wakeDescriptor, &value)
                continue
            }
            if drop(socket) { continue }
            var ready: Int32 = 0
            if flags & EPOLLIN.rawValue != 0 { ready |= CURL_CSELECT_IN }
            if flags & EPOLLOUT.rawValue != 0 { ready |= CURL_CSELECT_OUT }
            if flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { ready |= CURL_CSELECT_ERR }
            events.append(Event(socket: socket, ready: ready))
        }
    }

    private func control(_ operation: Int32, _ socket: Int32, _ wanted: UInt32) -> Bool {
        var event = epoll_event(events: wanted, data: epoll_data_t(fd: socket))
        return epoll_ctl(epoll, operation, socket, &event) == 0
    }
}
