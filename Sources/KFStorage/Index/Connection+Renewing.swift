/// Renewing entries that their origin has confirmed.
extension Connection {
    private static let renewEntry = Query(
        """
        UPDATE entries SET ttl = ?2, extending = ?3, etag = coalesce(?4, etag), last_modified = coalesce(?5, last_modified),
        freshness = ?6 WHERE id = ?1
        """)
    private static let renewTimes = Query("UPDATE times SET accessed = max(accessed, ?2), expires = ?3 WHERE id = ?1")

    /// Updates an entry that the origin has revalidated.
    func renew(row: Int64, _ renewal: EntryRenewal, now: Timestamp) throws(StorageError) {
        try run(Self.renewEntry) {
            $0.bind(1, row)
            $0.bind(2, renewal.expiration.timeToLive(from: now))
            $0.bind(3, Self.column(renewal.extending, now: now))
            $0.bind(4, renewal.etag)
            $0.bind(5, renewal.lastModified)
            $0.bind(6, renewal.freshness)
        }
        guard let old = try expiry(row: row) else { return }
        try run(Self.renewTimes) {
            $0.bind(1, row)
            $0.bind(2, now.milliseconds)
            $0.bind(3, renewal.expiration.expiry(from: now).milliseconds)
        }
        tally.addExpiry(old, count: -1)
        tally.addExpiry(renewal.expiration.expiry(from: now).milliseconds, count: 1)
    }
}
