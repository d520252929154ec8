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
