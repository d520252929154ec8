import Dispatch
import Synchronization

/// The checks of the index against the files.
extension Verifier {
    /// The number of files hashed concurrently before their suspects are settled.
    private static let batch = 4096
    /// The number of suspects settled together, because finding their entries takes a scan of the index.
    private static let suspects = 8192

    /// Checks the objects folder by folder, because objects and their rows have the same order.
    func checkObjects() throws(StorageError) {
        var pending: [Suspect] = []
        var unread: [ObjectRow] = []
        for folder in UInt8.min...UInt8.max {
            let (suspects, whole) = try compare(folder)
            note(suspects)
            pending += suspects
            unread += whole
            if unread.count >= Self.batch { pending += hash(&unread) }
            if pending.count >= Self.suspects { try settle(&pending) }
        }
        pending += hash(&unread)
        pending += FolderContents.strangers(objects.namesBesideFolders(), objects)
        try settle(&pending)
    }

    func checkObjects(_ rows: [ObjectRow]) throws(StorageError) {
        var pending: [Suspect] = []
        var unread: [ObjectRow] = []
        for row in rows {
            if let suspect = FolderContents.suspect(row, objects) {
                pending.append(suspect)
            } else {
                unread.append(row)
            }
        }
        note(pending)
        pending += hash(&unread)
        try settle(&pending)
    }

    /// Counts files that were checked without reading them: their size alone is wrong.
    private func note(_ suspects: [Suspect]) { result.files += suspects.count { $0.kind == .wrongSize } }

    /// Removes the orphans of a folder, without reading files.
    func removeOrphans(in folder: UInt8) throws(StorageError) {
        var orphans = try compare(folder).suspects.filter { $0.kind == .orphan }
        try settle(&orphans)
    }

    private func compare(_ folder: UInt8) throws(StorageError) -> (suspects: [Suspect], whole: [ObjectRow]) {
        let contents = try FolderContents(objects, folder)
        let rows = try storage.read { connection throws(StorageError) in try connection.objects(in: contents.rows) }
        return contents.compare(with: rows)
    }

    /// Reads and hashes every file on all processors, without a lock. Returns the suspects.
    private func hash(_ rows: inout [ObjectRow]) -> [Suspect] {
        let (objects, batch) = (objects, rows)
        rows = []
        let found = Mutex<[Suspect]>([])
        DispatchQueue.concurrentPerform(iterations: batch.count) { index in
            guard let suspect = Suspect.hashing(batch[index], objects) else { return }
            found.withLock { $0.append(suspect) }
        }
        result.files += batch.count
        for row in batch { result.bytes += row.object.size }
        return found.withLock { $0 }.sorted { $0.name < $1.name }
    }

    private func settle(_ pending: inout [Suspect]) throws(StorageError) {
        let suspects = pending
        pending = []
        guard !suspects.isEmpty else { return }
        let rows = Set(suspects.compactMap { $0.row?.row })
        let users = try storage.read { connection throws(StorageError) in try connection.entries(ofObjects: rows) }
        try secondLook(suspects) { suspect, connection throws(StorageError) in
            guard try suspect.isStillWrong(connection, objects) else { return nil }
            let entries = suspect.row.flatMap { users[$0.row] } ?? []
            let isRepaired = repairs ? try suspect.remove(entries.map(\.row), connection, objects) : false
            if isRepaired { entries.forEach { storage.noteRemoval(of: $0.row, .damaged) } }
            return suspect.finding(
                entries: entries.prefix(10).map { EntryName($0.key) }, isRepaired: isRepaired, objects)
        }
    }

    func settle(_ leftovers: [String]) {
        for name in leftovers {
            if repairs { directory.unlink(name) }
            add(
                CacheFinding(
                    .leftover, path: directory.path(name), "left by a process that has ended",
                    isRepaired: repairs && !directory.exists(name)))
        }
    }
}
