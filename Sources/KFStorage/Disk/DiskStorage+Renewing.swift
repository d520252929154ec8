import Synchronization

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

extension DiskStorage {
    /// Makes entries fresh again without touching their bytes. Returns after the commit, with the entries as they are
    /// now; one that was removed or holds other bytes by now is nil and stays as it is.
    package func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, urgent: Bool
    ) async throws(StorageError) -> [Entry?] {
        let now = now()
        let renewed = Mutex<[Entry?]>([])
        let result: Result<Void, StorageError> = await withUnsafeContinuation { continuation in
            writer.submit(urgent: urgent) { connection throws(StorageError) in
                var found: [Entry?] = []
                for entry in entries {
                    guard let current = try connection.entry(entry.key), current.object == entry.object else {
                        found.append(nil)
                        continue
                    }
                    try connection.renew(row: current.row, renewal, now: now)
                    found.append(try connection.entry(entry.key))
                }
                renewed.withLock { $0 = found }
            } completion: { result in
                continuation.resume(returning: result)
            }
        }
        try result.get()
        return renewed.withLock { $0 }
    }
}
