import CSystem
import Glibc

/// The kernel's watch over many sockets, and a way to end a wait from another thread. Confined to one thread, except for its
/// waker.
///
/// Linux: epoll and an eventfd. macOS would be `kqueue` with EVFILT_READ, EVFILT_WRITE and EVFILT_USER; that is not built.
package final class ReadinessQueue {
    /// The operations that a socket is watched for, or is ready for.
    package struct Readiness: OptionSet {
        package let rawValue: UInt32

        package init(rawValue: UInt32) { self.rawValue = rawValue }

        package static let read = Readiness(rawValue: EPOLLIN.rawValue)
        package static let write = Readiness(rawValue: EPOLLOUT.rawValue)
        /// An error, or the end of the connection. Always reported.
        package static let broken = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)

        // The standard library's are generic code, which other modules would run unspecialized for each request.
        package init() { rawValue = 0 }
        package var isEmpty: Bool { rawValue == 0 }
    }

    /// Ends the present or next wait, from any thread. Must not be used after the queue is gone.
    package struct Waker: Sendable {
        // Writing to an eventfd is atomic.
        fileprivate let descriptor: Int32

        package func wake() { _ = eventfd_write(descriptor, 1) }
    }

    /// The greatest number of events taken from the kernel at once; the next call returns the rest.
    package static let batch = 64

    package let waker: Waker
    private let epoll: Int32
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: batch)

    /// Creates a queue; nil when out of descriptors.
    package init?() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        waker = Waker(descriptor: eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)))
        guard epoll >= 0, waker.descriptor >= 0, control(EPOLL_CTL_ADD, waker.descriptor, .read) else { return nil }
    }

    deinit {
        if waker.descriptor >= 0 { close(waker.descriptor) }
        if epoll >= 0 { close(epoll) }
        buffer.deallocate()
    }

    /// Watches a socket for `wanted` alone. Returns false if the kernel refuses.
    package func watch(_ socket: Int32, for wanted: Readiness) -> Bool {
        // The caller may not know whether the socket is watched, and its number may have been another socket's.
        if control(EPOLL_CTL_ADD, socket, wanted) { return true }
        return errno == EEXIST && control(EPOLL_CTL_MOD, socket, wanted)
    }

    /// Stops watching a socket. Has no effect on a closed one, which the kernel has removed, unless a child process has it.
    package func forget(_ socket: Int32) { _ = control(EPOLL_CTL_DEL, socket, Readiness()) }

    /// Waits up to `milliseconds`, and calls `each` with every socket that is ready, `batch` at most.
    package func wait(milliseconds: Int64, each: (Int32, Readiness) -> Void) {
        let count = epoll_wait(epoll, buffer, Int32(clamping: Self.batch), Int32(clamping: milliseconds))
        // Interrupted or timed out: in both cases there is nothing to do yet.
        guard count > 0 else { return }
        for index in 0..<Int(count) {
            let socket = buffer[index].data.fd
            guard socket == waker.descriptor else {
                each(socket, Readiness(rawValue: buffer[index].events))
                continue
            }
            var value: eventfd_t = 0
            eventfd_read(socket, &value)
        }
    }

    private func control(_ operation: Int32, _ socket: Int32, _ wanted: Readiness) -> Bool {
        var event = epoll_event(events: wanted.rawValue, data: epoll_data_t(fd: socket))
        return epoll_ctl(epoll, operation, socket, &event) == 0
    }
}
