import KFStorage

/// What an entry is to know of the response that its bytes came by.
struct OriginFacts: Sendable {
    let etag: String?
    let lastModified: String?
    let headers: HeaderLines
    /// When that response, or the last that confirmed it, stops being fresh by its own words; nil when it is to be
    /// worked out from the headers.
    let freshUntil: Timestamp?

    init(_ response: ResponseFacts) {
        etag = response.etag
        lastModified = response.lastModified
        headers = response.freshness
        freshUntil = nil
    }

    /// Of an entry that a 304 has confirmed: what the answer does not say again still holds.
    init(_ response: ResponseFacts, confirming entry: Entry) {
        etag = response.etag ?? entry.etag
        lastModified = response.lastModified ?? entry.lastModified
        headers = HeaderLines(entry.freshness).updated(by: response.freshness)
        freshUntil = nil
    }

    /// Of an image that is made from a cached original.
    init(_ original: Entry) {
        etag = original.etag
        lastModified = original.lastModified
        headers = HeaderLines(original.freshness)
        freshUntil = original.expires
    }
}
