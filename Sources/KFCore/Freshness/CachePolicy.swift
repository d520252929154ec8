/// What decides how long an image counts as fresh.
public enum CachePolicy: String, Sendable, CaseIterable {
    /// `diskCacheExpiration`, whatever the server says. Kingfisher's way.
    case timeToLive = "ttl"
    /// What the server says, as RFC 9111 has it for a private cache. See <doc:HTTPCaching>.
    case http
}
