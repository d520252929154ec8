import CCurl
import Glibc

/// libcurl's multi handle, driven by epoll. Confined to the I/O thread but for its waker.
///
/// `curl_multi_perform` looks at every transfer in every turn, and asks the kernel about most of them. Here only
/// the sockets that are ready are looked at: a third fewer waits for the kernel with 64 transfers at once.
final class MultiHandle {
    /// The one call that other threads may make.
    struct Waker: Sendable {
        // Writing to an eventfd is atomic. The mailbox drops the waker, under its lock, before the descriptor is closed.
        fileprivate let descriptor: Int32

        func wake() { _ = eventfd_write(descriptor, 1) }
    }

    private let pointer: UnsafeMutableRawPointer
    private let watcher: Watcher
    let connections: Connections

    /// nil when memory or descriptors ran out.
    init?(keptConnections: Int) {
        guard let watcher = Watcher() else { return nil }
        guard let pointer = kf_multi_new() else { return nil }
        self.pointer = pointer
        self.watcher = watcher
        connections = Connections(kept: keptConnections, watcher: watcher)
        _ = kf_multi_set_long(pointer, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // More than `connections` keeps: libcurl must not close any by itself.
        _ = kf_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, 4 * keptConnections)
        _ = kf_multi_set_callbacks(
            pointer, Unmanaged.passUnretained(watcher).toOpaque(), MultiHandle.watch, MultiHandle.timer)
    }

    // libcurl's last words about its sockets still go to both.
    deinit { withExtendedLifetime((watcher, connections)) { kf_multi_free(pointer) } }

    var waker: Waker { Waker(descriptor: watcher.wakeDescriptor) }

    func add(_ handle: EasyHandle) throws(TransferError) { try check(kf_multi_add(pointer, handle.pointer)) }

    func remove(_ handle: EasyHandle) { _ = kf_multi_remove(pointer, handle.pointer) }

    /// Waits for sockets, for libcurl's timer and for the waker, no longer than that.
    func wait(milliseconds: Int64) {
        watcher.wait(milliseconds: watcher.timer?.milliseconds(after: .now, limit: milliseconds) ?? milliseconds)
    }

    /// Lets libcurl do what there is to do after the wait.
    func act() throws(TransferError) {
        for event in watcher.events {
            try check(kf_multi_act(pointer, event.socket, event.ready))
        }
        try actOnTimer()
    }

    /// Lets libcurl do what its timer is for, if that is due. A transfer that was added sends its request here.
    func actOnTimer() throws(TransferError) {
        guard let timer = watcher.timer, timer <= .now else { return }
        // Forgotten first: libcurl sets the next one within the call, or none if there is none.
        watcher.timer = nil
        try check(kf_multi_act(pointer, -1, 0))  // CURL_SOCKET_TIMEOUT
    }

    /// The context of a transfer that ended, and how.
    func nextDone() -> (context: UnsafeMutableRawPointer?, code: CURLcode)? {
        var context: UnsafeMutableRawPointer?
        var code = CURLE_OK
        return kf_multi_next_done(pointer, &context, &code) ? (context, code) : nil
    }

    private static let watch: kf_watch_fn = { _, socket, what, context, _ in
        Unmanaged<Watcher>.fromOpaque(context!).takeUnretainedValue().watch(socket, for: what) ? 0 : -1
    }

    private static let timer: kf_timer_fn = { _, milliseconds, context in
        Unmanaged<Watcher>.fromOpaque(context!).takeUnretainedValue().timer =
            switch milliseconds {
            case ..<0: nil
            // Set for every transfer that starts: due at once, whatever the time is.
            case 0: MonotonicTime(nanoseconds: 0)
            default:
                .now.advanced(nanoseconds: Int64(milliseconds).multipliedReportingOverflow(by: 1_000_000).partialValue)
            }
        return 0
    }

    private func check(_ code: CURLMcode) throws(TransferError) {
        guard code != CURLM_OK else { return }
        throw .engine(detail: String(cString: kf_curl_multi_strerror(code)))
    }
}
