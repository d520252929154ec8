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
    /// Lets the file of an entry outlive the entry's replacement, under another key of the same source. Nothing is kept
    /// when the entry holds other bytes by now.
    package func keepFile(of entry: Entry, as key: EntryKey, _ facts: EntryFacts) async throws(StorageError) {
        let now = now()
        let directory = session.directory
        let result: Result<Void, StorageError> = await withUnsafeContinuation { continuation in
            writer.submit(urgent: false) { connection throws(StorageError) in
                guard let current = try connection.entry(entry.key), current.object == entry.object,
                    let known = try connection.object(entry.object.digest)
                else { return }
                let unused = try connection.put(key, facts, object: current.object, known: known, now: now).unused
                for object in unused { try Self.remove(object, connection, directory) }
            } completion: { result in
                continuation.resume(returning: result)
            }
        }
        try result.get()
    }

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
