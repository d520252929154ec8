import KFSystem

/// What reading has changed and the index does not have yet: access times, expiries and counts. The look-ups and the
/// evictions of this process see them at once.
struct ReadLog {
    /// By row. They are written every few seconds, and stay here until they are committed.
    private(set) var touches: [Int64: Touch] = [:]
    /// Reads that the index is never told of, because they follow each other too closely. The latest come last.
    private var uses: [Use] = []
    var counts = ReadCounts()
    /// A time is set at which all this is written.
    var isScheduled = false

    private struct Use {
        let row: Int64
        let accessed: Timestamp
    }

    /// More uses than this are not remembered: the earlier half is forgotten.
    private static let mostUses = 1 << 14

    var isEmpty: Bool { touches.isEmpty && counts.isZero }

    mutating func add(_ touch: Touch, row: Int64) {
        touches[row] = touches[row].map { $0.followed(by: touch) } ?? touch
    }

    mutating func addUse(row: Int64, at time: Timestamp) {
        if uses.count == Self.mostUses { uses.removeFirst(Self.mostUses / 2) }
        uses.append(Use(row: row, accessed: time))
    }

    /// Forgets what is in the index by now.
    mutating func settle(_ written: some Sequence<(row: Int64, touch: Touch)>) {
        for (row, touch) in written where touches[row]?.accessed == touch.accessed { touches[row] = nil }
    }

    /// When each entry was used last, as far as this process knows better than the index.
    var lastUses: [Int64: Timestamp] {
        var last = touches.mapValues(\.accessed)
        for use in uses { last[use.row] = use.accessed }
        return last
    }
}

/// A read that moved an entry's times.
struct Touch {
    /// When the entry was stored: one that took its place has times of its own.
    let created: Timestamp
    let accessed: Timestamp
    let expires: Timestamp

    fileprivate func followed(by next: Touch) -> Touch {
        guard next.created == created else { return next }
        return Touch(
            created: created, accessed: max(accessed, next.accessed), expires: max(expires, next.expires))
    }
}

extension Entry {
    /// The same with times that the index does not have yet. Whoever has stored or confirmed the entry since then has
    /// also moved its access time.
    func touched(by touch: Touch?) -> Entry {
        guard let touch, touch.created == created, touch.accessed > accessed else { return self }
        var entry = self
        (entry.accessed, entry.expires) = (touch.accessed, max(expires, touch.expires))
        return entry
    }
}

/// How often the cache was asked. Lower bounds: other processes are counted as far as they have written their counts, which
/// they do every 5 seconds and when they end.
public struct ReadCounts: Sendable, Equatable {
    /// Reads that found what they looked for.
    public var hits: Int64 = 0
    /// Reads that did not.
    public var misses: Int64 = 0
    /// When they were last set to zero; nil when they never were.
    public var since: Timestamp?

    package init() {}

    var isZero: Bool { hits == 0 && misses == 0 }

    /// Both together; since when is this one's.
    func adding(_ other: ReadCounts) -> ReadCounts {
        var sum = self
        sum.hits = hits.adding(saturating: other.hits)
        sum.misses = misses.adding(saturating: other.misses)
        return sum
    }
}

extension ReadCounts {
    // The counts stand in the lock file, which every process has open: in the index, each hit would add a page to the
    // log that the next one has to read.

    /// So many 64-bit numbers at the beginning of the file.
    static let words = 2

    static func read(from lock: FileLock) throws(StorageError) -> ReadCounts {
        var counts = ReadCounts()
        let words = try lock.read(words: Self.words)
        // The file may be of another's making.
        counts.hits = min(max(0, words[0]), Statement.mostCounted)
        counts.misses = min(max(0, words[1]), Statement.mostCounted)
        let since = try lock.read(words: resetWord + 1)[resetWord]
        counts.since = since == 0 ? nil : Timestamp(milliseconds: since)
        return counts
    }

    /// Where the time of the last reset stands, behind what others keep there.
    private static let resetWord = 7

    /// The write lock must be held.
    static func reset(in lock: FileLock, at now: Timestamp) throws(StorageError) {
        try lock.write(words: [0, 0])
        try lock.write(words: [now.milliseconds], from: resetWord)
    }

    /// Adds to what is there; the write lock must be held.
    func add(to lock: FileLock) throws(StorageError) {
        let old = try Self.read(from: lock)
        try lock.write(words: [old.hits &+ hits, old.misses &+ misses])
    }
}
