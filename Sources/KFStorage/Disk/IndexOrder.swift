import Synchronization

/// A change to the index, as a value.
package enum IndexOrder: Sendable {
    /// Publishes a finished staged object under a key. The result is the entry; nil when the object was made from an
    /// original that has been replaced meanwhile.
    case store(StagedObject, EntryKey, EntryFacts)
    /// Stores bytes that the cache seems to have, as `store` does. They are written only if their object is not whole.
    case link(HashedBytes, EntryKey, EntryFacts)
    /// Makes entries fresh again without changing their bytes. The result is the current first entry; nil when it was
    /// removed or has other bytes by now.
    case renew([Entry], EntryRenewal)
    /// Keeps the file of an entry under another key of the same source, so that it survives the entry's replacement.
    /// The result is the new entry; nil when the old one has other bytes by now.
    case keep(Entry, as: EntryKey, EntryFacts)

    /// The result of carrying out one order.
    package typealias Outcome = Result<Entry?, StorageError>

    /// The first row that the order touches. A batch is carried out in row order.
    var row: Int64 {
        switch self {
        case .store(_, let key, _), .link(_, let key, _): key.id
        case .renew(let entries, _): entries.first?.row ?? 0
        case .keep(_, let key, _): key.id
        }
    }

    /// The hash of the bytes that the order stores; nil if it stores none.
    package var digest: Digest? {
        switch self {
        case .store(let staged, _, _): staged.digest
        case .link(let hashed, _, _): hashed.digest
        case .renew, .keep: nil
        }
    }

    /// The size of the bytes that the order stores; nil if it stores none.
    var size: Int64? {
        switch self {
        case .store(let staged, _, _): staged.size
        case .link(let hashed, _, _): Int64(hashed.bytes.count)
        case .renew, .keep: nil
        }
    }
}

/// Bytes in memory with their hash.
package struct HashedBytes: Sendable {
    let bytes: [UInt8]
    let digest: Digest
}

/// A file that was moved into `objects` by a transaction that is not committed yet.
struct Publication: Sendable {
    let staged: StagedObject
    let object: StoredObject

    /// Removes the file. Without its row it would be an orphan until the next sweep.
    func undo() { staged.directory.objects.remove(object) }
}

/// Carries out orders inside a transaction of the `IndexWriter`.
struct OrderDesk {
    let connection: Connection
    let directory: CacheDirectory
    /// Whether a store waits until its bytes and the file's name are on the disk.
    let synchronizes: Bool

    /// Carries out one order. `publishing` receives each publication that must be undone if the order or the commit
    /// fails.
    func carryOut(
        _ order: IndexOrder, at now: Timestamp, publishing: (Publication) -> Void
    ) throws(StorageError) -> Entry? {
        switch order {
        case .store(let staged, let key, let facts):
            try store(staged.finishedDigest(), staged.size, key, facts, now, publishing) { staged }
        case .link(let hashed, let key, let facts):
            try store(hashed.digest, Int64(hashed.bytes.count), key, facts, now, publishing) {
                () throws(StorageError) in
                try stage(hashed)
            }
        case .renew(let entries, let renewal): try renew(entries, renewal, now)
        case .keep(let entry, let key, let facts): try keep(entry, key, facts, now)
        }
    }

    private func store(
        _ digest: Digest, _ size: Int64, _ key: EntryKey, _ facts: EntryFacts, _ now: Timestamp,
        _ publishing: (Publication) -> Void, staging: () throws(StorageError) -> StagedObject
    ) throws(StorageError) -> Entry? {
        if try connection.isOutdated(key, madeFrom: facts.original) { return nil }
        let place = try connection.place(of: digest)
        let object: StoredObject
        if !facts.rewrites, let whole = wholeObject(digest, size, facts, at: place) {
            object = whole
            if synchronizes { try directory.objects.synchronize(object) }
        } else {
            let staged = try staging()
            object = try staged.publish(
                fileExtension: place.known?.fileExtension ?? ObjectExtension(facts), pixels: facts.pixels)
            if place.known == nil { publishing(Publication(staged: staged, object: object)) }
        }
        // Synchronizing a file's bytes does not put its name on the disk.
        if synchronizes { try directory.objects.synchronizeFolder(of: object) }
        let (entry, unused) = try connection.put(key, facts, object: object, at: place, now: now)
        for object in unused { try connection.remove(object, from: directory) }
        for object in try connection.trimRepresentations(of: key) { try connection.remove(object, from: directory) }
        return entry
    }

