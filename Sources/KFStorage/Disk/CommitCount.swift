import Synchronization

/// Counts commits in the lock file, so that a process can tell for the price of a load whether another process has
/// committed since it looked into the index.
final class CommitCount: Sendable {
    /// The word of the lock file with the commits of all processes.
    private static let word = 3

    private enum Source {
        case unknown
        case mapped(MappedWords)
        /// Where the file cannot be mapped, or another machine may write it.
        case read
    }

    private struct State {
        /// Commits of this process.
        var own: Int64 = 0
        var source = Source.unknown
    }

    /// Nil where there is no lock file: then nobody writes.
    private let lock: FileLock?
    private let maps: Bool
    /// The lock spans reading the file's count as well: the difference must be exact.
    private let state = Mutex(State())

    init(_ lock: FileLock?, isOnNetwork: Bool) {
        self.lock = lock
        maps = !isOnNetwork
    }

    /// To be called after each commit, with the write lock. A failure costs another process a request at most.
    func note() {
        guard let lock else { return }
        state.withLock { state in
            let noted = Result { () throws(StorageError) in
                try lock.write(words: [try lock.read(words: 1, from: Self.word)[0] &+ 1], from: Self.word)
            }
            if case .success = noted { state.own &+= 1 }
        }
    }

    /// Grows with each commit of another process.
    var others: Int64 {
        guard let lock else { return 0 }
        return state.withLock { state in
            if case .unknown = state.source { state.source = source(lock) }
            if case .mapped(let words) = state.source { return words[Self.word] &- state.own }
            let all = Result { () throws(StorageError) in try lock.read(words: 1, from: Self.word)[0] }
            if case .success(let all) = all { return all &- state.own }
            return 0
        }
    }

    private func source(_ lock: FileLock) -> Source {
        guard maps else { return .read }
        if let words = lock.map(words: Self.word + 1) { return .mapped(words) }
        // A cache that an earlier version made has an empty file until its first commit.
        return .unknown
    }
}
