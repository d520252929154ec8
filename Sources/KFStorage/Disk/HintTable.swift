/// What the cache remembers beside its index: one number for each of the last names.
///
/// The table is a part of the lock file, which every process has open, so that it costs a look-up nothing. It has a
/// place for 65,536 names, and a name replaces another one of the same place. No look-up relies on it: a hint may be
/// missing, and another program may have written it.
struct HintTable: Sendable {
    private static let places = 1 << 16
    /// The words before the tables belong to the counts, and are mapped.
    private static let reserved = 512

    private let lock: FileLock
    private let number: Int

    private init(_ lock: FileLock, _ number: Int) {
        self.lock = lock
        self.number = number
    }

    /// The removals of entries by their rows.
    static func removals(_ lock: FileLock?) -> HintTable? { lock.map { HintTable($0, 0) } }

    /// The rows of processed images by what they were made from.
    static func results(_ lock: FileLock?) -> HintTable? { lock.map { HintTable($0, 1) } }

    private func word(of name: Int64) -> Int {
        Self.reserved + 2 * (number * Self.places + Int(truncatingIfNeeded: name) & (Self.places - 1))
    }

    /// The number of a name; nil if it is not remembered.
    subscript(name: Int64) -> Int64? {
        let words = bestEffort { try lock.read(words: 2, from: word(of: name)) }
        guard let words, words[0] == name, words[1] != 0 else { return nil }
        return words[1]
    }

    func note(_ value: Int64, of name: Int64) {
        bestEffort { try lock.write(words: [name, value], from: word(of: name)) }
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

    /// Remembers what an image was made from.
    func noteResult(_ entry: Entry) {
        guard let original = entry.original else { return }
        HintTable.results(session.lock)?.note(entry.row, of: Self.name(of: entry.key.identifier, madeFrom: original))
    }

    private static func name(of identifier: String, madeFrom original: Digest) -> Int64 {
        EntryKey(key: "sha256:\(original.hex)", identifier: identifier).id
    }
}
