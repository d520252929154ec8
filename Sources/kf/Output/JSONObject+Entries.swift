import KFCore

extension JSONObject {
    /// An entry of the disk cache. Times are in seconds since 1970; null is never.
    init(_ entry: CachedEntry) {
        self.init()
        add("schema", 1)
        add("key", entry.name.key)
        add("identifier", entry.name.identifier)
        add("url", entry.url ?? entry.name.key)
        add("path", entry.answerStatus == nil ? entry.path : nil)
        add(facts: entry.answerStatus == nil ? entry.facts : nil)
        add("http_status", entry.answerStatus)
        add("created", entry.created.milliseconds / 1000)
        add("expires", entry.expires == .distantFuture ? nil : entry.expires.milliseconds / 1000)
        add("expired", entry.isExpired)
        add("accessed", entry.accessed.milliseconds / 1000)
        add("hits", entry.hits)
        add("etag", entry.etag)
        add("last_modified", entry.lastModified)
        add("original", entry.originalSHA256)
    }
}
