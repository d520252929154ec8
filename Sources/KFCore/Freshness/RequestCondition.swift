import KFStorage

/// What makes a request conditional: the validators of the bytes that are there.
struct RequestCondition: Hashable, Sendable {
    let etag: String?
    let lastModified: String?

    /// Nil when there is nothing to ask by.
    init?(_ entry: Entry) {
        etag = entry.etag
        lastModified = entry.lastModified
        if etag == nil, lastModified == nil { return nil }
    }

    var headers: [(name: String, value: String)] {
        [("If-None-Match", etag), ("If-Modified-Since", lastModified)].compactMap { name, value in
            value.map { (name, $0) }
        }
    }
}

/// What a status code says about keeping a response (RFC 9110, 15.1; RFC 9111, 3).
enum ResponseStatus {
    /// Delivered under `CachePolicy.http` when an image comes with them. The others among 200 to 299 have no body of
    /// their own: they are answers without an image.
    static let bringingImages = Set(200...299).subtracting([204, 205, 206])

    /// The final statuses that may count as fresh without explicit freshness, by their Last-Modified.
    static func isHeuristicallyFresh(_ status: Int) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether the caching rules of a status are known, as `must-understand` demands.
    static func isUnderstood(_ status: Int) -> Bool {
        status == 200 || status == 203 || HTTPStatus.phrase(status) != nil
    }

    /// False for answers to the headers of one request (a range, a condition, a password), and for those that must not
    /// be kept by their definition (RFC 6585).
    static func isStorable(_ status: Int) -> Bool {
        ![206, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511].contains(status)
    }
}

/// Which request a response answers when it depends on more than the URL (RFC 9111, 4.1).
enum VaryDigest {
    /// Of the values that the request has for the fields that Vary names; nil when it names none. Values are secrets at
    /// times and are not kept.
    static func make(_ headers: HeaderLines, _ request: RequestOptions) -> String? {
        let names = headers.all("vary").flatMap { $0.split(separator: ",") }
            .map { HeaderLines.trimmed($0).lowercased() }.filter { !$0.isEmpty }
        guard !names.isEmpty else { return nil }
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
