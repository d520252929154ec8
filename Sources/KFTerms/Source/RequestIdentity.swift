import Glibc
import KFNetwork
import KFStorage
import KFSystem
import Synchronization

/// The identity of requests with the same URL that may get different responses.
///
/// Cache keys, shared transfers and resumed bodies depend on it. Secrets enter digests only.
package enum RequestIdentity {
    /// Returns the part of a key behind the URL: a digest of the requester and one of the terms of trust. Each follows
    /// a mark that no normal form contains. Empty for an anonymous request.
    static func suffix(_ url: RequestURL, _ request: RequestOptions) -> String {
        if url.credentials == nil, request.isAnonymous { return "" }
        return requester(url, request) + trust(url, request)
    }

    /// Returns the suffix behind a key that the caller has named. The caller decides which requests share the key,
    /// except for named identities. Bytes that were accepted on other terms of trust are never shared.
    static func suffix(ofNamedKeyFor url: RequestURL, _ request: RequestOptions) -> String {
        if request.isAnonymous { return "" }
        var digest = IdentityDigest(url)
        addNamed(request, to: &digest)
        return digest.suffix("#user=") + trust(url, request)
    }

    /// Returns a digest of everything that may change the body. Transfers with the same digest bring the same bytes, so
    /// one may resume another.
    package static func digest(_ url: RequestURL, _ request: RequestOptions) -> Digest {
        let sent = request.request(to: url)
        var digest = IdentityDigest(url)
        digest.add("request", [sent.url.text, suffix(url, request), request.transfer.userAgent])
        if request.prepared == nil, let modifier = request.modifier {
            digest.add("modified", [modifier.cacheIdentity ?? ""])
        }
        if request.redirectHandler != nil { digest.add("redirected", []) }
        for field in normalised(sent.scope.headers) { digest.add("field", field) }
        return digest.value
    }

    /// Returns whether two lists of headers request the same image for the same requester.
    package static func isSame(
        _ headers: [(name: String, value: String)], _ others: [(name: String, value: String)]
    ) -> Bool {
        identifying(headers) == identifying(others)
    }

    private static func requester(_ url: RequestURL, _ request: RequestOptions) -> String {
        let sent = request.request(to: url)
        var digest = IdentityDigest(url)
        let place = request.keyText(of: sent.url)
        if place != request.keyText(of: url) { digest.add("url", [place]) }
        if let credentials = sent.scope.credentials {
            digest.add("credentials", [credentials.user, credentials.password])
        }
        // A server that is asked without a password may answer with another image.
        let hasPassword = sent.scope.credentials != nil || request.transfer.netrcFile != nil
        if hasPassword, request.transfer.authentication != .basic { digest.add("asks first", []) }
        if let certificate = sent.scope.clientCertificate {
            digest.add("certificate", [FileDigest.of(certificate.file)])
        }
        // A redirect may lead to any host in the file, so its whole content counts.
        if let netrc = request.transfer.netrcPath { digest.add("netrc", [FileDigest.of(netrc)]) }
        // The path as well: a jar that is empty at first may be filled in the course of a run.
        if let jar = request.transfer.cookieJar { digest.add("cookies", [jar, CookieDigest.of(jar)]) }
        for field in identifying(sent.scope.headers) { digest.add("field", field) }
        addNamed(request, to: &digest)
        return digest.suffix("#user=")
    }

    private static func addNamed(_ request: RequestOptions, to digest: inout IdentityDigest) {
        let names = [
            ("modifier", request.modifier?.cacheIdentity), ("redirects", request.redirectHandler?.cacheIdentity),
            ("challenges", request.responderIdentity),
        ]
        for case (let kind, let name?) in names where !name.isEmpty { digest.add(kind, [name]) }
    }

    /// Returns a digest of the terms of trust: the authorities for certificates, and the hosts and addresses that are
    /// allowed.
    private static func trust(_ url: RequestURL, _ request: RequestOptions) -> String {
        var digest = IdentityDigest(url)
        // A redirect may lead to any of the hosts.
        if !request.transfer.trustedHosts.isEmpty { digest.add("unchecked", request.transfer.trustedHosts.sorted()) }
        // Whoever stands between may answer for an http: URL, whatever it redirects to.
        if let file = request.transfer.caFile, url.scheme == "https" {
            digest.add("authorities", [FileDigest.of(file)])
        }
        if request.transfer.deniesPrivateAddresses { digest.add("public", []) }
        return digest.suffix("#trust=")
    }

    private static func identifying(_ headers: [(name: String, value: String)]) -> [[String]] {
        normalised(headers.filter { !RequestField.isNeutral($0.name) })
    }

    /// Returns each name in lower case with its list of values (RFC 9110, 5.3). The order of different names does not
    /// matter, the order of values does. White space around values and repetitions are ignored.
    private static func normalised(_ headers: [(name: String, value: String)]) -> [[String]] {
        var fields: [String: [String]] = [:]
        for header in headers { fields[header.name.lowercased(), default: []].append(header.value) }
        return fields.sorted { $0.key < $1.key }.map { [$0.key, FieldMembers.list($0.value).joined(separator: ",")] }
    }
}

