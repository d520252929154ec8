import Dispatch
import Glibc
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
            let contents = try FolderContents(storage, folder)
            let rows = try storage.read { connection throws(StorageError) in
                try connection.objects(from: contents.firstRow, to: contents.lastRow)
            }
            let (suspects, whole) = contents.compare(with: rows)
            note(suspects)
            pending += suspects
            unread += whole
            if unread.count >= Self.batch { pending += try hash(&unread) }
            if pending.count >= Self.suspects { try settle(&pending) }
        }
        pending += try hash(&unread)
        pending += FolderContents.strangers(storage)
        try settle(&pending)
    }

    /// Checks the files of some objects.
    func checkObjects(_ rows: [ObjectRow]) throws(StorageError) {
        var pending: [Suspect] = []
        var unread: [ObjectRow] = []
        for row in rows {
            if let suspect = FolderContents.suspect(row, storage) {
                pending.append(suspect)
            } else {
                unread.append(row)
            }
        }
        note(pending)
        pending += try hash(&unread)
        try settle(&pending)
    }

    /// Counts files that were checked without reading them: their size alone is wrong.
    private func note(_ suspects: [Suspect]) {
        for suspect in suspects where suspect.kind == .wrongSize { noteFile(0) }
    }

    /// Removes the orphans of a folder, without reading files.
    func removeOrphans(in folder: UInt8) throws(StorageError) {
        let contents = try FolderContents(storage, folder)
        let rows = try storage.read { connection throws(StorageError) in
            try connection.objects(from: contents.firstRow, to: contents.lastRow)
        }
        var orphans = contents.compare(with: rows).suspects.filter { $0.kind == .orphan }
        try settle(&orphans)
    }

    /// Reads and hashes every file on all processors, without a lock. Returns the suspects.
    private func hash(_ rows: inout [ObjectRow]) throws(StorageError) -> [Suspect] {
        let storage = storage
        let batch = rows
        rows = []
        let found = Mutex<[Suspect]>([])
        DispatchQueue.concurrentPerform(iterations: batch.count) { index in
            guard let suspect = Suspect.hashing(batch[index], storage) else { return }
            found.withLock { $0.append(suspect) }
        }
        for row in batch { noteFile(row.object.size) }
        return found.withLock { $0 }.sorted { $0.name < $1.name }
    }

    private func settle(_ pending: inout [Suspect]) throws(StorageError) {
        let suspects = pending
        pending = []
        guard !suspects.isEmpty else { return }
        let rows = Set(suspects.compactMap { $0.row?.row })
        let users = try storage.read { connection throws(StorageError) in try connection.entries(ofObjects: rows) }
        let storage = storage
        let repairs = repairs
        try secondLook(suspects) { suspect, connection throws(StorageError) in
            guard try suspect.isStillWrong(connection, storage.session.directory) else { return nil }
            let entries = suspect.row.flatMap { users[$0.row] } ?? []
            let finding = suspect.finding(entries: entries.prefix(10).map { EntryName($0.key) }, storage)
            guard repairs else { return Settled(finding: finding, isRepaired: false) }
            return Settled(
                finding: finding,
                isRepaired: try suspect.remove(entries.map(\.row), connection, storage.session.directory))
        }
    }

    /// Returns the temporary files that are too old to be still written.
    func leftovers() -> [String] {
        let directory = storage.session.directory
        var found: [String] = []
        directory.forEachTemporary { name in
            guard let status = directory.status(of: name), !status.isDirectory,
                status.age(at: .now()) > CacheDirectory.temporaryLifetime
            else { return }
            found.append(name)
        }
        return found
    }

    func settle(_ leftovers: [String]) {
        let directory = storage.session.directory
        for name in leftovers {
            if repairs { directory.unlink(name) }
            add(
                CacheFinding(.leftover, path: directory.path(name), "left by a process that has ended"),
                repaired: repairs && !directory.exists(name))
        }
    }
}
