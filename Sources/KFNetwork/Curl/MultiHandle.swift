import CCurl

/// libcurl's multi handle. Confined to the I/O thread but for its waker.
final class MultiHandle {
    /// The one call that other threads may make.
    struct Waker: @unchecked Sendable {
        // curl_multi_wakeup() is documented as callable from any thread while the handle lives; nothing else is done
        // with the pointer here, and the mailbox drops the waker, under its lock, before the handle is freed.
        fileprivate let pointer: UnsafeMutableRawPointer

        func wake() { _ = kf_multi_wakeup(pointer) }
    }

    private let pointer: UnsafeMutableRawPointer

    /// nil when memory or descriptors ran out.
    init?(keptConnections: Int) {
        guard let pointer = kf_multi_new() else { return nil }
        self.pointer = pointer
        _ = kf_multi_set_long(pointer, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // The default, four per handle added, shrinks and grows with the handles.
        _ = kf_multi_set_long(pointer, CURLMOPT_MAXCONNECTS, keptConnections)
    }

    deinit { kf_multi_free(pointer) }

    var waker: Waker { Waker(pointer: pointer) }

    func add(_ handle: EasyHandle) throws(TransferError) { try check(kf_multi_add(pointer, handle.pointer)) }

    func remove(_ handle: EasyHandle) { _ = kf_multi_remove(pointer, handle.pointer) }

    func perform() throws(TransferError) {
        var running: Int32 = 0
        try check(kf_multi_perform(pointer, &running))
    }

    func poll(milliseconds: Int64) throws(TransferError) {
        try check(kf_multi_poll(pointer, Int32(clamping: milliseconds)))
    }

    /// The context of a transfer that ended, and how.
    func nextDone() -> (context: UnsafeMutableRawPointer?, code: CURLcode)? {
        var context: UnsafeMutableRawPointer?
        var code = CURLE_OK
        return kf_multi_next_done(pointer, &context, &code) ? (context, code) : nil
    }

    private func check(_ code: CURLMcode) throws(TransferError) {
        guard code != CURLM_OK else { return }
        throw .engine(detail: String(cString: kf_curl_multi_strerror(code)))
    }
}
