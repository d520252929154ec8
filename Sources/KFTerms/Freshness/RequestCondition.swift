import KFNetwork
import KFStorage

/// The validators of cached bytes, which make a request conditional.
package struct RequestCondition: Hashable, Sendable {
    let etag: String?
    let lastModified: String?
    /// The digest of the URL that gave them; nil if that is the URL of the source.
    package let place: String?

    /// Returns nil without a validator.
    package init?(_ etag: String?, _ lastModified: String?, from place: String?) {
        if etag == nil, lastModified == nil { return nil }
        self.etag = etag
        self.lastModified = lastModified
        self.place = place
    }

    package var headers: [(name: String, value: String)] {
        [("If-None-Match", etag), ("If-Modified-Since", lastModified)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }

    /// The condition for the network, which sends it only to the URL that gave the validators.
    package var forTransfer: TransferRequest.Condition {
        TransferRequest.Condition(headers: headers) { [place] url, isFirst in
            place.map { $0 == Self.digest(of: url) } ?? isFirst
        }
    }

    /// Returns the digest of a URL. A URL may be signed, and entries of remotes must not show it.
    package static func digest(of url: String) -> String {
        var sha = SHA256()
        sha.update(url)
        return String(sha.finish().hex.prefix(32))
    }
}

extension ResponseFacts {
    /// Returns whether a 304 confirms bytes with these validators (RFC 9111, 4.3.4). One that names another ETag, or another
    /// date where no ETags can be compared, is about other bytes.
    package func confirms(_ etag: String?, _ lastModified: String?) -> Bool {
        if let etag, let own = self.etag { return Self.opaque(own) == Self.opaque(etag) }
        guard let lastModified, let own = self.lastModified, own != lastModified else { return true }
        return HTTPDate.parse(own).map { $0 == HTTPDate.parse(lastModified) } ?? false
    }

    /// Returns an ETag without the mark of a weak one: the comparison of If-None-Match (RFC 9110, 13.1.2).
    private static func opaque(_ etag: String) -> Substring { etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...] }
}

extension HeaderLines {
    /// The digest of the URL that gave the bytes and their validators; nil if that is the URL in the key.
    package var place: String? { self[.url].map { String($0) } }

    /// Returns the lines of bytes from the URL with a digest.
    package func from(_ place: String?) -> HeaderLines { noting(.url, place) }
}

/// The rules of status codes for storing a response (RFC 9110, 15.1; RFC 9111, 3).
package enum ResponseStatus {
    /// The statuses from 200 to 299 that may bring an image under `CachePolicy.http`. The others have no body of their
    /// own and count as responses without an image.
    package static let bringingImages = (200...299).filter { ![204, 205, 206].contains($0) }

    /// Returns whether a final status allows heuristic freshness, by Last-Modified.
    static func isHeuristicallyFresh(_ status: Int) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Returns whether the status says that there is no image, so that `negativeTimeToLive` applies.
    package static func isMissing(_ status: Int) -> Bool { [404, 410].contains(status) }

    /// Returns whether the caching rules of a status are known, as `must-understand` requires.
    static func isUnderstood(_ status: Int) -> Bool {
        status == 200 || status == 203 || HTTPStatus.phrase(status) != nil
    }

    /// Returns false for responses to a range, a condition or credentials of one request. Statuses that must not be
    /// stored by definition (RFC 6585) return false as well.
    static func isStorable(_ status: Int) -> Bool {
        ![206, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511].contains(status)
    }
}

/// The digest of the request that a response is for, if it varies (RFC 9111, 4.1).
package enum VaryDigest {
    /// Returns the digest of the request's values for the fields that Vary names; nil if it names none. The values may
    /// be secrets and are not recorded. `request` is read only if there are such fields: a copy of it costs 14 retains.
    package static func make(_ headers: HeaderLines, _ request: @autoclosure () -> RequestOptions) -> String? {
        // A damaged member names more fields rather than none.
        let names = headers.all("vary").flatMap { $0.lowercased().split { ",; \t\"".contains($0) } }.map(String.init)
        guard !names.isEmpty else { return nil }
        let request = request()
        var sha = SHA256()
        for name in Set(names).sorted() {
            sha.update("\(name)\0")
            let values = request.sentHeaders.filter { $0.name.lowercased() == name }.map(\.value)
            for member in FieldMembers.normalised(values, of: name) { sha.update("\(member)\0") }
            if name == "user-agent" { sha.update("\(request.transfer.userAgent)\0") }
        }
        return String(sha.finish().hex.prefix(EntryKey.representationLength))
    }
}
