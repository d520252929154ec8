import KFSystem

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
