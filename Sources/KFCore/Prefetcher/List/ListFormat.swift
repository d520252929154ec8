import KFStorage

/// How a list is written.
public enum ListFormat: String, Sendable, CaseIterable {
    /// One source a line, whatever characters it has.
    case lines
    /// Comma-separated values (RFC 4180).
    case csv
    /// The same, separated by tabs.
    case tsv
    /// A JSON object a line.
    case jsonl

    /// What the name of a file says, gzipped or not; without a known extension it is lines.
    public init(fileName path: String) {
        var name = path.split(separator: "/").last?.lowercased() ?? ""
        if name.hasSuffix(".gz") { name.removeLast(3) }
        let known: [(suffix: String, format: ListFormat)] = [
            (".csv", .csv), (".tsv", .tsv), (".jsonl", .jsonl), (".ndjson", .jsonl),
        ]
        self = known.first { name.hasSuffix($0.suffix) }?.format ?? .lines
    }

    var rule: RecordSplitter.Rule { delimiter.map { .quoted(delimiter: $0) } ?? .lines }

    var delimiter: UInt8? {
        switch self {
        case .csv: UInt8(ascii: ",")
        case .tsv: UInt8(ascii: "\t")
        case .lines, .jsonl: nil
        }
    }
}

/// How lists are to be understood.
public struct ListOptions: Sendable {
    /// A column of csv and tsv, or a member of jsonl's objects.
    public enum Column: Sendable, Equatable {
        /// What the first record calls the column, in upper or lower case; the member's exact name.
        case name(String)
        /// From 1; of csv and tsv alone.
        case number(Int)
    }

    /// Nil is what each file's name says.
    public var format: ListFormat?
    /// Nil is the column or member named `url`; in csv and tsv without such a header, the first column.
    public var urlColumn: Column?
    /// What images are kept under in place of their URLs' keys. Such a key never equals that of a URL, a file or bytes.
    /// Nil: the list gives no keys.
    public var keyColumn: Column?
    /// What copies are called, as ``OutputTemplate``'s `{stem}`. Nil: the list gives no names.
    public var nameColumn: Column?
    /// Request headers: one a line in csv and tsv, `Name: value`; an object of strings in jsonl. Nil: the list gives none.
    public var headersColumn: Column?
    /// Processors that each image gets after those of the options. Nil: the list gives none.
    public var processColumn: Column?
    /// Paths and file: URLs are taken, too.
    public var allowsLocal = false
    /// Takes only this part of the lists; nil takes all.
    public var shard: ListShard?

    /// The defaults.
    public init() {}

    /// The columns beside that of the URLs.
    var roles: [Column?] { [keyColumn, nameColumn, headersColumn, processColumn] }
}

/// One of several parts of a list, each for another machine. A source is in the part that its cache key says, so that
/// the parts are the same whatever order the list has.
public struct ListShard: Sendable, Equatable {
    /// Which part, from 0.
    public let index: Int
    /// How many parts there are.
    public let count: Int

    /// Nil unless `index` is from 0 to `count` - 1.
    public init?(index: Int, count: Int) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
    }

    /// By the first 8 bytes of the key's SHA-256, big-endian, modulo the count.
    public func contains(key: String) -> Bool {
        var sha = SHA256()
        sha.update(key)
        return sha.finish().prefix % UInt64(count) == UInt64(index)
    }
}
