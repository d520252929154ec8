/// Renewing entries that their origin has confirmed.
extension Connection {
    private static let renewEntry = Query(
        """
        UPDATE entries SET ttl = ?2, extending = ?3, last_modified = coalesce(?4, last_modified), freshness = ?5
        WHERE id = ?1
        """)
    private static let renewTimes = Query("UPDATE times SET accessed = max(accessed, ?2), expires = ?3 WHERE id = ?1")

    /// Updates an entry that the origin has revalidated.
    func renew(row: Int64, _ renewal: EntryRenewal, now: Timestamp) throws(StorageError) {
        try run(
            Self.renewEntry, row, renewal.expiration.timeToLive(from: now), Self.column(renewal.extending, now: now),
            renewal.lastModified, renewal.freshness)
        guard let old = try expiry(row: row) else { return }
        let new = renewal.expiration.expiry(from: now).milliseconds
        try run(Self.renewTimes, row, now.milliseconds, new)
        tally.addExpiry(old, count: -1)
        tally.addExpiry(new, count: 1)
    }
}
