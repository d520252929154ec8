import KFSystem

/// The changes by reads that the index does not have yet: access times, expiries and counts. The lookups and evictions
/// of this process use them at once.
struct ReadLog {
    /// The touches by row. They are written every few seconds, and stay here until they are committed.
    private(set) var touches: [Int64: Touch] = [:]
    /// Reads that the index never records, because they follow an earlier read too closely. The latest are last.
    private var uses: [(row: Int64, accessed: Timestamp)] = []
    var counts = ReadCounts()
    /// Whether a write of these changes is scheduled.
    var isScheduled = false

    /// The largest number of remembered uses. At this number the earlier half is dropped.
    private static let mostUses = 1 << 14

    var isEmpty: Bool { touches.isEmpty && counts.isZero }

    mutating func add(_ touch: Touch, row: Int64) {
        touches[row] = touches[row].map { $0.followed(by: touch) } ?? touch
    }

    mutating func addUse(row: Int64, at time: Timestamp) {
        if uses.count == Self.mostUses { uses.removeFirst(Self.mostUses / 2) }
        uses.append((row, time))
    }

    /// Removes the touches that have been committed.
    mutating func settle(_ written: some Sequence<(row: Int64, touch: Touch)>) {
        for (row, touch) in written where touches[row]?.accessed == touch.accessed { touches[row] = nil }
    }

    /// The last use of each entry that this process knows and the index does not, by row.
    var lastUses: [Int64: Timestamp] {
        var last = touches.mapValues(\.accessed)
        for use in uses { last[use.row] = use.accessed }
        return last
    }
}

/// The rows of entries that this process has stored or read, as many as are kept, and those of them that it evicted.
struct OwnEntries {
    /// May repeat a row. An array, because the first set of a process costs it as much as half a look-up.
    private var rows: [Int64] = []
    private(set) var evictedAgain = Removal()
    /// Whether this process has stored or renewed an image, or recorded copies; a remembered response without one is none.
    private(set) var hasChanged = false
    /// The largest number of rows, which take about a megabyte.
    private static let most = 1 << 16

    mutating func use(row: Int64) { if rows.count < Self.most { rows.append(row) } }

    mutating func noteChange() { hasChanged = true }

    mutating func store(_ entry: Entry) {
        use(row: entry.row)
        // A remembered response without an image has no bytes.
        if entry.object.size > 0 { hasChanged = true }
    }

    /// Counts those of the evicted entries that this process has used.
    mutating func evict(_ victims: some Sequence<Victim>) {
        var own = Set(rows)
        for victim in victims where own.remove(victim.row) != nil { evictedAgain.add(entries: 1, bytes: victim.size) }
        rows = Array(own)
    }
}

/// A read that changed an entry's times.
struct Touch {
    /// The time when the entry was stored. An entry that replaced it has times of its own.
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
    /// Returns the entry with times that the index does not have yet. A later store or revalidation has moved the
    /// access time itself, and takes precedence.
    func touched(by touch: Touch?) -> Entry {
        guard let touch, touch.created == created, touch.accessed > accessed else { return self }
        return with(accessed: touch.accessed, expires: max(expires, touch.expires))
    }
}

/// The counts of a cache's remotes.
public struct RemoteCounts: Sendable, Equatable {
    /// The number of images that came from a remote.
    public var hits: Int64 = 0
    /// The number of images that no remote had.
    public var misses: Int64 = 0
    /// The number of requests that failed or were refused, and of blobs that were not what they should be.
    public var errors: Int64 = 0
    /// The number of images that were uploaded.
    public var uploaded: Int64 = 0
    /// The number of uploads that were given up: the remote refused them or did not answer, the queue was full, or time was
    /// over.
    public var dropped: Int64 = 0
    /// The number of tries that found a blob locked or the remote busy, and were repeated. It is not summed up over runs.
    public var retried: Int64 = 0

    package init() {}

    /// The number of 64-bit words that the counts take in the lock file.
    static let words = 5

    init(_ words: [Int64]) {
        // Another program may have written the file.
        let counts = words.map { min(max(0, $0), Statement.mostCounted) }
        (hits, misses, errors, uploaded, dropped) = (counts[0], counts[1], counts[2], counts[3], counts[4])
    }

    var all: [Int64] { [hits, misses, errors, uploaded, dropped] }

    package var isZero: Bool { self == RemoteCounts() }

    package func adding(_ other: RemoteCounts) -> RemoteCounts {
        RemoteCounts(zip(all, other.all).map { $0.adding(saturating: $1) })
    }

    package func subtracting(_ other: RemoteCounts) -> RemoteCounts {
        RemoteCounts(zip(all, other.all).map { $0 &- $1 })
    }
}

/// The counts of cache hits and misses. They are lower bounds: other processes add theirs every 5 seconds and when they
/// end.
public struct ReadCounts: Sendable, Equatable {
    /// The number of hits.
    public var hits: Int64 = 0
    /// The number of misses.
    public var misses: Int64 = 0
    /// The counts of the remotes.
    public var remotes = RemoteCounts()
    /// The time when the counts were last reset; nil when they never were.
    public var since: Timestamp?

    package init() {}

    var isZero: Bool { hits == 0 && misses == 0 && remotes.isZero }

    /// Returns the sums of both, with the `since` of this value.
    func adding(_ other: ReadCounts) -> ReadCounts {
        var sum = self
        sum.hits = hits.adding(saturating: other.hits)
        sum.misses = misses.adding(saturating: other.misses)
        sum.remotes = remotes.adding(other.remotes)
        return sum
    }
}

extension ReadCounts {
    // The counts are in the lock file, which every process has open. In the index, each hit would add a page to the log
    // that the next process has to read.

    /// The number of 64-bit words for the counts, at the beginning of the file.
    static let words = 2

    static func read(from lock: FileLock) throws(StorageError) -> ReadCounts {
        var counts = ReadCounts()
        let words = try lock.read(words: remoteWord + RemoteCounts.words)
        // Another program may have written the file.
        counts.hits = min(max(0, words[0]), Statement.mostCounted)
        counts.misses = min(max(0, words[1]), Statement.mostCounted)
        counts.since = words[resetWord] == 0 ? nil : Timestamp(milliseconds: words[resetWord])
        counts.remotes = RemoteCounts(Array(words[remoteWord...]))
        return counts
    }

    /// The word with the time of the last reset. The words between belong to the sweep, to `CommitCount`, to the holder of
    /// the write lock and to `OwnMark`; one is unused.
    private static let resetWord = 7
    private static let remoteWord = 8

    /// Sets the counts to zero. The caller holds the write lock.
    static func reset(in lock: FileLock, at now: Timestamp) throws(StorageError) {
        try lock.write(words: [0, 0])
        try lock.write(words: RemoteCounts().all, from: remoteWord)
        try lock.write(words: [now.milliseconds], from: resetWord)
    }

    /// Adds these counts to those in the file. The caller holds the write lock.
    func add(to lock: FileLock) throws(StorageError) {
        let old = try Self.read(from: lock)
        try lock.write(words: [old.hits &+ hits, old.misses &+ misses])
        // Most processes have no remote, and each write costs a system call.
        if !remotes.isZero { try lock.write(words: old.remotes.adding(remotes).all, from: Self.remoteWord) }
    }
}