extension RequestOptions {
    /// Whether no option adds to the identity of a request: true for most requests of a long list.
    var isAnonymous: Bool {
        headers.isEmpty && hasNoAccount && transfer.trustedHosts.isEmpty && transfer.caFile == nil
            && !transfer.deniesPrivateAddresses
    }

    /// Whether the key of a source without credentials is the source's own.
    package var keepsKeys: Bool {
        isAnonymous && cacheKeyFilter == nil && !ignoresQuery && ignoredParameters.isEmpty
    }

    /// Whether no option but a header may identify a user.
    package var hasNoAccount: Bool {
        transfer.credentials == nil && transfer.clientCertificate == nil && transfer.netrcFile == nil
            && transfer.cookieJar == nil && modifier == nil && redirectHandler == nil && responderIdentity == nil
    }
}

/// A digest of named parts, salted with an origin. Each part is preceded by its lengths, so that no value can imitate
/// another part.
private struct IdentityDigest {
    private var bytes: [UInt8] = []
    private let origin: Int

    init(_ url: RequestURL) {
        bytes.reserveCapacity(256)
        Self.write(["kf identity", url.scheme, url.host], to: &bytes)
        origin = bytes.count
    }

    mutating func add(_ kind: String, _ values: [String]) { Self.write([kind] + values, to: &bytes) }

    private static func write(_ texts: [String], to bytes: inout [UInt8]) {
        write(texts.count, to: &bytes)
        for text in texts {
            write(text.utf8.count, to: &bytes)
            bytes += text.utf8
        }
    }

    /// Writes the number in decimal digits and a line feed.
    private static func write(_ number: Int, to bytes: inout [UInt8]) {
        if number < 10 {
            bytes.append(0x30 + UInt8(clamping: number))
        } else {
            bytes += String(number).utf8
        }
        bytes.append(0x0a)
    }

    var value: Digest { bytes.withUnsafeBytes { SHA256.hash($0) } }

    /// Returns the first 128 bits behind `mark`; empty if nothing was added.
    func suffix(_ mark: String) -> String { bytes.count == origin ? "" : mark + value.hex.prefix(32) }
}

/// Digests of files that affect requests: a netrc file, client certificates and certificates of authorities.
enum FileDigest {
    private static let known = Mutex<[String: (stamp: [Int64], digest: String)]>([:])
    /// The largest file that is read, in bytes: more than any bundle of certificates.
    private static let limit = 64 << 20

    /// Returns the digest of the file's content. The file is read again only if its size, time or inode has changed. A
    /// pipe counts by its path, because reading it would take the content away from libcurl; so does an unreadable
    /// file.
    static func of(_ path: String) -> String {
        guard let status = stat(path, followingLinks: true), status.isRegularFile else { return "path:\(path)" }
        let stamp = [Int64(status.st_size), status.modified, Int64(status.st_ino), Int64(status.st_dev)]
        return known.withLock { known in
            if let found = known[path], found.stamp == stamp { return found.digest }
            let read = bestEffort {
                try FileDescriptor.open(path, O_RDONLY).readAll(expected: Int(stamp[0]), limit: limit)
            }
            // libcurl reads the file itself and reports its errors.
            guard let bytes = read else { return "path:\(path)" }
            let digest = bytes.withUnsafeBytes { SHA256.hash($0) }.hex
            known[path] = (stamp, digest)
            return digest
        }
    }
}

enum CookieDigest {
    private static let known = Mutex<[String: String]>([:])

    /// Returns the digest of a jar's cookies at the first call for its path. libcurl reads a jar once, so that another
    /// process that rewrites it later changes neither the requests nor their keys. A jar that does not exist is like an
    /// empty one.
    static func of(_ path: String) -> String {
        known.withLock { known in
            if let digest = known[path] { return digest }
            let read = bestEffort { () throws(StorageError) -> [UInt8] in
                // Without O_NONBLOCK the open of a FIFO would wait for ever. libcurl's part refuses it.
                let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
                let status = try file.status()
                guard status.isRegularFile else { return [] }
                return try file.readAll(expected: Int(status.st_size), limit: 64 << 20)
            }
            // The engine reports what is wrong with the jar.
            let digest = cookies(read ?? []).withUnsafeBytes { SHA256.hash($0) }.hex
            known[path] = digest
            return digest
        }
    }

    /// Returns the lines that libcurl may read as cookies, sorted. The expiry of a cookie is left out, because a server may
    /// extend it with every response.
    private static func cookies(_ file: [UInt8]) -> [UInt8] {
        let lines = file.split(separator: UInt8(ascii: "\n")).compactMap { line -> [UInt8]? in
            if line.first == UInt8(ascii: "#"), !line.starts(with: "#HttpOnly_".utf8) { return nil }
            var fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            if fields.count == 7 { fields.remove(at: 4) }
            return Array(fields.joined(separator: [UInt8(ascii: "\t")]))
        }
        return Array(lines.sorted { $0.lexicographicallyPrecedes($1) }.joined(separator: [UInt8(ascii: "\n")]))
    }
}