    /// Returns the object of these bytes if the index and the disk have it. A rename over its file would cost ext4 a
    /// write to the disk at once.
    private func wholeObject(
        _ digest: Digest, _ size: Int64, _ facts: EntryFacts, at place: ObjectPlace
    ) -> StoredObject? {
        guard let known = place.known, known.size == size, let fileExtension = known.fileExtension else { return nil }
        let object = StoredObject(
            digest: digest, fileExtension: fileExtension, size: size, modified: known.modified, pixels: facts.pixels)
        return directory.objects.isWhole(object) ? object : nil
    }

    private func stage(_ hashed: HashedBytes) throws(StorageError) -> StagedObject {
        let staged = try directory.restoring { () throws(StorageError) in try StagedObject(directory) }
        try hashed.bytes.withUnsafeBytes { bytes in
            Result { () throws(StorageError) in
                try staged.write(all: bytes, hashed.digest, synchronize: synchronizes)
            }
        }.get()
        return staged
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

/// A selection of orders, with the places of their outcomes among those of all orders.
struct OrderSelection: Sendable {
    private(set) var orders: [[IndexOrder]] = []
    private var places: [(group: Int, orders: [Int])] = []

    var isEmpty: Bool { orders.isEmpty }

    init(_ groups: [[IndexOrder]], where isChosen: (_ group: Int, _ order: Int) -> Bool) {
        for (number, group) in groups.enumerated() {
            let chosen = group.indices.filter { isChosen(number, $0) }
            if chosen.isEmpty { continue }
            orders.append(chosen.map { group[$0] })
            places.append((number, chosen))
        }
    }

    /// Copies the outcomes of the selected orders to their places in `all`.
    func put(_ done: [[IndexOrder.Outcome]], into all: inout [[IndexOrder.Outcome]]) {
        for (place, outcomes) in zip(places, done) {
            for (order, outcome) in zip(place.orders, outcomes) { all[place.group][order] = outcome }
        }
    }
}

/// Groups of orders in the `IndexWriter`'s queue, with one completion for all of them.
final class OrderSubmission: Sendable {
    typealias Completion = @Sendable ([[IndexOrder.Outcome]]) -> Void

    private struct State {
        var outcomes: [[IndexOrder.Outcome]]
        var left: Int
    }

    let groups: [[IndexOrder]]
    /// The time of submission.
    let time: Timestamp
    private let completion: Completion
    private let state: Mutex<State>

    /// Requires at least one group.
    init(_ groups: [[IndexOrder]], at time: Timestamp, completion: @escaping Completion) {
        self.groups = groups
        self.time = time
        self.completion = completion
        state = Mutex(State(outcomes: [[IndexOrder.Outcome]](repeating: [], count: groups.count), left: groups.count))
    }

    /// Records that a group was committed or has failed. The last group completes the submission.
    func finish(_ group: Int, _ outcomes: [IndexOrder.Outcome]) {
        let all = state.withLock { state -> [[IndexOrder.Outcome]]? in
            state.outcomes[group] = outcomes
            state.left -= 1
            guard state.left == 0 else { return nil }
            defer { state.outcomes = [] }
            return state.outcomes
        }
        if let all { completion(all) }
    }
}

/// The removal of entries with their files.
extension Connection {
    /// Removes an entry, and its object if no other entry uses it.
    func remove(row: Int64, from directory: CacheDirectory) throws(StorageError) {
        for unused in try removeEntry(row: row).unused { try remove(unused, from: directory) }
    }

    /// Removes an object's file, then its row. A crash between them leaves a row without a file, which the next read
    /// removes as a miss.
    func remove(_ unused: UnusedObject, from directory: CacheDirectory) throws(StorageError) {
        if let object = unused.object { try directory.objects.clear(object) }
        try forgetObject(row: unused.row)
    }
}
