import CCurl

/// One of libcurl's easy handles, with what must live as long as its options. Confined to the I/O thread.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private var headerList: UnsafeMutablePointer<curl_slist>?

    /// nil when memory ran out.
    init?() {
        guard let pointer = kf_easy_new() else { return nil }
        self.pointer = pointer
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        kf_easy_free(pointer)
        kf_list_free(headerList)
        errorText.deallocate()
    }

    /// Back to libcurl's defaults, and ours that hold for every transfer. Connections stay with the multi handle.
    func reset() throws(TransferError) {
        kf_easy_reset(pointer)
        kf_list_free(headerList)
        headerList = nil
        errorText[0] = 0
        try check(kf_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText))
        try set(CURLOPT_NOSIGNAL, 1)
        // Unknown before libcurl 7.87: then the end of a transfer waits for its lookup, and that is all.
        _ = kf_easy_set_long(pointer, CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // Heads of a proxy's answers to CONNECT are not those of the origin.
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransferError) {
        try check(kf_easy_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(TransferError) {
        try check(kf_easy_set_string(pointer, option, value))
    }

    /// Each line is "Name: value", or "Name;" for a header without value.
    func set(headerLines: [String]) throws(TransferError) {
        for line in headerLines {
            guard let list = kf_list_append(headerList, line) else { throw .engine(detail: "out of memory") }
            headerList = list
        }
        try check(kf_easy_set_pointer(pointer, CURLOPT_HTTPHEADER, headerList))
    }

    /// Goes on with a body that a callback paused.
    func resume() -> CURLcode { kf_easy_resume(pointer) }

    func check(_ code: CURLcode) throws(TransferError) {
        guard code != CURLE_OK else { return }
        throw .engine(detail: String(cString: kf_curl_strerror(code)))
    }

    var facts: kf_easy_facts {
        var facts = kf_easy_facts()
        kf_easy_get_facts(pointer, &facts)
        return facts
    }

    func errorDetail(for code: CURLcode) -> String {
        errorText[0] != 0 ? String(cString: errorText) : String(cString: kf_curl_strerror(code))
    }
}
