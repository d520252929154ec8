/// A change to the index, as a value.
package enum IndexOrder: Sendable {
    /// Publishes a finished staged object under a key. The result is the entry; nil when it was made from an original
    /// that has been replaced meanwhile.
    case store(StagedObject, EntryKey, EntryFacts)
    /// Makes entries fresh again without touching their bytes. The result is the first of them as it is now; nil when it
    /// was removed or holds other bytes by now.
    case renew([Entry], EntryRenewal)
    /// Lets the file of an entry outlive the entry's replacement, under another key of the same source. The result is the
    /// new entry; nil when the old one holds other bytes by now.
    case keep(Entry, as: EntryKey, EntryFacts)

    /// The result of carrying out one order.
    package typealias Outcome = Result<Entry?, StorageError>

    /// The first row that the order touches: a batch is carried out in the order of rows.
    var row: Int64 {
        switch self {
        case .store(_, let key, _): key.id
        case .renew(let entries, _): entries.first?.row ?? 0
        case .keep(_, let key, _): key.id
        }
    }

    var staged: StagedObject? {
        if case .store(let staged, _, _) = self { return staged }
        return nil
    }
}

/// A file that got its place among the objects in a transaction that is not committed yet.
struct Publication: Sendable {
    let staged: StagedObject
    let object: StoredObject

    /// Removes the file: without its row it would lie there until the next sweep.
    func undo() { staged.directory.unlink(object.file) }
}

/// What orders are carried out with. All of it happens inside a transaction of the `IndexWriter`.
struct OrderDesk {
    let connection: Connection
    let directory: CacheDirectory
    /// Names of published files are waited for until they are on the disk.
    let synchronizes: Bool

    /// `publishing` is told what has to be undone when the order or the commit fails.
    func carryOut(
        _ order: IndexOrder, at now: Timestamp, publishing: (Publication) -> Void
    ) throws(StorageError) -> Entry? {
        switch order {
        case .store(let staged, let key, let facts): try store(staged, key, facts, now, publishing)
        case .renew(let entries, let renewal): try renew(entries, renewal, now)
        case .keep(let entry, let key, let facts): try keep(entry, key, facts, now)
        }
    }

    private func store(
        _ staged: StagedObject, _ key: EntryKey, _ facts: EntryFacts, _ now: Timestamp,
        _ publishing: (Publication) -> Void
    ) throws(StorageError) -> Entry? {
        if try connection.isOutdated(key, madeFrom: facts.original) { return nil }
        let place = try connection.place(of: staged.finishedDigest())
        let object = try staged.publish(
            fileExtension: place.known?.fileExtension ?? ObjectExtension(facts.fileExtension) ?? .unknown,
            pixels: facts.pixels)
        if place.known == nil { publishing(Publication(staged: staged, object: object)) }
        // The name of a file is not on the disk when its bytes are.
        if synchronizes { try staged.directory.synchronizeFolder(of: object) }
        let (entry, unused) = try connection.put(key, facts, object: object, at: place, now: now)
        for object in unused { try connection.remove(object, from: directory) }
        for object in try connection.trimRepresentations(of: key) { try connection.remove(object, from: directory) }
        return entry
    }

    private func renew(
        _ entries: [Entry], _ renewal: EntryRenewal, _ now: Timestamp
    ) throws(StorageError) -> Entry? {
        var first: Entry?
        for (index, entry) in entries.enumerated() {
            guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object)
            else { continue }
            try connection.renew(row: current.row, renewal, now: now)
            if index == 0 { first = try connection.entry(entry.key) }
        }
        return first
    }

    private func keep(
        _ entry: Entry, _ key: EntryKey, _ facts: EntryFacts, _ now: Timestamp
    ) throws(StorageError) -> Entry? {
        guard let current = try connection.entry(entry.key), current.object.hasSameContent(as: entry.object),
            case let place = try connection.place(of: entry.object.digest), place.known != nil
        else { return nil }
        let (kept, unused) = try connection.put(key, facts, object: current.object, at: place, now: now)
        for object in unused { try connection.remove(object, from: directory) }
        return kept
    }
}
