import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The images of a cache on their way to its remote: those that it lacks, or of which it has an older entry.
package struct RemotePush: Sendable {
    /// The numbers of images by their end.
    package struct Counts: Sendable {
        /// The images that were uploaded, or that the remote lacks where nothing is to be changed.
        package var uploaded = 0
        package var bytes: Int64 = 0
        /// The images that the remote has.
        package var present = 0
        /// The images that may not be shared, or that no look-up would use.
        package var skipped = 0
        package var failed = 0
        /// The uploads that have told their end.
        fileprivate var ended = 0
    }

    /// The number of images that are handed over together: the memory that a push needs.
    private static let batch = 4096

    private let storage: DiskStorage
    private let uploads: RemoteUploads
    private let isDryRun: Bool
    private let now: Timestamp

    /// Nil if the cache has no remote, or no images.
    package init?(_ cache: ImageCache, isDryRun: Bool) throws(KingfisherError) {
        guard let uploads = cache.remotes?.uploads, let storage = try cache.storage() else { return nil }
        (self.storage, self.uploads, self.isDryRun, now) = (storage, uploads, isDryRun, cache.now)
    }

    /// Uploads the selected images, originals first: an image that was made here needs its original there. `each` receives
    /// each one that was uploaded. Blocks until all have ended.
    package func run(_ filter: EntryFilter, _ each: @escaping @Sendable (Entry) -> Void) throws(StorageError) -> Counts
    {
        let counts = Mutex(Counts())
        let rows = try storage.rows(filter)
        for takesOriginals in [true, false] {
            var rest = rows[...]
            while !rest.isEmpty {
                let some = try storage.entries(rows: rest.prefix(Self.batch))
                rest = rest.dropFirst(Self.batch)
                var added: [RemoteUpload] = []
                for entry in some where entry.key.isOriginal == takesOriginals {
                    guard let terms = terms(of: entry) else {
                        counts.withLock { $0.skipped += 1 }
                        continue
                    }
                    added.append(upload(entry, terms) { end in counts.withLock { $0.note(end, entry, each) } })
                }
                let before = counts.withLock { $0.ended }
                uploads.add(added)
                uploads.drain()
                // Those that the end of the wait has cut off tell nothing.
                counts.withLock { $0.failed += added.count - ($0.ended - before) }
            }
        }
        return counts.withLock { $0 }
    }

    private func upload(
        _ entry: Entry, _ terms: RemoteUpload.Terms, _ ended: @escaping @Sendable (RemoteUploads.End) -> Void
    ) -> RemoteUpload {
        var terms = terms
        terms.push = (isDryRun, ended)
        return RemoteUpload(RemoteEntry(entry), StoredFile(entry, in: storage), terms, to: uploads)
    }

    /// Returns what an upload of the entry has to regard; nil if it is not to be shared: it came from no server, belongs to a
    /// user, is expired without a validator, or its response forbids it.
    private func terms(of entry: Entry) -> RemoteUpload.Terms? {
        let text = entry.url ?? KeyChoice.base(of: entry.key.key)
        guard entry.key.holdsImage, !entry.key.key.contains("#user="), let url = try? RequestURL(text),
            url.credentials == nil, HeaderLines(entry.freshness).sharingBar == nil,
            !entry.isExpired(at: now) || entry.etag != nil || entry.lastModified != nil
        else { return nil }
        var terms = RemoteUpload.Terms()
        // The address that a name stood for is not kept.
        terms.origin = (NetworkReach(host: String(url.hostName)) ?? .internet, RequestURL.redacted(text))
        if !entry.key.isOriginal {
            if entry.original == nil { return nil }
            terms.original = entry.key.original
        }
        return terms
    }
}

extension RemotePush.Counts {
    fileprivate mutating func note(_ end: RemoteUploads.End, _ entry: Entry, _ each: (Entry) -> Void) {
        ended += 1
        switch end {
        case .uploaded, .lacking:
            uploaded += 1
            bytes += entry.object.size
            each(entry)
        case .present: present += 1
        case .skipped: skipped += 1
        case .dropped, .failed: failed += 1
        }
    }
}
