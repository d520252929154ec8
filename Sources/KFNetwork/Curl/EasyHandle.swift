import CCurl
import KFSystem

/// A libcurl easy handle, with the memory that its options refer to. Confined to the I/O thread.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let certificateWanted: UnsafeMutablePointer<Bool>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// The options that the handle is set up with; nil if it needs a new setup.
    private var setup: HandleSetup?
    /// The terms from which `setup` follows completely; nil if it depends on more.
    private var terms: HandleSetup.Terms?
    /// The request that the handle is set up for, apart from its URL and its body; nil if it needs a new setup.
    private var head: RequestHead?
    private let connections: Connections
    private var share: Share?
    /// The parts of a URL of `partsOrigin`.
    private var parts: OpaquePointer?
    private var partsOrigin: Origin?
    /// Whether the parts are the URL of the next transfer.
    private var usesParts = false
    /// Whether options are set that apply to the present transfer only.
    private var hasMarks = false
    /// The transfer that the callbacks serve.
    @exclusivity(unchecked) var context: UnsafeMutableRawPointer?

    /// Creates a handle; nil when out of memory.
    init?(connections: Connections) {
        guard let pointer = kf_easy_new() else { return nil }
        self.pointer = pointer
        self.connections = connections
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        certificateWanted = .allocate(capacity: 1)
        certificateWanted.initialize(to: false)
    }

    deinit {
        kf_easy_free(pointer)
        if let parts { kf_parts_free(parts) }
        kf_list_free(headerList)
        errorText.deallocate()
        certificateWanted.deallocate()
    }

    /// Returns the context of a handle, given the pointer that a callback or the multi handle reports.
    static func context(of handle: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<EasyHandle>.fromOpaque(handle)._withUnsafeGuaranteedRef { $0.context }
    }

    /// Returns whether the handle is set up like this, so that the next transfer needs to set only its request.
    func isReady(for setup: HandleSetup) -> Bool { self.setup == setup }

    func isReady(for terms: HandleSetup.Terms) -> Bool { self.terms.map { $0.isSame(as: terms) } ?? false }

    /// Records that the present setup follows from these terms.
    func remember(_ terms: HandleSetup.Terms?) { self.terms = setup == nil ? nil : terms }

    func setUp(_ setup: HandleSetup, callbacks: CurlCallbacks) throws(TransferError) {
        (self.setup, terms) = (nil, nil)
        try reset()
        // libcurl refuses this while the handle has a buffer, as it does after HTTP/2. There 16 KiB are enough.
        _ = kf_easy_set_long(pointer, CURLOPT_BUFFERSIZE, setup.receiveBufferSize)
        // Also set for libcurl, because it divides the time among the addresses of a host.
        try set(CURLOPT_CONNECTTIMEOUT_MS, setup.connectMilliseconds)
        switch setup.version {
        case .any: break
        case .http11: try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .overTLS:
            try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            // Wait until a pending connection has negotiated HTTP/2, instead of opening one per transfer.
            try set(CURLOPT_PIPEWAIT, 1)
        }
        try set(CURLOPT_USERAGENT, setup.options.userAgent)
        if let proxy = setup.proxy { try set(CURLOPT_PROXY, proxy) }
        if let exceptions = setup.noProxy { try set(CURLOPT_NOPROXY, exceptions) }
        if let file = setup.options.caFile ?? setup.options.systemCAFile { try trustOnly(file) }
        // Starts the cookie engine; the cookies are those of the share.
        if setup.options.cookieJar != nil { try set(CURLOPT_COOKIEFILE, "") }
        if setup.isTrusted {
            try set(CURLOPT_SSL_VERIFYPEER, 0)
            try set(CURLOPT_SSL_VERIFYHOST, 0)
        }
        try check(
            kf_easy_set_callbacks(
                pointer, Unmanaged.passUnretained(self).toOpaque(), callbacks.header, callbacks.body,
                callbacks.openSocket, callbacks.beforeRequest))
        try check(
            kf_easy_set_close_callback(pointer, Unmanaged.passUnretained(connections).toOpaque(), Connections.close))
        if try !setSecrets(setup) { self.setup = setup }
    }

    /// Replaces the system's certificate authorities, both its file and its directory.
    private func trustOnly(_ file: String) throws(TransferError) {
        try OptionFile.check(file, "certificates")
        try set(CURLOPT_CAINFO, file)
        try set(CURLOPT_PROXY_CAINFO, file)
        try check(kf_easy_set_pointer(pointer, CURLOPT_CAPATH, nil))
        try check(kf_easy_set_pointer(pointer, CURLOPT_PROXY_CAPATH, nil))
    }

    /// Sets credentials and the client certificate. Returns true if there are any that need a reset afterwards.
    private func setSecrets(_ setup: HandleSetup) throws(TransferError) -> Bool {
        if let credentials = setup.credentials {
            try set(CURLOPT_USERNAME, credentials.user)
            try set(CURLOPT_PASSWORD, credentials.password)
        }
        if let signing = setup.signing {
            try set(CURLOPT_USERNAME, signing.accessKey)
            try set(CURLOPT_PASSWORD, signing.secretKey)
            try set(CURLOPT_AWS_SIGV4, signing.provider)
        }
        if let certificate = setup.clientCertificate {
            try set(CURLOPT_SSLCERTTYPE, certificate.isPKCS12 ? "P12" : "PEM")
            try OptionFile.check(certificate.file, "client certificate")
            try set(CURLOPT_SSLCERT, certificate.file)
            if let key = certificate.keyFile {
                try OptionFile.check(key, "key of the client certificate")
                try set(CURLOPT_SSLKEY, key)
            }
            if let password = certificate.password { try set(CURLOPT_KEYPASSWD, password) }
        }
        return setup.credentials != nil || setup.clientCertificate != nil
    }

    /// Restores libcurl's defaults and sets the options that every transfer uses. Connections stay with the multi
    /// handle.
    private func reset() throws(TransferError) {
        kf_easy_reset(pointer)
        usesParts = false
        head = nil
        hasMarks = false
        certificateWanted.pointee = false
        kf_list_free(headerList)
        headerList = nil
        errorText[0] = 0
        try check(kf_easy_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorText))
        try set(CURLOPT_NOSIGNAL, 1)
        // May fail: before libcurl 7.87, which lacks the option, the end of a transfer waits for its name lookup.
        _ = kf_easy_set_long(pointer, CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // A reply without a status line then comes as a body, and `receiveBody` refuses it by what it is.
        try set(CURLOPT_HTTP09_ALLOWED, 1)
        // The heads of a proxy's responses to CONNECT do not come from the origin.
        try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    }

    // MARK: Options of one transfer

    /// Clears the options that were set for the last transfer only.
    func clearMarks() throws(TransferError) {
        guard hasMarks else { return }
        try set(CURLOPT_FRESH_CONNECT, 0)
        try set(CURLOPT_FORBID_REUSE, 0)
        try set(CURLOPT_VERBOSE, 0)
        try check(kf_easy_set_pointer(pointer, CURLOPT_DEBUGDATA, nil))
        certificateWanted.pointee = false
        hasMarks = false
    }

    /// Opens a new connection for the transfer; after its request, for a repetition by libcurl.
    func connectAnew() {
        hasMarks = true
        _ = kf_easy_set_long(pointer, CURLOPT_FRESH_CONNECT, 1)
    }

    /// Closes the connection after the transfer, unless another transfer uses it then.
    func closeAfterwards() {
        hasMarks = true
        _ = kf_easy_set_long(pointer, CURLOPT_FORBID_REUSE, 1)
    }

    /// Closes the connection after the transfer if bytes follow the response.
    func closeOnExcess() {
        hasMarks = true
        _ = kf_easy_close_on_excess(pointer)
    }

    /// Starts watching for a server's request for a client certificate, which sets `wantsCertificate`.
    func watchCertificateRequests() throws(TransferError) {
        hasMarks = true
        certificateWanted.pointee = false
        try check(kf_easy_watch_certificate_requests(pointer, certificateWanted))
    }

    var wantsCertificate: Bool { certificateWanted.pointee }

    func use(_ share: Share) throws(TransferError) {
        guard self.share !== share else { return }
        try check(kf_easy_set_pointer(pointer, CURLOPT_SHARE, share.pointer))
        self.share = share
    }

    func set(_ option: CURLoption, _ value: Int) throws(TransferError) {
        try check(kf_easy_set_long(pointer, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(TransferError) {
        // As an argument, the string would be copied to an array first.
        try check(value.withPath { kf_easy_set_string(pointer, option, $0) })
    }

    // MARK: The request

    func set(_ url: TransferURL) throws(TransferError) {
        if setParts(url) {
            if !usesParts, let parts {
                try check(kf_easy_set_pointer(pointer, CURLOPT_CURLU, UnsafeMutableRawPointer(parts)))
            }
            usesParts = true
        } else {
            if usesParts { try check(kf_easy_set_pointer(pointer, CURLOPT_CURLU, nil)) }
            usesParts = false
            try set(CURLOPT_URL, url.bare)
        }
    }

    /// Returns false if libcurl has to parse the URL.
    private func setParts(_ url: TransferURL) -> Bool {
        guard url.plainLength > 0 else { return false }
        let isSame = partsOrigin === url.origin
        partsOrigin = nil
        if parts == nil { parts = kf_parts_new() }
        guard let parts, url.text.withPath({ kf_parts_set(parts, $0, url.plainLength, isSame) }) else { return false }
        partsOrigin = url.origin
        return true
    }

    func isReady(for head: RequestHead) -> Bool { self.head.map { $0.isSame(as: head) } ?? false }

    /// Sets the method and the header lines. Each line is "Name: value", or "Name;" for a header without a value.
    func setUp(_ head: RequestHead, lines: [String], callbacks: CurlCallbacks) throws(TransferError) {
        let method = self.head?.method ?? .get
        self.head = nil
        if head.method != method { try set(head.method, callbacks) }
        let old = headerList
        headerList = nil
        defer { kf_list_free(old) }
        for line in lines {
            guard let list = line.withPath({ kf_list_append(headerList, $0) }) else {
                throw .engine(detail: "out of memory")
            }
            headerList = list
        }
        try check(kf_easy_set_pointer(pointer, CURLOPT_HTTPHEADER, headerList))
        self.head = head
    }

    private func set(_ method: TransferMethod, _ callbacks: CurlCallbacks) throws(TransferError) {
        // This also unsets NOBODY and UPLOAD.
        try set(CURLOPT_HTTPGET, 1)
        try check(kf_easy_set_string(pointer, CURLOPT_CUSTOMREQUEST, method.customName))
        switch method {
        case .get, .makeCollection: break
        case .head: try set(CURLOPT_NOBODY, 1)
        case .put:
            try set(CURLOPT_UPLOAD, 1)
            // libcurl 7.88 signs even the removal of a header, so `Expect` is sent, but its answer not awaited.
            try set(CURLOPT_EXPECT_100_TIMEOUT_MS, 0)
            try check(
                kf_easy_set_upload_callbacks(
                    pointer, Unmanaged.passUnretained(self).toOpaque(), callbacks.read, callbacks.seek))
        }
    }

    /// Sets the number of bytes that the callback for the body will supply.
    func setBodySize(_ size: Int64) throws(TransferError) {
        try check(kf_easy_set_size(pointer, CURLOPT_INFILESIZE_LARGE, size))
    }

    /// Returns the number of request bytes that the peer's kernel has acknowledged; without a socket, those that
    /// libcurl has passed on.
    func acknowledged(on socket: Int32?) -> Int64 { kf_easy_acknowledged(pointer, socket ?? -1) }

    /// Resumes a body that a callback has paused.
    func resume() -> CURLcode { kf_easy_resume(pointer) }

    func check(_ code: CURLcode) throws(TransferError) {
        guard code != CURLE_OK else { return }
        throw .engine(detail: String(cString: kf_curl_strerror(code)))
    }

    /// The details of a failed transfer.
    var failure: kf_easy_failure {
        var failure = kf_easy_failure()
        kf_easy_get_failure(pointer, &failure)
        return failure
    }

    var remoteAddress: String { String(cString: kf_easy_remote_address(pointer)) }

    var facts: kf_easy_facts {
        var facts = kf_easy_facts()
        kf_easy_get_facts(pointer, &facts)
        return facts
    }

    /// Returns libcurl's message for a failure, without user info.
    func errorDetail(for code: CURLcode) -> String {
        Self.withoutUserInfo(errorText[0] != 0 ? String(cString: errorText) : String(cString: kf_curl_strerror(code)))
    }

    /// Returns the text without the user info of a URL in it. libcurl quotes the whole URL of an unusable proxy, with
    /// its password. A message quotes at most one URL, so everything from its start to the last @ is removed.
    static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        let head = text[..<at]
        let start = head.firstRange(of: "://")?.upperBound ?? head.firstIndex(of: "'").map { head.index(after: $0) }
        return text[..<(start ?? text.startIndex)] + "…" + text[at...]
    }
}

/// All options of a handle for a hop except its request. A handle with the same setup is used as it is: setting the options
/// again costs a tenth of a transfer of a small file over a warm connection.
struct HandleSetup: Equatable {
    enum Version { case any, overTLS, http11 }

    /// The values that determine the setup of nearly every hop. Comparing them is cheaper than making the setup.
    struct Terms {
        let terms: TransferTerms
        let signing: AWSSigning?
        let isSecure: Bool
        let isTrusted: Bool

        func isSame(as other: Terms) -> Bool {
            terms === other.terms && isSecure == other.isSecure && isTrusted == other.isTrusted
                && signing == other.signing
        }
    }

    var options: TransferOptions
    var version: Version
    var connectMilliseconds: Int
    var receiveBufferSize: Int
    /// The signature of the request. Its credentials take the place of `credentials`.
    var signing: AWSSigning?
    /// The user and the password that libcurl sends by the Basic scheme.
    var credentials: Credentials?
    var clientCertificate: ClientCertificate?
    var isTrusted: Bool
    /// The proxy; empty for none, nil to use the environment's.
    var proxy: String?
    var noProxy: String?
}

/// A request apart from its URL and its body.
struct RequestHead {
    let method: TransferMethod
    let headers: [(name: String, value: String)]
    let resumption: TransferRequest.Resumption?

    func isSame(as other: RequestHead) -> Bool {
        method == other.method && headers.count == other.headers.count && resumption == other.resumption
            && headers.indices.allSatisfy { headers[$0] == other.headers[$0] }
    }
}

/// The callbacks of a handle. Each gets the handle as its context.
struct CurlCallbacks {
    var header: kf_bytes_fn
    var body: kf_bytes_fn
    var openSocket: kf_socket_fn
    var beforeRequest: kf_prerequest_fn
    /// These two supply the body of a request.
    var read: kf_bytes_fn
    var seek: kf_seek_fn
}
