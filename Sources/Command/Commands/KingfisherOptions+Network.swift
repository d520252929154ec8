import Glibc
import KFCore

extension KingfisherOptions {
    /// Takes the network options of `fetch` and `prefetch`.
    mutating func takeNetwork(_ arguments: ParsedArguments) throws(UsageError) {
        if let timeout = try arguments[Options.timeout] { request.timeout = timeout == .zero ? nil : timeout }
        if let maxTime = try arguments[Options.maxTime] { request.maxTime = maxTime == .zero ? nil : maxTime }
        if let count = try arguments[Options.maxRedirects] { request.maxRedirects = count }
        if let bytes = try arguments[Options.maxBytes] { request.maxBytes = bytes == 0 ? .max : bytes }
        if let agent = try arguments[Options.userAgent] { request.userAgent = agent }
        request.headers = try arguments[Options.header]
        request.credentials = try arguments[Options.user]
        if let name = try arguments[Options.auth], let method = AuthenticationMethod(rawValue: name) {
            request.transfer.authentication = method
        }
        request.netrcFile = try arguments[Options.netrc] ? "" : nil
        request.cookieJar = try arguments[Options.cookieJar]
        if let jar = request.cookieJar {
            let folder = jar.contains("/") ? String(jar[..<(jar.lastIndex(of: "/") ?? jar.endIndex)]) : "."
            try Self.check(folder.isEmpty ? "/" : folder, F_OK, for: Options.cookieJar.spec)
        }
        request.proxy = try arguments[Options.proxy]
        request.caFile = try arguments[Options.cacert]
        if let file = request.caFile { try Self.check(file, R_OK, for: Options.cacert.spec) }
        request.systemCAFile = Options.systemAuthorities(arguments.environment)
        if let file = try arguments[Options.cert] {
            try Self.check(file, R_OK, for: Options.cert.spec)
            let key = try arguments[Options.certKey]
            if let key { try Self.check(key, R_OK, for: Options.certKey.spec) }
            request.clientCertificate = ClientCertificate(file: file, keyFile: key)
        } else if try arguments[Options.certKey] != nil {
            throw UsageError(message: "--cert-key needs --cert")
        }
        if let trace = arguments.environment["TRACEPARENT"], TraceContext.isValid(trace),
            !request.headers.contains(where: { $0.name.lowercased() == "traceparent" })
        {
            request.headers.append(("traceparent", trace))
        }
        request.trustedHosts = Set(try arguments[Options.trustedHost])
        request.forcesHTTP11 = try arguments[Options.http11]
        request.deniesPrivateAddresses = try arguments[Options.denyPrivate]
        request.ignoredParameters = try arguments[Options.keyIgnore]
        let count = try arguments[Options.retry]
        var retry = DelayRetryStrategy(maxRetryCount: count, retryInterval: try arguments[Options.retryDelay])
        if try arguments[Options.verbose] { retry.onRetry = { WaitReport.tell($0, $1, of: count) } }
        retryStrategy = retry
        request.mirrors = try arguments[Options.mirror]
        if !request.mirrors.isEmpty {
            let common = try CommonSettings(arguments, allowsNoCache: true)
            request.onMirrorFailure = { mirror, error in
                // A mirror may lack what its source has.
                if let status = error.httpStatus, [404, 410].contains(status), !common.verbose { return }
                common.warn("\(error.message), so that its source is asked", about: "the mirror \(mirror.redacted)")
            }
        }
        alternativeSources = try arguments[Options.alternative]
    }

    /// Takes what leaves images out.
    mutating func takeFilter(_ arguments: ParsedArguments) throws(UsageError) {
        var filter = try arguments[Options.minSize]
        filter.maxAspect = try arguments[Options.maxAspect]
        filter.minBytes = try arguments[Options.minBytes] ?? 0
        filter.formats = try arguments[Options.formats]
        if filter != ImageFilter() { self.filter = filter }
        let agent = try arguments[Options.respectOptOut]
        if agent != nil || arguments.isBare(Options.respectOptOut) { optOut = OptOut(agent: agent) }
    }

    /// Throws if the file or directory cannot be read. Otherwise each transfer would fail for the same reason.
    static func check(_ path: String, _ mode: Int32, for option: OptionSpec) throws(UsageError) {
        guard path.withPath({ access($0, mode) }) != 0 else { return }
        throw UsageError(message: "--\(option.name): \(path): \(String(cString: strerror(errno)))")
    }
}

/// The trace that a program is part of, after W3C Trace Context.
private enum TraceContext {
    static func isValid(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [2, 32, 16, 2]
            && parts.joined().utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
