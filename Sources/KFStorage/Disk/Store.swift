import Synchronization

/// A change to the index and its files, as a value of one word.
package enum Store: Sendable {
    /// Publishes bytes under a key. The result is the entry; nil when the bytes were made from an original that has been
    /// replaced meanwhile. One that has just arrived, and is not stored, removes an older one with other bytes.
    case put(Put)
    /// Makes entries fresh again without changing their bytes. The result is the current first entry; nil when it was
    /// removed or has other bytes by now.
    indirect case renew([Entry], EntryRenewal)
    /// Keeps the file of an entry under another key of the same source, so that it survives the entry's replacement.
    /// The result is the new entry; nil when the old one has other bytes by now.
    indirect case keep(Entry, as: EntryKey, EntryFacts)

    package typealias Outcome = Result<Entry?, StorageError>

    /// Bytes that are to be published under a key. A reference, because its facts are many words.
    package final class Put: Sendable {
        /// A finished file, which is moved to its object's place; nil for bytes that the cache seems to have.
        let staged: StagedObject?
        /// Bytes that the cache seems to have. They are written only if the object is not whole inside the transaction.
        let bytes: [UInt8]
        /// The hash of the bytes; nil if the file is not finished, so that the store fails.
        let digest: Digest?
        let size: Int64
        let key: EntryKey
        let facts: EntryFacts

        init(
            staged: StagedObject? = nil, bytes: [UInt8] = [], _ digest: Digest?, _ size: Int64, _ key: EntryKey,
            _ facts: consuming EntryFacts
        ) {
            (self.staged, self.bytes, self.digest, self.size, self.key) = (staged, bytes, digest, size, key)
            self.facts = facts
        }

        convenience init(_ staged: StagedObject, _ key: EntryKey, _ facts: consuming EntryFacts) {
            self.init(staged: staged, staged.digest, staged.size, key, facts)
        }

        /// Whether a run can store it: an original without a history, in a file of its own, whose bytes are most likely new.
        var isNewOriginal: Bool {
            staged != nil && key.identifier.isEmpty && facts.past == nil && !facts.rewrites
        }

        /// Returns the same store with other header lines.
        func with(freshness: String?) -> Put {
            var facts = facts
            facts.freshness = freshness
            return Put(staged: staged, bytes: bytes, digest, size, key, facts)
        }

        /// Returns the object of the bytes in a file of this time.
        func object(modified: Int64) -> StoredObject? {
            digest.map {
                StoredObject(
                    digest: $0, fileExtension: ObjectExtension(naming: facts.fileExtension), size: size,
                    modified: modified, pixels: facts.pixels)
            }
        }
    }

    /// The store of bytes; nil if there are none.
    var put: Put? { if case .put(let put) = self { put } else { nil } }

    /// The file of the bytes; nil if they are in none.
    package var staged: StagedObject? { put?.staged }

    /// The hash of the bytes to store; nil if there are none.
    package var digest: Digest? { put?.digest }

    /// The number of bytes to store; nil if there are none.
    var size: Int64? { put?.size }

    /// Whether its bytes were made from a file or another source that no server sent.
    var isOfLocalSource: Bool {
        switch self {
        case .put(let put): put.facts.host == EntryFacts.localHost
        case .keep(_, _, let facts): facts.host == EntryFacts.localHost
        case .renew: false
        }
    }

    /// The first row that the store touches. A batch is carried out in row order.
    var row: Int64 {
        switch self {
        case .put(let put): put.key.id
        case .renew(let entries, _): entries.first?.row ?? 0
        case .keep(_, let key, _): key.id
        }
    }
}

/// A store of an image that most likely is new, so that it can be one of a run.
struct NewImage {
    let put: Store.Put
    let time: Timestamp
}

/// Stores in the `IndexWriter`'s queue, in flat arrays. Each group of them is one transaction.
final class Submission: Sendable {
    typealias Completion = @Sendable ([Store.Outcome]) -> Void

    let stores: [Store]
    /// The groups, one after the other, as places in `stores`.
    let groups: [Range<Int>]
    /// The outcomes that are known beforehand: of an earlier try, or of stores that cannot succeed.
    let known: [Store.Outcome?]?
    let time: Timestamp
    private let completion: Completion
    /// The outcomes in the places of the stores, and the number of groups that have none yet.
    private let progress: Mutex<(outcomes: [Store.Outcome], left: Int)>

    /// Requires at least one group, and a group for each store. `completion` is called once, when every store is
    /// committed or has failed.
    init(
        _ stores: [Store], groups: [Range<Int>], known: [Store.Outcome?]? = nil, at time: Timestamp,
        completion: @escaping Completion
    ) {
        precondition(groups.last?.upperBound == stores.count, "each store is in a group")
        (self.stores, self.groups, self.known) = (stores, groups, known)
        self.time = time
        self.completion = completion
        let outcomes = [Store.Outcome](repeating: .success(nil), count: stores.count)
        progress = Mutex((outcomes, groups.count))
    }

    /// Records that a group was committed or has failed. The last group completes the submission.
    func finish(_ group: Int, _ outcomes: ArraySlice<Store.Outcome>) {
        let all = progress.withLock { progress -> [Store.Outcome]? in
            for (place, outcome) in zip(groups[group], outcomes) { progress.outcomes[place] = outcome }
            progress.left -= 1
            guard progress.left == 0 else { return nil }
            defer { progress.outcomes = [] }
            return progress.outcomes
        }
        if let all { completion(all) }
    }

    /// Records that none of a group's stores was committed.
    func fail(_ group: Int, _ error: StorageError) {
        finish(group, groups[group].map { known?[$0] ?? .failure(error) }[...])
    }
}
