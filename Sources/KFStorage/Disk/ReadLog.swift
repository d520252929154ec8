import Glibc

/// What reading would like to write: access times and counts. Written once, when the process ends.
struct ReadLog {
    struct Touch {
        let accessed: Timestamp
        let expires: Timestamp
    }

    var touches: [Int64: Touch] = [:]
    var counts = ReadCounts()

    var isEmpty: Bool { touches.isEmpty && counts == ReadCounts() }
}

extension ReadCounts {
    // The counts stand in the lock file, which every process has open: in the index, each hit would add a page to the
    // log that the next one has to read.

    static func read(from lock: FileLock) throws(StorageError) -> ReadCounts {
        var counts = ReadCounts()
        let words = try lock.read(words: 2)
        counts.hits = words[0]
        counts.misses = words[1]
        return counts
    }

    /// Adds to what is there; the write lock must be held.
    func add(to lock: FileLock) throws(StorageError) {
        let old = try Self.read(from: lock)
        try lock.write(words: [old.hits &+ hits, old.misses &+ misses])
    }
}
