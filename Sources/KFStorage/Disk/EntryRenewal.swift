/// What changes in an entry whose bytes the origin has confirmed.
package struct EntryRenewal: Sendable {
    package var expiration: StorageExpiration
    package var extending: ExpirationExtending
    /// Nil leaves what is there.
    package var etag: String?
    package var lastModified: String?
    package var freshness: String?

    package init(expiration: StorageExpiration, extending: ExpirationExtending) {
        self.expiration = expiration
        self.extending = extending
    }
}
