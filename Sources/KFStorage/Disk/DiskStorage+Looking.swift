import Dispatch
import Glibc
import Synchronization

extension DiskStorage {
    /// Whether the file of an entry is there with the size and the time that the index says; otherwise, and where every
    /// object is to be hashed, whether its bytes are what was stored. One that is not whole is removed, as by `open`.
    package func isWhole(_ entry: Entry) -> Bool {
        looksWhole(entry) || hashesRight(entry)
    }

    /// Leaves only entries fresh whose files are whole. A look is one system call; what has to be read is read on all
    /// processors.
    func keepWhole(_ entries: inout [IndexedEntry]) {
        var doubtful: [(index: Int, entry: Entry)] = []
        for (index, entry) in entries.enumerated() {
            if case .fresh(let entry) = entry, !looksWhole(entry) { doubtful.append((index, entry)) }
        }
        if doubtful.isEmpty { return }
        let suspects = doubtful
        let broken = Mutex<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: suspects.count) { number in
            let (index, entry) = suspects[number]
            if !hashesRight(entry) { broken.withLock { $0.append(index) } }
        }
        for index in broken.withLock({ $0 }) { entries[index] = .unusable }
    }

    private func looksWhole(_ entry: Entry) -> Bool {
        guard !configuration.verifies, let status = session.objectFolders.status(of: entry.object) else { return false }
        return status.isRegularFile && Int64(status.st_size) == entry.object.size
            && status.modified == entry.object.modified
    }

    /// An object that cannot be read is as good as missing.
    private func hashesRight(_ entry: Entry) -> Bool {
        do throws(StorageError) {
            guard let file = try open(entry) else { return false }
            _ = consume file
            return true
        } catch {
            return false
        }
    }
}
