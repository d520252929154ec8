import CCurl
import Glibc

/// The sockets that libcurl wants watched, and the moment at which it wants to be called without an event.
final class Watcher {
    struct Event {
        var socket: Int32
        /// CURL_CSELECT_…
        var ready: Int32
    }

    /// A socket whose closing is told here. libcurl watches others, which it closes by itself.
    private struct Socket {
        var isKnown = false
        /// What the kernel watches it for; 0 if it does not.
        var watched: UInt32 = 0
        /// libcurl wants it watched no more, which the kernel has not been told.
        var isLeaving = false
    }

    /// As much as is worth taking from the kernel at once; what is left comes with the next call.
    private static let batch = 64

    let wakeDescriptor: Int32
    @exclusivity(unchecked) var timer: MonotonicTime?

    private let epoll: Int32
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: Watcher.batch)
    /// The sockets that were ready when the last wait ended.
    @exclusivity(unchecked) private(set) var events: [Event] = []

    /// By number.
    @exclusivity(unchecked) private var sockets: [Socket] = []
    @exclusivity(unchecked) private var leaving: [Int32] = []

    /// nil when descriptors ran out.
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

    /// From now on the socket is one whose closing is told by `closed`.
    func opened(_ socket: Int32) {
        let missing = Int(socket) + 1 - sockets.count
        if missing > 0 { sockets += Array(repeating: Socket(), count: missing) }
        sockets[Int(socket)] = Socket(isKnown: true)
    }

    /// The kernel watches no socket that is closed.
    func closed(_ socket: Int32) {
        if sockets.indices.contains(Int(socket)) { sockets[Int(socket)] = Socket() }
    }

    /// `what` is one of CURL_POLL_…. False when the kernel will not have it.
    ///
    /// libcurl has a kept connection unwatched after each transfer and watched again for the next. What happens between
    /// two waits comes to nothing, so the kernel is told at the next wait, of those sockets whose closing is known.
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
        sockets[index].isLeaving = false
        if wanted != 0, sockets[index].watched == wanted { return true }
        let isWatched = add(socket, for: wanted)
        sockets[index].watched = isWatched ? wanted : 0
        return isWatched
    }

    private func leave(_ socket: Int32) {
        let index = Int(socket)
        guard sockets.indices.contains(index), sockets[index].watched != 0 else {
            // A socket that was closed is gone already.
            _ = control(EPOLL_CTL_DEL, socket, 0)
            return
        }
        guard !sockets[index].isLeaving else { return }
        sockets[index].isLeaving = true
        leaving.append(socket)
    }

    /// Tells the kernel what libcurl wants watched no more.
    private func flush() {
        for socket in leaving where sockets[Int(socket)].isLeaving {
            _ = control(EPOLL_CTL_DEL, socket, 0)
            sockets[Int(socket)].watched = 0
            sockets[Int(socket)].isLeaving = false
        }
        leaving.removeAll(keepingCapacity: true)
    }

    private func add(_ socket: Int32, for wanted: UInt32) -> Bool {
        // libcurl does not say whether it knows the socket from before, and its number may have had another owner.
        if control(EPOLL_CTL_ADD, socket, wanted) { return true }
        return errno == EEXIST && control(EPOLL_CTL_MOD, socket, wanted)
    }

    /// Gathers the sockets that are ready, at once or within that time.
    func wait(milliseconds: Int64) {
        events.removeAll(keepingCapacity: true)
        flush()
        let count = epoll_wait(epoll, buffer, Int32(Self.batch), Int32(clamping: milliseconds))
        // Interrupted, or nothing: both mean that there is nothing to do yet.
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let (socket, flags) = (buffer[index].data.fd, buffer[index].events)
            if socket == wakeDescriptor {
                var value: eventfd_t = 0
                eventfd_read(wakeDescriptor, &value)
                continue
            }
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
