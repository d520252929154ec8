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
