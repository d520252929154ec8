import Synchronization

/// Counts commits in the lock file, so that a process can tell for the price of one read whether another process has
/// committed since it looked into the index.
final class CommitCount: Sendable {
    /// The word of the lock file with the commits of all processes.
    private static let word = 3

    /// Nil where there is no lock file: then nobody writes.
    private let lock: FileLock?
    /// Commits of this process. The lock spans reading the file's count as well: the difference must be exact.
    private let own = Mutex<Int64>(0)

    init(_ lock: FileLock?) { self.lock = lock }

    /// To be called after each commit, with the write lock. A failure costs another process a request at most.
    func note() {
        guard let lock else { return }
        own.withLock { own in
            let noted = Result { () throws(StorageError) in
                try lock.write(words: [try lock.read(words: 1, from: Self.word)[0] &+ 1], from: Self.word)
            }
            if case .success = noted { own &+= 1 }
        }
    }

    /// Grows with each commit of another process.
    var others: Int64 {
        guard let lock else { return 0 }
        return own.withLock { own in
            let all = Result { () throws(StorageError) in try lock.read(words: 1, from: Self.word)[0] }
            if case .success(let all) = all { return all &- own }
            return 0
        }
    }
}
