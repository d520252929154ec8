import Dispatch
import Synchronization

/// Takes the images of one cache into another: of two entries of one key the newer one, with its times, hits and tags.
/// Remembered answers without an image are left out. Both caches may be in use meanwhile.
package struct CacheMerger: ~Copyable {
    /// The entries that were taken, with the bytes of their images.
    package private(set) var taken = 0
    package private(set) var bytes: Int64 = 0
    /// The entries of which the cache has one of the same age or a newer one, or a newer original.
    package private(set) var kept = 0
    /// The entries whose file is missing or has other bytes.
    package private(set) var damaged = 0
    /// The entries whose image is larger than the limit of the whole cache.
    package private(set) var tooLarge = 0

    private let source: DiskStorage
    private let target: DiskStorage?
    private let sizeLimit: Int64
    private let changesNothing: Bool
    /// The error of a copy for which the disk had no room. Smaller ones may fit.
    private var fullDisk: StorageError?
    private let each: (Entry) -> Void

    private typealias Found = (entry: SalvagedEntry, tags: [String])

    /// The number of entries that are submitted together.
    private static let batch = 256
    /// The greatest size of a file that is read into memory, in bytes.
    private static let inMemory: Int64 = 1 << 20
    /// The number of entries that are read from an index together, approximately.
    private static let part = 4096

    /// `each` receives each entry that is taken. `sizeLimit` is that of the target, 0 for none. With `changesNothing`, no
    /// file is read or written; a missing target then counts as empty.
    package init(
        from source: DiskStorage, into target: DiskStorage?, sizeLimit: Int64, changesNothing: Bool,
        each: @escaping (Entry) -> Void
    ) {
        self.source = source
        self.target = target
        self.sizeLimit = sizeLimit
        self.changesNothing = changesNothing
        self.each = each
    }

    /// Takes the images, whose files are hashed. What was taken before an error stays, and with a full disk what fits is
    /// taken before that error is thrown. Blocks.
    package mutating func run() throws(StorageError) {
        // Processed images come after all originals: a store refuses one whose original has other bytes here.
        for takesOriginals in [true, false] {
            for part in try Self.parts(of: source) {
                var rest = try Self.entries(of: source, part, originals: takesOriginals)[...]
                while !rest.isEmpty {
                    let some = rest.prefix(Self.batch)
                    rest = rest.dropFirst(some.count)
                    try take(some)
                }
            }
        }
        if let fullDisk { throw fullDisk }
    }

    /// Calls `body` with each image that is not the same in both caches: its entries in the source and in the target, as far
    /// as it has them. Blocks.
    package func compare(_ body: (_ there: Entry?, _ here: Entry?) -> Void) throws(StorageError) {
        for originals in [true, false] {
            for part in try Self.parts(of: source) {
                let found = try Self.entries(of: source, part, originals: originals)[...]
                for (there, here) in zip(found, try Self.known(found, in: target)) {
                    let there = there.entry.entry
                    if let here, here.created == there.created, here.object.digest == there.object.digest { continue }
                    body(there, here)
                }
            }
            guard let target else { continue }
            for part in try Self.parts(of: target) {
                let found = try Self.entries(of: target, part, originals: originals)[...]
                for (here, there) in zip(found, try Self.known(found, in: source)) where there == nil {
                    body(nil, here.entry.entry)
                }
            }
        }
    }

    /// The ranges of row numbers that are read together.
    private static func parts(of storage: DiskStorage) throws(StorageError) -> [ClosedRange<Int64>] {
        let count = try storage.read { connection throws(StorageError) in try connection.count() }
        return Connection.parts(max(1, count / part))
    }

    private static func entries(
        of storage: DiskStorage, _ rows: ClosedRange<Int64>, originals: Bool
    ) throws(StorageError) -> [Found] {
        try storage.read { connection throws(StorageError) in
            var entries: [Found] = []
            for found in try connection.wholeEntries(rows)
            where found.entry.key.isOriginal == originals && found.entry.key.holdsImage {
                entries.append((found, try connection.tags(row: found.entry.row)))
            }
            return entries
        }
    }

    private mutating func take(_ some: ArraySlice<Found>) throws(StorageError) {
        let known = try Self.known(some, in: target).map { $0?.created }
        var entries: [Entry] = []
        var stores: [Store] = []
        for (found, known) in zip(some, known) {
            let entry = found.entry.entry
            if let known, known >= entry.created {
                kept += 1
            } else if sizeLimit > 0, entry.object.size > sizeLimit {
                tooLarge += 1
            } else if changesNothing {
                note(entry)
            } else if let target {
                do throws(StorageError) {
                    guard let store = try store(entry, found.entry.facts(found.tags), to: target) else {
                        damaged += 1
                        continue
                    }
                    entries.append(entry)
                    stores.append(store)
                } catch let error where error.isDiskFull {
                    fullDisk = error
                }
            }
        }
        guard let target, !stores.isEmpty else { return }
        let outcomes = Mutex<[Store.Outcome]>([])
        let done = DispatchSemaphore(value: 0)
        target.store(stores, urgent: true) { all in
            outcomes.withLock { $0 = all }
            done.signal()
        }
        done.wait()
        for (entry, outcome) in zip(entries, outcomes.withLock { $0 }) {
            switch outcome {
            case .success(nil): kept += 1
            case .success: note(entry)
            case .failure(let error) where error.isDiskFull: fullDisk = error
            case .failure(let error): throw error
            }
        }
    }

    /// Returns what a cache has under the keys of these entries.
    private static func known(
        _ some: ArraySlice<Found>, in storage: DiskStorage?
    ) throws(StorageError) -> [Entry?] {
        guard let storage else { return some.map { _ in nil } }
        return try storage.read { connection throws(StorageError) in
            try connection.reading { () throws(StorageError) in
                var known: [Entry?] = []
                for found in some { known.append(try connection.entry(found.entry.entry.key)) }
                return known
            }
        }
    }

    private mutating func note(_ entry: Entry) {
        taken += 1
        bytes = bytes.adding(saturating: entry.object.size)
        each(entry)
    }

    /// Prepares the copy of an entry. Nil if its file is missing or has other bytes.
    private func store(
        _ entry: Entry, _ facts: EntryFacts, to target: DiskStorage
    ) throws(StorageError) -> Store? {
        guard let file = try source.open(entry) else { return nil }
        if entry.object.size <= Self.inMemory {
            let bytes = try file.readAll(expected: Int(entry.object.size), limit: Int(entry.object.size))
            let digest = bytes.withUnsafeBytes(SHA256.hash)
            return digest == entry.object.digest ? try target.prepare(bytes, digest, entry.key, facts) : nil
        }
        let staged = try target.stage()
        try file.forEachPiece { piece throws(StorageError) in try staged.write(piece) }
        try staged.finish(synchronize: false)
        return staged.digest == entry.object.digest ? try target.prepare(staged, entry.key, facts) : nil
    }
}

extension SalvagedEntry {
    fileprivate func facts(_ tags: [String]) -> EntryFacts {
        var facts = EntryFacts()
        (facts.host, facts.format, facts.fileExtension) = (host, format, entry.object.fileExtension.text)
        facts.pixels = entry.object.pixels
        (facts.url, facts.original) = (entry.url, entry.original)
        (facts.etag, facts.lastModified, facts.freshness) = (entry.etag, entry.lastModified, entry.freshness)
        facts.expiration = entry.expires == .distantFuture ? .never : .date(entry.expires)
        (facts.timeToLive, facts.extending) = (entry.timeToLive, entry.extending)
        facts.past = EntryPast(created: entry.created, accessed: entry.accessed, hits: entry.hits, tags: tags)
        return facts
    }
}
