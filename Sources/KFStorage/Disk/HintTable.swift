/// What the cache remembers beside its index: one number for each name.
///
/// The table is a part of the lock file, which every process has open, so that it costs a look-up nothing. It has levels:
/// the first has 65,536 places, and each further one, used when a bucket of 8 places is full of names that still count,
/// has twice as many as the one before. No look-up relies on it: a hint may be missing, and another program may have
/// written it.
struct HintTable: Sendable {
    private static let places = 1 << 16
    /// The places that a name may take in a level. They are read together.
    private static let bucket = 8
    /// The words before the tables belong to the counts, and are mapped.
    private static let reserved = 512

    private let lock: FileLock
    private let first: Int
    private let levels: Int

    /// The removals of entries by their rows. A removal replaces another one of the same place.
    static func removals(_ lock: FileLock?) -> HintTable? { lock.map { HintTable(lock: $0, first: 0, levels: 1) } }

    /// The rows of processed images by what they were made from. The last level is that of 100 million images.
    static func results(_ lock: FileLock?) -> HintTable? { lock.map { HintTable(lock: $0, first: places, levels: 11) } }

    /// The word of a name's place in a level.
    private func word(of name: Int64, level: Int) -> Int {
        let mask = Self.places << level - 1
        return Self.reserved + 2 * (first + (Self.places << level - Self.places) + Int(truncatingIfNeeded: name) & mask)
    }

    /// The names and numbers of a name's bucket, and the word where it begins.
    private func read(_ name: Int64, level: Int) throws(StorageError) -> (start: Int, words: [Int64]) {
        let size = 2 * Self.bucket
        let start = word(of: name, level: level) / size * size
        return (start, try lock.read(words: size, from: start))
    }

    /// The number of a name; nil if it is not remembered.
    subscript(name: Int64) -> Int64? {
        for level in 0..<levels {
            guard let words = bestEffort({ try read(name, level: level).words }) else { return nil }
            var isFull = true
            for place in stride(from: 0, to: words.count, by: 2) {
                if words[place + 1] == 0 { isFull = false } else if words[place] == name { return words[place + 1] }
            }
            guard isFull else { return nil }
        }
        return nil
    }

    /// Notes the number of a name in its place of the first level.
    func note(_ value: Int64, of name: Int64) {
        bestEffort { try lock.write(words: [name, value], from: word(of: name, level: 0)) }
    }

    /// Notes the number of a name in place of no other name whose number `counts`.
    func add(_ value: Int64, of name: Int64, unless counts: (Int64) throws(StorageError) -> Bool) {
        bestEffort { () throws(StorageError) in
            for level in 0..<levels {
                let (start, words) = try read(name, level: level)
                let places = stride(from: 0, to: words.count, by: 2)
                var place = places.first { words[$0] == name } ?? places.first { words[$0 + 1] == 0 }
                for other in places where place == nil {
                    if try !counts(words[other + 1]) { place = other }
                }
                guard let place else { continue }
                return try lock.write(words: [name, value], from: start + place)
            }
        }
    }
}

/// The removal of an entry that the cache had.
public struct PastRemoval: Sendable, Equatable {
    /// The reason of the removal.
    public enum Reason: Int64, Sendable {
        /// The cache exceeded its limit.
        case evicted
        /// Its time to live was over when the cache was cleaned.
        case expired
        /// The user or the program removed it.
        case removed
        /// Its file was missing or had other bytes.
        case damaged
    }

    /// The reason of the removal.
    public let reason: Reason
    /// The time of the removal.
    public let time: Timestamp

    init(_ reason: Reason, _ time: Timestamp) {
        self.reason = reason
        self.time = time
    }

    /// The milliseconds since 1970 with the reason in the two lowest bits.
    fileprivate var number: Int64 { time.milliseconds << 2 | reason.rawValue }

    fileprivate init?(_ number: Int64, now: Timestamp) {
        guard let reason = Reason(rawValue: number & 3), 1...now.milliseconds ~= number >> 2 else { return nil }
        self.init(reason, Timestamp(milliseconds: number >> 2))
    }
}

extension DiskStorage {
    /// Returns the last removal of an entry, as far as the cache remembers it. Blocks.
    package func removal(of key: EntryKey) -> PastRemoval? {
        HintTable.removals(session.lock)?[key.id].flatMap { PastRemoval($0, now: now()) }
    }

    func noteRemoval(of row: Int64, _ reason: PastRemoval.Reason) {
        HintTable.removals(session.lock)?.note(PastRemoval(reason, now()).number, of: row)
    }

    /// Returns the fresh image that these processors made from the same bytes under another key, as far as the cache
    /// remembers it. Blocks.
    package func result(
        of identifier: String, madeFrom original: Digest
    ) throws(StorageError) -> Entry? {
        guard let row = HintTable.results(session.lock)?[Self.name(of: identifier, madeFrom: original)] else {
            return nil
        }
        let found = try read { connection throws(StorageError) in try connection.entry(row: row) }
        guard let entry = found.map({ current($0, at: now()) }), entry.original == original,
            entry.key.identifier == identifier, !entry.isExpired(at: now())
        else { return nil }
        return entry
    }

    /// Remembers what an image was made from, as long as the index has it.
    func noteResult(_ entry: Entry) {
        guard let original = entry.original else { return }
        HintTable.results(session.lock)?.add(entry.row, of: Self.name(of: entry.key.identifier, madeFrom: original)) {
            row throws(StorageError) in
            try read { connection throws(StorageError) in try connection.entry(row: row) } != nil
        }
    }

    private static func name(of identifier: String, madeFrom original: Digest) -> Int64 {
        EntryKey(key: "sha256:\(original.hex)", identifier: identifier).id
    }
}
