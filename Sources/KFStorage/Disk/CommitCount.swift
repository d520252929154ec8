import Synchronization

/// Counts commits in the lock file. For the price of a memory load, a process can tell whether another process has
/// committed since it read the index.
final class CommitCount: Sendable {
    /// The word of the lock file with the commits of all processes.
    static let word = 3

    private struct Counting {
        var own: Int64 = 0
        /// The mapped file; nil before it is used, and where it must be read by a system call.
        var words: MappedWords?
    }

    /// The lock file; nil when there is none. Then no process writes.
    private let lock: FileLock?
    /// Whether the file is mapped: no other machine writes to it.
    private let maps: Bool
    /// Also held while the file's count is read, because the difference must be exact.
    private let state = Mutex(Counting())

    init(_ lock: FileLock?, isOnNetwork: Bool) {
        self.lock = lock
        maps = !isOnNetwork
    }

    /// Counts a commit. Called after each commit, under the write lock. A failure costs another process at most one
    /// request.
    func note() {
        guard let lock else { return }
        state.withLock { state in
            bestEffort {
                try lock.write(words: [try lock.read(words: 1, from: Self.word)[0] &+ 1], from: Self.word)
                state.own &+= 1
            }
        }
    }

    /// A counter that grows with each commit of another process.
    var others: Int64 {
        guard let lock else { return 0 }
        return state.withLock { state in
            // An earlier version leaves the file empty until the first commit, so that it cannot be mapped before.
            if maps, state.words == nil { state.words = lock.map(words: Self.word + 1) }
            if let words = state.words { return words[Self.word] &- state.own }
            let all = bestEffort { try lock.read(words: 1, from: Self.word)[0] }
            return all.map { $0 &- state.own } ?? 0
        }
    }
}
