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
