import Glibc

/// Something in the cache that is not as it should be.
public struct CacheFinding: Sendable, Equatable {
    /// What kind of thing is not as it should be.
    public enum Kind: String, Sendable, CaseIterable {
        /// SQLite finds fault with the index itself.
        case damagedIndex = "damaged_index"
        /// A row that misses its counterpart in another table, or contradicts it.
        case brokenRow = "broken_row"
        /// A variant made from other bytes than its original has now.
        case staleVariant = "stale_variant"
        /// A count that the index keeps differs from what is counted.
        case wrongCount = "wrong_count"
        /// An entry's file is not there.
        case missingFile = "missing_file"
        /// A link, a FIFO, a directory or a device where only images belong.
        case notAFile = "not_a_file"
        /// A file is longer or shorter than what was stored.
        case wrongSize = "wrong_size"
        /// The bytes are not those that were stored.
        case wrongContent = "wrong_content"
        /// A file that cannot be opened or read.
        case unreadable
        /// A file that no entry knows: what a killed process or a restored backup leaves. It takes room and does no harm.
        case orphan
        /// A temporary file of a process that no longer lives.
        case leftover

        /// Whether somebody could be served something wrong, or nothing, or a wrong figure.
        public var isDamage: Bool { self != .orphan && self != .leftover }
    }

    /// What is not as it should be.
    public let kind: Kind
    /// The file that it is about; nil when it is about the index.
    public let path: String?
    /// What it concerns; of many, the first.
    public let entries: [EntryName]
    /// One clause for a person.
    public let detail: String
    /// It was put right.
    public package(set) var isRepaired = false

    package init(_ kind: Kind, path: String? = nil, entries: [EntryName] = [], _ detail: String) {
        self.kind = kind
        self.path = path
        self.entries = entries
        self.detail = detail
    }
}

/// What a verification looked at and how often it found what.
public struct Verification: Sendable, Equatable {
    /// How often one kind was found.
    public struct Count: Sendable, Equatable {
        /// Repaired or not.
        public var found = 0
        /// Put right.
        public var repaired = 0
    }

    /// Entries in the index.
    public internal(set) var entries = 0
    /// Files that were read whole.
    public internal(set) var files = 0
    /// In bytes, of what was read.
    public internal(set) var bytes: Int64 = 0
    /// By kind; what was not found is not in it.
    public private(set) var counts: [CacheFinding.Kind: Count] = [:]

    package init() {}

    package mutating func add(_ finding: CacheFinding) {
        counts[finding.kind, default: Count()].found += 1
        if finding.isRepaired { counts[finding.kind, default: Count()].repaired += 1 }
    }

    /// Damage that is still there; orphans and leftovers are none.
    public var damage: Int {
        counts.reduce(0) { $0 + ($1.key.isDamage ? $1.value.found - $1.value.repaired : 0) }
    }

    /// Findings of all kinds, repaired or not.
    public var found: Int { counts.values.reduce(0) { $0 + $1.found } }
    /// Findings that were put right.
    public var repaired: Int { counts.values.reduce(0) { $0 + $1.repaired } }
    /// Nothing at all was found.
    public var isClean: Bool { counts.isEmpty }
}

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
            let file = try storage.session.directory.objects.openFile(named: name)
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
        return directory.objects.remove(named: name)
    }

    func finding(entries: [EntryName], _ storage: DiskStorage) -> CacheFinding {
        CacheFinding(kind, path: storage.session.directory.objects.path(named: name), entries: entries, detail)
    }

    /// Of a name that an object could have.
    private static func digest(of name: String) -> Digest? {
        Digest(hex: String(name.prefix { $0 != "." }.filter { $0 != "/" }))
    }
}

/// Which file it was and in which state: a file that was replaced or changed since has another.
struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64
    private let mode: UInt32
    let size: Int64
    private let modified: Int64
    private let changed: Int64

    /// `name` is below the objects; no link on the way is followed. Nil when nothing is there.
    init?(_ name: String, in storage: DiskStorage) {
        self.init(name, in: storage.session.directory)
    }

    init?(_ name: String, in directory: CacheDirectory) {
        guard let status = directory.objects.status(named: name) else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = status.st_mode
        size = Int64(status.st_size)
        modified = status.modified
        changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }

    var isRegular: Bool { mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { mode & S_IFMT == S_IFDIR }

    var description: String {
        var status = stat()
        status.st_mode = mode
        return status.kind
    }
}
