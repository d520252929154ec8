import CCurl
import Glibc
import KFSystem

/// libcurl's multi handle, driven by a queue of ready sockets. Confined to the I/O thread, except for its waker.
///
/// `curl_multi_perform` checks every transfer in every turn, with a system call for most of them. This type acts only
/// on ready sockets, which saves a third of the waits for the kernel with 64 concurrent transfers.
final class MultiHandle {
    private let pointer: UnsafeMutableRawPointer
    private let watcher: Watcher
    let connections: Connections

    /// Creates a multi handle; nil when out of memory or descriptors.
    init?(keptConnections: Int) {
        guard let watcher = Watcher() else { return nil }
        guard let pointer = kf_multi_new() else { return nil }
        self.pointer = pointer
        self.watcher = watcher
        connections = Connections(kept: keptConnections, watcher: watcher)
        _ = kf_multi_set_long(pointer, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // More than `connections` keeps, so that libcurl closes none by itself.
        _ = kf_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, 4 * keptConnections)
        _ = kf_multi_set_callbacks(
            pointer, Unmanaged.passUnretained(watcher).toOpaque(), MultiHandle.watch, MultiHandle.timer)
    }

    // While it is freed, libcurl still calls both about its sockets.
    deinit { withExtendedLifetime((watcher, connections)) { kf_multi_free(pointer) } }

    /// Wakes the I/O thread. The mailbox drops it, under its lock, before the watcher goes.
    var waker: ReadinessQueue.Waker { watcher.waker }

    func add(_ handle: EasyHandle) throws(TransferError) { try check(kf_multi_add(pointer, handle.pointer)) }

    func remove(_ handle: EasyHandle) { _ = kf_multi_remove(pointer, handle.pointer) }

    /// Waits for a ready socket, libcurl's timer or the waker, for `milliseconds` at most.
    func wait(milliseconds: Int64) {
        watcher.wait(milliseconds: watcher.timer?.milliseconds(after: .now, limit: milliseconds) ?? milliseconds)
    }

    /// Has libcurl handle the ready sockets and its timer after the wait.
    func act() throws(TransferError) {
        for event in watcher.events {
            try check(kf_multi_act(pointer, event.socket, event.ready))
        }
        try actOnTimer()
    }

    /// Has libcurl handle its timer if that is due. An added transfer sends its request here.
    func actOnTimer() throws(TransferError) {
        guard let timer = watcher.timer, timer <= .now else { return }
        // Cleared first, because libcurl sets its next timer within the call.
        watcher.timer = nil
        try check(kf_multi_act(pointer, -1, 0))  // CURL_SOCKET_TIMEOUT
    }

    /// Returns the context and the result of the next finished transfer; nil if there is none.
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
            // libcurl sets 0 for every transfer that starts. It is due at once, so the clock is not read.
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
