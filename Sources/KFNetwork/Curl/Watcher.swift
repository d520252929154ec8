import CCurl
import Glibc

/// The sockets that libcurl wants watched, and the moment at which it wants to be called without an event.
final class Watcher {
    struct Event {
        var socket: Int32
        /// CURL_CSELECT_…
        var ready: Int32
    }

    /// As much as is worth taking from the kernel at once; what is left comes with the next call.
    private static let batch = 64

    let wakeDescriptor: Int32
    var timer: MonotonicTime?

    private let epoll: Int32
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: Watcher.batch)
    /// The sockets that were ready when the last wait ended.
    private(set) var events: [Event] = []

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

    /// `what` is one of CURL_POLL_…. False when the kernel will not have it.
    func watch(_ socket: Int32, for what: Int32) -> Bool {
        let wanted: UInt32
        switch what {
        case CURL_POLL_IN: wanted = EPOLLIN.rawValue
        case CURL_POLL_OUT: wanted = EPOLLOUT.rawValue
        case CURL_POLL_INOUT: wanted = EPOLLIN.rawValue | EPOLLOUT.rawValue
        case CURL_POLL_REMOVE:
            // A socket that was closed is gone already.
            _ = control(EPOLL_CTL_DEL, socket, 0)
            return true
        default: wanted = 0
        }
        // libcurl does not say whether it knows the socket from before, and its number may have had another owner.
        if control(EPOLL_CTL_ADD, socket, wanted) { return true }
        return errno == EEXIST && control(EPOLL_CTL_MOD, socket, wanted)
    }

    /// Gathers the sockets that are ready, at once or within that time.
    func wait(milliseconds: Int64) {
        events.removeAll(keepingCapacity: true)
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
