import CCurl
import Glibc

/// One of libcurl's easy handles, with what must live as long as its options. Confined to the I/O thread.
final class EasyHandle {
    let pointer: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let certificateWanted: UnsafeMutablePointer<Bool>
    private var headerList: UnsafeMutablePointer<curl_slist>?
    /// What the handle has been told, as far as that still holds.
    private var setup: HandleSetup?
    /// What that followed from, if that is all of it.
    private var terms: HandleSetup.Terms?
    private let connections: Connections
    private var share: Share?
    /// Whether options are set that hold for the present transfer alone.
    private var hasMarks = false
    /// Whom the callbacks are for.
    @exclusivity(unchecked) var context: UnsafeMutableRawPointer?

    /// nil when memory ran out.
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
        kf_list_free(headerList)
        errorText.deallocate()
        certificateWanted.deallocate()
    }

    /// The context of the handle that a callback or the multi handle got hold of.
    static func context(of handle: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        Unmanaged<EasyHandle>.fromOpaque(handle)._withUnsafeGuaranteedRef { $0.context }
    }

    /// Whether the next transfer needs to be told to the handle by its address alone.
    func isReady(for setup: HandleSetup) -> Bool { self.setup == setup }

    func isReady(for terms: HandleSetup.Terms) -> Bool { self.terms.map { $0.isSame(as: terms) } ?? false }

    /// The present setup follows from these.
    func remember(_ terms: HandleSetup.Terms?) { self.terms = setup == nil ? nil : terms }

    /// A transfer that broke off, or that knew secrets, leaves traces which only a reset removes.
    func forgetSetup() {
        setup = nil
        terms = nil
    }

    func setUp(_ setup: HandleSetup, callbacks: CurlCallbacks) throws(TransferError) {
        forgetSetup()
        try reset()
        // Refused while the handle still has a buffer, which it keeps after HTTP/2; 16 KiB do there.
        _ = kf_easy_set_long(pointer, CURLOPT_BUFFERSIZE, setup.receiveBufferSize)
        // libcurl's own limit too, because it divides the time among the addresses of a host.
        try set(CURLOPT_CONNECTTIMEOUT_MS, setup.connectMilliseconds)
        switch setup.version {
        case .any: break
        case .http11: try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        case .overTLS:
            try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            // Wait whether a connection under way turns out to be HTTP/2 rather than open one for each transfer.
            try set(CURLOPT_PIPEWAIT, 1)
        }
        try set(CURLOPT_USERAGENT, setup.options.userAgent)
        if !setup.headerLines.isEmpty { try set(headerLines: setup.headerLines) }
        if let proxy = setup.proxy { try set(CURLOPT_PROXY, proxy) }
        if let exceptions = setup.noProxy { try set(CURLOPT_NOPROXY, exceptions) }
        if let file = setup.options.caFile { try trustOnly(file) }
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

    /// libcurl looks for authorities in the system's file, and in the system's directory as well.
    private func trustOnly(_ file: String) throws(TransferError) {
        try set(CURLOPT_CAINFO, file)
        try set(CURLOPT_PROXY_CAINFO, file)
        try check(kf_easy_set_pointer(pointer, CURLOPT_CAPATH, nil))
        try check(kf_easy_set_pointer(pointer, CURLOPT_PROXY_CAPATH, nil))
    }

    /// True when there are any.
    private func setSecrets(_ setup: HandleSetup) throws(TransferError) -> Bool {
        if let credentials = setup.credentials {
            try set(CURLOPT_USERNAME, credentials.user)
            try set(CURLOPT_PASSWORD, credentials.password)
        }
        if setup.usesDigest { try set(CURLOPT_HTTPAUTH, 2) }  // CURLAUTH_DIGEST, a macro that Swift cannot see
        if let file = setup.options.netrcFile {
            if !file.isEmpty { try set(CURLOPT_NETRC_FILE, file) }
            try set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        }
        if let certificate = setup.clientCertificate {
            try set(CURLOPT_SSLCERTTYPE, certificate.isPKCS12 ? "P12" : "PEM")
            try set(CURLOPT_SSLCERT, certificate.file)
            if let key = certificate.keyFile { try set(CURLOPT_SSLKEY, key) }
            if let password = certificate.password { try set(CURLOPT_KEYPASSWD, password) }
        }
        return setup.credentials != nil || setup.usesDigest || setup.options.netrcFile != nil
            || setup.clientCertificate != nil
    }

    /// Back to libcurl's defaults, and ours that hold for every transfer. Connections stay with the multi handle.
    private func reset() throws(TransferError) {
        kf_easy_reset(pointer)
        hasMarks = false
        certificateWanted.pointee = false
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

    // MARK: For one transfer

    /// Takes back what was set for the last transfer alone.
    func clearMarks() throws(TransferError) {
        guard hasMarks else { return }
        try set(CURLOPT_FRESH_CONNECT, 0)
        try set(CURLOPT_FORBID_REUSE, 0)
        try set(CURLOPT_VERBOSE, 0)
        try check(kf_easy_set_pointer(pointer, CURLOPT_DEBUGDATA, nil))
        certificateWanted.pointee = false
        hasMarks = false
    }

    /// The transfer gets a connection of its own.
    func connectAnew() throws(TransferError) {
        hasMarks = true
        try set(CURLOPT_FRESH_CONNECT, 1)
    }

    /// The connection is closed after the transfer, if no other uses it then.
    func closeAfterwards() {
        hasMarks = true
        _ = kf_easy_set_long(pointer, CURLOPT_FORBID_REUSE, 1)
    }

    /// The connection is closed after the transfer if more than the answer came.
    func closeOnExcess() {
        hasMarks = true
        _ = kf_easy_close_on_excess(pointer)
    }

    /// From now on `wantsCertificate` says whether a server has asked for the client's.
    func watchCertificateRequests() throws(TransferError) {
        hasMarks = true
        certificateWanted.pointee = false
        try check(kf_easy_watch_certificate_requests(pointer, certificateWanted))
    }

    var wantsCertificate: Bool { certificateWanted.pointee }

    /// Uses the names and cookies of a share.
    func use(_ share: Share) throws(TransferError) {
        guard self.share !== share else { return }
        try check(kf_easy_set_pointer(pointer, CURLOPT_SHARE, share.pointer))
        self.share = share
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

    /// What is known of a transfer that has failed.
    var failure: kf_easy_failure {
        var failure = kf_easy_failure()
        kf_easy_get_failure(pointer, &failure)
        return failure
    }

    /// The address that the transfer went to.
    var remoteAddress: String { String(cString: kf_easy_remote_address(pointer)) }

    var facts: kf_easy_facts {
        var facts = kf_easy_facts()
        kf_easy_get_facts(pointer, &facts)
        return facts
    }

    /// What went wrong in libcurl's words, without user info.
    func errorDetail(for code: CURLcode) -> String {
        Self.withoutUserInfo(errorText[0] != 0 ? String(cString: errorText) : String(cString: kf_curl_strerror(code)))
    }

    /// libcurl quotes the whole address of a proxy that it cannot use, its password included. There is one address in a
    /// message at most, so everything from its beginning to the last @ goes.
    static func withoutUserInfo(_ text: String) -> String {
        guard let at = text.lastIndex(of: "@") else { return text }
        let head = text[..<at]
        let start = head.firstRange(of: "://")?.upperBound ?? head.firstIndex(of: "'").map { head.index(after: $0) }
        return text[..<(start ?? text.startIndex)] + "…" + text[at...]
    }
}

/// Everything that a handle is told for a hop but its address. A handle that was set up like that before is used as it
/// is: for small files over warm connections, setting the options again costs a tenth of a transfer.
struct HandleSetup: Equatable {
    enum Version { case any, overTLS, http11 }

    /// What the setup of nearly every hop follows from; cheaper to compare than the setup is to make.
    struct Terms {
        let terms: TransferTerms
        let headers: [(name: String, value: String)]
        let isSecure: Bool
        let isTrusted: Bool

        func isSame(as other: Terms) -> Bool {
            terms === other.terms && isSecure == other.isSecure && isTrusted == other.isTrusted
                && headers.count == other.headers.count
                && headers.indices.allSatisfy { headers[$0] == other.headers[$0] }
        }
    }

    var options: TransferOptions
    var version: Version
    var connectMilliseconds: Int
    var receiveBufferSize: Int
    var headerLines: [String]
    /// The hop's, which may differ from the options' after a redirect or a challenge.
    var credentials: Credentials?
    var usesDigest: Bool
    var clientCertificate: ClientCertificate?
    var isTrusted: Bool
    /// Nil leaves the choice of a proxy to the environment.
    var proxy: String?
    var noProxy: String?
}

/// What libcurl calls while it works on a handle, each with the handle as context.
struct CurlCallbacks {
    var header: kf_bytes_fn
    var body: kf_bytes_fn
    var openSocket: kf_socket_fn
    var beforeRequest: kf_prerequest_fn
}

/// Data that the handles of one thread share: resolved names, and the cookies of a jar.
final class Share {
    let pointer: UnsafeMutableRawPointer
    private let cookieJar: String?

    /// Reads the cookie jar, a Netscape cookie file, if it exists. Throws `.engine` when the jar could not be written
    /// later, or memory is exhausted.
    init(cookieJar: String? = nil) throws(TransferError) {
        if let cookieJar { try Self.prepare(cookieJar) }
        guard let pointer = kf_share_new(cookieJar == nil ? 0 : 1) else { throw .engine(detail: "out of memory") }
        self.pointer = pointer
        self.cookieJar = cookieJar
        exchangeCookies(CURLOPT_COOKIEFILE, "RELOAD")
    }

    /// Writes the cookie jar. No handle uses the share any more.
    deinit {
        exchangeCookies(CURLOPT_COOKIEJAR, "FLUSH")
        kf_share_free(pointer)
    }

    /// Makes the jar if it does not exist, for its owner only. libcurl keeps that mode, and reports no failure when it
    /// writes: it makes a temporary file beside the jar and renames it.
    private static func prepare(_ path: String) throws(TransferError) {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw .engine(detail: "cookie jar \(path): \(String(cString: strerror(errno)))") }
        close(file)
    }

    /// Gives a command to libcurl's cookie engine by a handle that makes no transfer.
    private func exchangeCookies(_ option: CURLoption, _ command: String) {
        guard let cookieJar, let handle = kf_easy_new() else { return }
        // Nothing can fail here but an allocation, and then the cookies are lost.
        _ = kf_easy_set_pointer(handle, CURLOPT_SHARE, pointer)
        // libcurl takes "-" for a standard stream.
        _ = kf_easy_set_string(handle, option, cookieJar == "-" ? "./-" : cookieJar)
        _ = kf_easy_set_string(handle, CURLOPT_COOKIELIST, command)
        // Its end would write the jar once more.
        if option == CURLOPT_COOKIEJAR { _ = kf_easy_set_pointer(handle, option, nil) }
        kf_easy_free(handle)
    }
}

/// The shares of one I/O thread.
///
/// libcurl 7.88 walks its whole cache of names, which holds those of the last 60 s, at the end of every transfer: 10,000
/// transfers to 10,000 hosts spent a third of their time there. So a new share replaces one that 256 hosts have used; the
/// old one is freed when the last handle has left it. Transfers with a cookie jar share names and cookies per jar.
final class Shares {
    @exclusivity(unchecked) private var names: (share: Share, generation: Int)?
    @exclusivity(unchecked) private var jars: [String: Share] = [:]

    /// Returns the share for a transfer. `generation` is the scheduler's present generation of hosts.
    func share(for options: TransferOptions, generation: Int) throws(TransferError) -> Share {
        if let cookieJar = options.cookieJar {
            if let share = jars[cookieJar] { return share }
            let share = try Share(cookieJar: cookieJar)
            jars[cookieJar] = share
            return share
        }
        if let names, names.generation == generation { return names.share }
        let share = try Share()
        names = (share, generation)
        return share
    }
}
