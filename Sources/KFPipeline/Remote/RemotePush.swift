import KFNetwork
import KFRemote
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The images of a cache on their way to its remote: those that it lacks, or of which it has an older entry.
package struct RemotePush: Sendable {
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
    /// each image with its outcome. Blocks until all have ended.
    package func run(
        _ filter: EntryFilter, _ each: @escaping @Sendable (Entry, CachePush.Outcome) -> Void
    ) throws(StorageError) -> CachePush {
        let counts = Mutex(CachePush())
        @Sendable func note(_ outcome: CachePush.Outcome, _ entry: Entry) {
            counts.withLock { $0.add(outcome, bytes: entry.object.size) }
            each(entry, outcome)
        }
        let rows = try storage.rows(filter)
        for takesOriginals in [true, false] {
            var rest = rows[...]
            while !rest.isEmpty {
                let some = try storage.entries(rows: rest.prefix(Self.batch))
                rest = rest.dropFirst(Self.batch)
                var added: [RemoteUpload] = []
                for entry in some where entry.key.isOriginal == takesOriginals {
                    switch terms(of: entry) {
                    case .success(let terms): added.append(upload(entry, terms) { note(outcome($0, of: entry), entry) })
                    case .failure(let bar): note(.skipped(bar.reason), entry)
                    }
                }
                let before = counts.withLock { $0.ended }
                uploads.add(added)
                uploads.drain()
                // Those that the end of the wait has cut off tell nothing.
                counts.withLock { $0.notTried += added.count - ($0.ended - before) }
            }
        }
        return counts.withLock { $0 }
    }

    private func upload(
        _ entry: Entry, _ terms: RemoteUpload.Terms, _ ended: @escaping @Sendable (RemoteUploads.End) -> Void
    ) -> RemoteUpload {
        var terms = terms
        terms.push = (isDryRun, now, ended)
        return RemoteUpload(RemoteEntry(entry), StoredFile(entry, in: storage.directory), terms, to: uploads)
    }

    /// Returns the outcome of an upload. An image that has left the cache meanwhile is no failure.
    private func outcome(_ end: RemoteUploads.End, of entry: Entry) -> CachePush.Outcome {
        let outcome = CachePush.Outcome(end)
        guard case .failed = outcome, bestEffort({ try storage.holds(entry) }) == false else { return outcome }
        return .skipped("it has left the cache meanwhile")
    }

    /// The reason why an image is not shared.
    private struct Bar: Error { let reason: String }

    /// Returns what an upload of the entry has to regard, or why it is not shared.
    private func terms(of entry: Entry) -> Result<RemoteUpload.Terms, Bar> {
        func bar(_ reason: String) -> Result<RemoteUpload.Terms, Bar> { .failure(Bar(reason: reason)) }
        let text = entry.url ?? KeyChoice.base(of: entry.key.key)
        guard entry.key.holdsImage else { return bar("it is an answer without an image") }
        guard let url = try? RequestURL(text) else { return bar("it came from no server") }
        let lines = HeaderLines(entry.freshness)
        if entry.key.key.contains("#user=") || url.credentials != nil || lines[.personal] != nil {
            return bar("its request identifies a user")
        }
        if let reason = lines.sharingBar { return bar("its response \(reason)") }
        if entry.isExpired(at: now), entry.etag == nil, entry.lastModified == nil {
            return bar("it is expired and has no validator")
        }
        var terms = RemoteUpload.Terms()
        // The address that a name stood for is not kept.
        terms.origin = (NetworkReach(host: String(url.hostName)) ?? .internet, RequestURL.redacted(text))
        if !entry.key.isOriginal {
            if entry.original == nil { return bar("its original is not known") }
            terms.original = entry.key.original
        }
        return .success(terms)
    }
}
