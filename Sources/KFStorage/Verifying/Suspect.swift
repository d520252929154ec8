import Glibc

/// A file, or the place of one, that did not look right without the lock.
struct Suspect: Sendable {
    let kind: CacheFinding.Kind
    /// Below the objects.
    let name: String
    /// Nil for what no row knows.
    let row: ObjectRow?
    private let seen: FileIdentity?
    private let detail: String

    init(_ kind: CacheFinding.Kind, _ name: String, _ row: ObjectRow?, seen: FileIdentity? = nil, _ detail: String) {
        self.kind = kind
        self.name = name
        self.row = row
        self.seen = seen
        self.detail = detail
    }

    /// Reads the file of a row; nil when the bytes are what was stored.
    static func hashing(_ row: ObjectRow, _ storage: DiskStorage) -> Suspect? {
        let name = row.object.name
        guard let before = FileIdentity(name, in: storage) else {
            return Suspect(.missingFile, name, row, "the file is not there")
        }
        do throws(StorageError) {
            let file = try storage.session.directory.openFile("objects/\(name)", O_RDONLY)
            if try storage.digest(of: file) == row.object.digest { return nil }
            return Suspect(.wrongContent, name, row, seen: before, "its bytes are not those that were stored")
        } catch {
            return Suspect(.unreadable, name, row, seen: before, error.message)
        }
    }

    /// The write lock is held: nobody is between putting a file in place and committing its row.
    func isStillWrong(_ connection: Connection, _ directory: CacheDirectory) throws(StorageError) -> Bool {
        if let row {
            guard let now = try connection.objectRow(row.row), now.object.digest == row.object.digest,
                now.object.name == name
            else { return false }
        } else if let digest = Self.digest(of: name), let known = try connection.object(digest),
            let kept = known.fileExtension,
            name == StoredObject(digest: digest, fileExtension: kept, size: 0, modified: 0).name
        {
            return false
        }
        return kind == .brokenRow || FileIdentity(name, in: directory) == seen
    }

    /// Removes the entries and what lies in the place of their object. False when something is in the way.
    func remove(
        _ entries: [Int64], _ connection: Connection, _ directory: CacheDirectory
    ) throws(StorageError) -> Bool {
        guard clear(directory) else { return false }
        guard let row else { return true }
        for entry in entries { _ = try connection.removeEntry(row: entry) }
        // Another entry may have come to use it since its users were looked up; then it waits for the next reader.
        guard let rest = try connection.references(ofObject: row.row), rest <= 0 else { return true }
        try connection.forgetObject(row: row.row)
        return true
    }

    private func clear(_ directory: CacheDirectory) -> Bool {
        // Nothing is there, and what lies behind a planted link is not ours to remove.
        guard FileIdentity(name, in: directory) != nil else { return true }
        // Of a directory only an empty one: nobody knows whose the rest is.
        directory.unlink("objects/\(name)")
        return !directory.exists("objects/\(name)")
    }

    func finding(entries: [EntryName], _ storage: DiskStorage) -> CacheFinding {
        CacheFinding(kind, path: "\(storage.objects)/\(name)", entries: entries, detail)
    }

    /// Of a name that an object could have.
    private static func digest(of name: String) -> Digest? {
        Digest(hex: String(name.prefix { $0 != "." }.filter { $0 != "/" }))
    }
}
