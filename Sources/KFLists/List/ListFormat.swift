import KFStorage
import KFTerms

/// The format of a list.
public enum ListFormat: String, Sendable, CaseIterable {
    /// One source per line, with any characters.
    case lines
    /// Comma-separated values (RFC 4180).
    case csv
    /// Tab-separated values.
    case tsv
    /// One JSON object per line.
    case jsonl

    /// Creates the format that a file name indicates, with or without `.gz`. An unknown extension means lines.
    public init(fileName path: String) {
        var name = path.split(separator: "/").last?.lowercased() ?? ""
        if name.hasSuffix(".gz") { name.removeLast(3) }
        let known: [(suffix: String, format: ListFormat)] = [
            (".csv", .csv), (".tsv", .tsv), (".jsonl", .jsonl), (".ndjson", .jsonl),
        ]
        self = known.first { name.hasSuffix($0.suffix) }?.format ?? .lines
    }

    var delimiter: UInt8? {
        switch self {
        case .csv: UInt8(ascii: ",")
        case .tsv: UInt8(ascii: "\t")
        case .lines, .jsonl: nil
        }
    }
}

/// The options for reading lists.
public struct ListOptions: Sendable {
    /// A column of a csv or tsv list, or a member of a jsonl list's objects.
    public enum Column: Sendable, Equatable {
        /// The name of a column in the first record, in upper or lower case, or the exact name of a member.
        case name(String)
        /// The number of a column, from 1; csv and tsv only.
        case number(Int)

        /// Creates the column that a text stands for: a number from 1, or a name.
        public init(_ text: String) { self = Int(text).flatMap { $0 > 0 ? .number($0) : nil } ?? .name(text) }
    }

    /// The format of all lists; nil uses the one that each file name indicates.
    public var format: ListFormat?
    /// The column of URLs. Nil uses the column or member `url`; in csv and tsv without a header, the first column.
    public var urlColumn: Column?
    /// The column of cache keys, in place of the URLs' keys; nil for none. Such a key never equals that of a URL, a
    /// file or bytes.
    public var keyColumn: Column?
    /// The column of names for copies, ``OutputTemplate``'s `{stem}`; nil for none.
    public var nameColumn: Column?
    /// The column of request headers; nil for none. In csv and tsv, each line of the field is `Name: value`; in jsonl,
    /// the member is an object of strings.
    public var headersColumn: Column?
    /// The column of processors, which follow those of the options; nil for none.
    public var processColumn: Column?
    /// The column of hashes that the images must have; nil for none. See ``ContentHash``.
    public var hashColumn: Column?
    /// The names or numbers of the columns whose values the names of copies use; see ``ImageExporter/columns``.
    public var copyColumns: [String] = []
    /// Whether csv and tsv lists must have the columns of the first one.
    package var needsSameColumns = false
    /// Whether paths and file: URLs are accepted.
    public var allowsLocal = false
    /// The URL that relative ones are resolved against (RFC 3986, section 5.2); nil refuses these.
    public var baseURL: RequestURL?
    /// The part of the lists to use; nil uses all.
    public var shard: ListShard?

    /// Creates the defaults.
    public init() {}

    /// The columns other than the URL's.
    var roles: [Column?] {
        [keyColumn, nameColumn, headersColumn, processColumn, hashColumn] + copyColumns.map(Column.init)
    }
}

/// One of several parts of a list, each for another machine. The cache key of a source, or its host, determines its
/// part, so that the parts do not depend on the order of the list.
public struct ListShard: Sendable, Equatable {
    /// The property of an item that determines its part.
    public enum Criterion: String, Sendable, CaseIterable {
        /// The cache key: the parts are of nearly equal size.
        case key
        /// The host of the URL, whatever its port: each host is asked by one machine only, which keeps the limits per
        /// host. Local files go by their keys.
        case host
    }

    /// The index of the part, from 0.
    public let index: Int
    /// The number of parts.
    public let count: Int
    /// The property of an item that determines its part.
    public var criterion: Criterion

    /// Creates a part; nil unless `index` is from 0 to `count` - 1.
    public init?(index: Int, count: Int, by criterion: Criterion = .key) {
        guard count > 0, (0..<count).contains(index) else { return nil }
        self.index = index
        self.count = count
        self.criterion = criterion
    }

    /// Returns whether the part contains a key or a host: the first 8 bytes of its SHA-256, big-endian, modulo `count`
    /// are the index.
    public func contains(key: String) -> Bool {
        var sha = SHA256()
        sha.update(key)
        return sha.finish().prefix % UInt64(count) == UInt64(index)
    }
}
