import KFNetwork
import KFRemote
import KFStorage
import KFTerms

/// The facts that an entry records about the response that brought its bytes.
struct OriginFacts: Sendable {
    let etag: String?
    let lastModified: String?
    let headers: HeaderLines
    /// The end of the freshness of that response, or of the last one that confirmed it; nil to compute it from the
    /// headers.
    let freshUntil: Timestamp?
    /// The freshness that a remote's entry states; nil if the options or the headers determine it.
    private(set) var stated: EntryRenewal?
    /// The freshness lifetime in milliseconds of the entry in the remote.
    private(set) var timeToLive: Int64?

    init(_ response: ResponseFacts, _ retrieval: Retrieval, now: Timestamp) {
        self.init(response, response.freshness, response.etag, response.lastModified, retrieval, now)
    }

    /// Creates the facts of an entry after a 304. Fields that the 304 lacks keep their value.
    init(_ response: ResponseFacts, confirming entry: Entry, _ retrieval: Retrieval, now: Timestamp) {
        let lines = HeaderLines(entry.freshness).ofResponse.updated(by: response.freshness)
        self.init(
            response, lines, entry.etag, response.lastModified ?? entry.lastModified, retrieval, now,
            isPersonal: HeaderLines(entry.freshness)[.personal] != nil)
    }

    private init(
        _ response: ResponseFacts, _ lines: HeaderLines, _ etag: String?, _ lastModified: String?,
        _ retrieval: Retrieval, _ now: Timestamp, isPersonal: Bool = false
    ) {
        self.etag = etag
        self.lastModified = lastModified
        headers = lines.after(response.redirects, lastModified: lastModified, received: now)
            .from(retrieval.place(of: response))
            .noting(.personal, isPersonal || retrieval.isSecretlyPersonal ? "1" : nil)
        freshUntil = nil
    }

    /// Creates the facts of an image from a remote. `freshUntil` replaces the end of freshness that the entry states.
    init(_ entry: RemoteEntry, freshUntil other: Timestamp?) {
        etag = entry.etag
        lastModified = entry.lastModified
        headers = HeaderLines(entry.freshness)
        freshUntil = other ?? entry.expires
        if other != nil { return }
        stated = EntryRenewal(
            expiration: entry.expires == .distantFuture ? .never : .date(entry.expires), extending: entry.extending)
        timeToLive = entry.timeToLive
    }

    /// Creates the facts for an image that is made from a cached original.
    init(_ original: Entry) {
        etag = original.etag
        lastModified = original.lastModified
        headers = HeaderLines(original.freshness)
        freshUntil = original.expires
    }
}
