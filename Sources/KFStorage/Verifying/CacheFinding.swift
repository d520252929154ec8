import Glibc

/// A fault that a verification has found in the cache.
public struct CacheFinding: Sendable, Equatable {
    /// The kind of a fault.
    public enum Kind: String, Sendable, CaseIterable {
        /// SQLite's integrity check reports damage of the index.
        case damagedIndex = "damaged_index"
        /// A row lacks its counterpart in another table, or contradicts it.
        case brokenRow = "broken_row"
        /// A variant was made from bytes other than those of its present original.
        case staleVariant = "stale_variant"
        /// A count in the index differs from the counted value.
        case wrongCount = "wrong_count"
        /// The file of an entry is missing.
        case missingFile = "missing_file"
        /// A link, FIFO, directory or device is in the place of an image.
        case notAFile = "not_a_file"
        /// A file is longer or shorter than the stored image.
        case wrongSize = "wrong_size"
        /// A file's bytes differ from the stored image.
        case wrongContent = "wrong_content"
        /// A file cannot be opened or read.
        case unreadable
        /// A file has no entry, as after a killed process or a restored backup. It only takes up disk space.
        case orphan
        /// A temporary file was left by a process that has ended.
        case leftover

        /// Returns a number of faults in words: `2 orphan files`.
        public func text(_ count: Int) -> String {
            let (one, many): (String, String) =
                switch self {
                case .damagedIndex: ("fault of the index", "faults of the index")
                case .brokenRow: ("broken row", "broken rows")
                case .staleVariant: ("outdated variant", "outdated variants")
                case .wrongCount: ("wrong count", "wrong counts")
                case .missingFile: ("missing file", "missing files")
                case .notAFile: ("item that is no file", "items that are no files")
                case .wrongSize: ("file of the wrong size", "files of the wrong size")
                case .wrongContent: ("file with wrong content", "files with wrong content")
                case .unreadable: ("unreadable file", "unreadable files")
                case .orphan: ("orphan file", "orphan files")
                case .leftover: ("leftover file", "leftover files")
                }
            return "\(count) \(count == 1 ? one : many)"
        }

        /// Whether a repair removes the file or the entries. Otherwise it corrects the index.
        public var isRemoved: Bool { ![.damagedIndex, .brokenRow, .wrongCount].contains(self) }

        /// Whether the damage can change what a reader is served or what statistics report.
        public var isDamage: Bool { self != .orphan && self != .leftover }
    }

    /// The kind of the fault.
    public let kind: Kind
    /// The path of the affected file; nil if the fault is in the index.
    public let path: String?
    /// The affected entries; only the first of many.
    public let entries: [EntryName]
    /// A description for users, in one clause.
    public let detail: String
    /// Whether the fault was repaired.
    public package(set) var isRepaired: Bool

    package init(
        _ kind: Kind, path: String? = nil, entries: [EntryName] = [], _ detail: String, isRepaired: Bool = false
    ) {
        self.kind = kind
        self.path = path
        self.entries = entries
        self.detail = detail
        self.isRepaired = isRepaired
    }
}

/// The result of a verification: what was checked, and how many faults of each kind were found.
public struct Verification: Sendable, Equatable {
    /// The number of faults of one kind.
    public struct Count: Sendable, Equatable {
        /// The number of faults found, repaired or not.
        public var found = 0
        /// The number of repaired faults.
        public var repaired = 0
    }

    /// The number of entries in the index.
    public package(set) var entries = 0
    /// The number of files that were checked. A file of the wrong size counts, but is not read.
    public package(set) var files = 0
    /// The number of bytes read.
    public package(set) var bytes: Int64 = 0
    /// The counts by kind, without kinds that were not found.
    public private(set) var counts: [CacheFinding.Kind: Count] = [:]

    package init() {}

    package mutating func add(_ finding: CacheFinding) {
        counts[finding.kind, default: Count()].found += 1
        if finding.isRepaired { counts[finding.kind, default: Count()].repaired += 1 }
    }

    /// The number of faults that are damage and were not repaired.
    public var damage: Int {
        counts.reduce(0) { $0 + ($1.key.isDamage ? $1.value.found - $1.value.repaired : 0) }
    }

    /// The number of faults of all kinds, repaired or not.
    public var found: Int { counts.values.reduce(0) { $0 + $1.found } }
    /// The number of repaired faults.
    public var repaired: Int { counts.values.reduce(0) { $0 + $1.repaired } }
    /// Whether no fault was found.
    public var isClean: Bool { counts.isEmpty }
}

/// A file that looked wrong or missing in the first check, without the lock.
struct Suspect: Sendable {
    let kind: CacheFinding.Kind
    let name: String
    /// The row of the object; nil for a file without a row.
    let row: ObjectRow?
    private let seen: stat?
    private let detail: String

    init(_ kind: CacheFinding.Kind, _ name: String, _ row: ObjectRow?, seen: stat? = nil, _ detail: String) {
        self.kind = kind
        self.name = name
        self.row = row
        self.seen = seen
        self.detail = detail
    }

    init(missing row: ObjectRow) { self.init(.missingFile, row.object.name, row, "the file is missing") }

    /// Reads and hashes the file of a row. Returns nil if the bytes match.
    static func hashing(_ row: ObjectRow, _ objects: ObjectStore) -> Suspect? {
        let name = row.object.name
        guard let before = objects.status(named: name) else { return Suspect(missing: row) }
        do throws(StorageError) {
            if try objects.openFile(named: name).digest() == row.object.digest { return nil }
            return Suspect(.wrongContent, name, row, seen: before, "its bytes differ from the stored image")
        } catch {
            return Suspect(.unreadable, name, row, seen: before, error.message)
        }
    }

    /// Checks the file again under the write lock, where no writer is between publishing a file and committing its row.
    func isStillWrong(_ connection: Connection, _ objects: ObjectStore) throws(StorageError) -> Bool {
        if let row {
            guard let now = try connection.objectRow(row.row), now.object.digest == row.object.digest,
                now.object.name == name
            else { return false }
        } else if let digest = Digest(hex: name.prefix { $0 != "." }.filter { $0 != "/" }),
            let known = try connection.object(digest), let kept = known.fileExtension,
            name == StoredObject(digest: digest, fileExtension: kept, size: 0, modified: 0).name
        {
            return false
        }
        if kind == .brokenRow { return true }
        let now = objects.status(named: name)
        return now.map { seen?.isSame(as: $0) == true } ?? (seen == nil)
    }

    /// Removes the entries and the item in the place of their object. Returns false if that item cannot be removed.
    func remove(
        _ entries: [Int64], _ connection: Connection, _ objects: ObjectStore
    ) throws(StorageError) -> Bool {
        // Without a status nothing is there, or the path leads through a planted link, whose target is not kf's. A
        // directory is removed only if it is empty, because its content is not kf's.
        guard objects.status(named: name) == nil || objects.remove(named: name) else { return false }
        guard let row else { return true }
        for entry in entries { try connection.removeEntry(row: entry) }
        // Another entry may refer to it since its entries were looked up; that entry's next reader will remove it.
        guard let rest = try connection.object(row: row.row), rest.references <= 0 else { return true }
        try connection.deleteObject(row: row.row, size: rest.size)
        return true
    }

    func finding(entries: [EntryName], isRepaired: Bool, _ objects: ObjectStore) -> CacheFinding {
        CacheFinding(kind, path: objects.path(named: name), entries: entries, detail, isRepaired: isRepaired)
    }
}
