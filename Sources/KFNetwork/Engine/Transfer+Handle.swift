import CCurl
import Glibc

extension Transfer {
    /// Sets a handle up for the current hop. The transfer must outlive the handle's time in the multi handle.
    func configure(_ handle: EasyHandle, receiveBufferSize: Int) throws(TransferError) {
        let options = request.options
        let origin = hop.url.origin
        try handle.reset()
        try handle.set(CURLOPT_URL, hop.url.text)
        // Refused while the handle still has a buffer, which it keeps after HTTP/2; 16 KiB do there.
        _ = kf_easy_set_long(handle.pointer, CURLOPT_BUFFERSIZE, receiveBufferSize)
        // libcurl's own limit too, because it divides the time among the addresses of a host.
        try handle.set(CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds)
        if options.forceHTTP11 {
            try handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        } else if origin.isSecure {
            try handle.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
            // Wait whether a connection under way turns out to be HTTP/2 rather than open one for each transfer.
            try handle.set(CURLOPT_PIPEWAIT, 1)
        }
        if let agent = options.userAgent {
            guard Hop.isClean(agent) else { throw .invalidRequestHeader(name: "User-Agent") }
            try handle.set(CURLOPT_USERAGENT, agent)
        }
        let lines = try hop.headerLines(resumption: request.resumption)
        if !lines.isEmpty { try handle.set(headerLines: lines) }
        try configureCredentials(handle)
        try configureProxy(handle)
        if origin.isSecure {
            if let file = options.caFile { try handle.set(CURLOPT_CAINFO, file) }
            if hop.isTrusted {
                try handle.set(CURLOPT_SSL_VERIFYPEER, 0)
                try handle.set(CURLOPT_SSL_VERIFYHOST, 0)
            }
        }
        try handle.check(
            kf_easy_set_callbacks(
                handle.pointer, Unmanaged.passUnretained(self).toOpaque(), Callbacks.header, Callbacks.body,
                Callbacks.openSocket, options.denyPrivate ? Callbacks.beforeRequest : nil))
    }

    private func configureCredentials(_ handle: EasyHandle) throws(TransferError) {
        if let credentials = hop.credentials {
            try handle.set(CURLOPT_USERNAME, credentials.user)
            try handle.set(CURLOPT_PASSWORD, credentials.password)
        }
        if hop.usesDigest { try handle.set(CURLOPT_HTTPAUTH, 2) }  // CURLAUTH_DIGEST, a macro that Swift cannot see
        switch request.options.netrc {
        case .none: return
        case .standard: break
        case .file(let path): try handle.set(CURLOPT_NETRC_FILE, path)
        }
        try handle.set(CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
    }

    private func configureProxy(_ handle: EasyHandle) throws(TransferError) {
        let options = request.options
        let origin = hop.url.origin
        if options.denyPrivate {
            if let literal = IPAddress(origin.host), !literal.isPublic {
                throw .privateAddress(host: origin.authority, address: literal.description)
            }
            if options.proxy == nil, options.usesEnvironmentProxies,
                let variable = ProxyEnvironment(noProxy: options.noProxy).variable(for: origin)
            {
                throw .environmentProxyRefused(variable: variable)
            }
            // The socket's address tells nothing of a proxy's exceptions, so there are none.
            try handle.set(CURLOPT_PROXY, options.proxy ?? "")
            try handle.set(CURLOPT_NOPROXY, "")
            return
        }
        if let proxy = options.proxy {
            try handle.set(CURLOPT_PROXY, proxy)
            try handle.set(CURLOPT_NOPROXY, options.noProxy ?? "")
        } else if !options.usesEnvironmentProxies {
            try handle.set(CURLOPT_PROXY, "")
        } else if let exceptions = options.noProxy {
            try handle.set(CURLOPT_NOPROXY, exceptions)
        }
    }

    private var connectMilliseconds: Int {
        // 0 would mean libcurl's 300 s; its arithmetic is on long milliseconds.
        guard let timeout = request.options.timeout else { return Int(Int32.max) }
        return Int(max(1, min(Int64(Int32.max), timeout.saturatedNanoseconds / 1_000_000)))
    }
}

/// What libcurl calls. The context is the transfer, which the loop keeps while its handle is in the multi handle.
private enum Callbacks {
    static let header: kf_bytes_fn = { bytes, _, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        return Callbacks.transfer(context).receiveHeader(line) ? count : 0
    }

    static let body: kf_bytes_fn = { bytes, _, count, context in
        let chunk = UnsafeRawBufferPointer(start: bytes, count: count)
        switch Callbacks.transfer(context).receiveBody(chunk) {
        case .taken: return count
        case .pause: return Int(CURL_WRITEFUNC_PAUSE)
        case .end: return 0
        }
    }

    static let openSocket: kf_socket_fn = { context, _, address in
        let bad = curl_socket_t(-1)
        guard let address else { return bad }
        let (family, type, proto) = (address.pointee.family, address.pointee.socktype, address.pointee.protocol)
        let length = Int(address.pointee.addrlen)
        let ip = withUnsafePointer(to: &address.pointee.addr) { IPAddress($0, length: length) }
        guard Callbacks.transfer(context).allows(ip) else { return bad }
        return socket(family, type | Int32(SOCK_CLOEXEC.rawValue), proto)
    }

    /// An old connection may have been opened for a transfer that did not deny private addresses.
    static let beforeRequest: kf_prerequest_fn = { context, remote, _, _, _ in
        let text = remote.map { String(cString: $0) } ?? ""
        return Callbacks.transfer(context).allows(IPAddress(text)) ? 0 : 1  // CURL_PREREQFUNC_ABORT
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(context!).takeUnretainedValue()
    }
}
