import KFCore

/// The file of `--results`: a row for each item and variant, with the columns of the item's own record.
struct ResultsFile: ~Copyable {
    struct Rows: Sendable {
        fileprivate let columns: ListedColumns
        fileprivate let text: String
        fileprivate let list: String
    }

    /// The columns that the rows have beside those of kf.
    fileprivate enum ListedColumns: Equatable {
        /// Those of csv and tsv lists, under their names.
        case named([String])
        /// One column with the members of a record of jsonl, as JSON.
        case members
        case none

        init(_ item: PrefetchItem) {
            if let names = item.columnNames { self = .named(names) } else { self = item.hasColumns ? .members : .none }
        }
    }

    private var file: AppendedFile
    private let isDelimited: Bool
    /// The columns of kf in a row of csv, and the members of `--json` that they are.
    private let fields: [Field]
    /// The columns of the first row; nil before it, and for jsonl.
    private var columns: ListedColumns?
    private var pending = ""
    /// The reason why rows are missing from the file; nil while none are.
    var problem: String? { file.problem }

    /// Opens or creates the file, whose name's extension says the format.
    init(_ path: String, lists: [String], _ format: ListFormat?, measures: [ImageMeasure]) throws(UsageError) {
        isDelimited = Self.isDelimited(path)
        guard isDelimited || path.lowercased().hasSuffix(".jsonl") else {
            throw UsageError(message: "--results needs the name of a file that ends in .csv or .jsonl")
        }
        // Lists of lines have no columns, and csv and tsv have the same.
        let kinds = Set(lists.map { ListFormat(fileName: $0) }).map { $0 == .tsv ? .csv : $0 }
        if isDelimited, format == nil, Set(kinds).count > 1 {
            throw UsageError(
                message: "lists of several formats have no columns in common for \(path); use a .jsonl file")
        }
        file = try AppendedFile(path, option: "--results")
        // The number of frames has a column in any case.
        fields =
            Self.fields
            + measures.filter { $0 != .frames }.map { measure in
                (
                    measure.rawValue,
                    { $0.measures.first { $0.name == measure.rawValue }.flatMap { Self.text($0.value) } }
                )
            }
    }

    static func isDelimited(_ path: String) -> Bool { path.lowercased().hasSuffix(".csv") }

    /// Returns the rows of an item: one, or one for each variant.
    borrowing func rows(_ item: PrefetchItem, _ reports: [ItemReport]) -> Rows {
        let columns = ListedColumns(item)
        let rows = reports.map {
            isDelimited ? Self.row(cells($0, columns)) : ($0.recordedRow?.json ?? $0.json) + "\n"
        }
        return Rows(columns: columns, text: rows.joined(), list: item.list)
    }

    /// Takes rows, which are written by the next `flush`, or when many are waiting.
    mutating func append(_ rows: Rows) {
        guard problem == nil else { return }
        if isDelimited {
            if columns == nil { pending = Self.row(names(rows.columns)) }
            guard rows.columns == .none || columns ?? rows.columns == rows.columns else {
                flush()
                file.problem =
                    "\(file.path): the rows of \(rows.list) are missing, its columns are not those of the first list; "
                    + "a .jsonl file can have both"
                return
            }
            columns = columns ?? rows.columns
        }
        pending += rows.text
        if pending.utf8.count >= AppendedFile.block { flush() }
    }

    /// Writes the names of the columns, or empties the file of an earlier run, if this run has no row.
    mutating func finish() {
        if isDelimited, columns == nil, problem == nil { pending = Self.row(names(.none)) }
        file.empty()
        flush()
    }

    mutating func flush() {
        guard !pending.isEmpty, problem == nil else { return }
        file.append(Array(pending.utf8))
        pending = ""
    }

    private typealias Field = (name: String, value: @Sendable (ItemReport) -> String?)

    private static let fields: [Field] = [
        ("list", { $0.place?.list }), ("line", { $0.place.map { "\($0.line)" } }),
        ("shard", { $0.sample?.shard }), ("sample", { $0.sample?.key }),
        ("source", { RequestURL.withoutUserInfo($0.source) }), ("key", { $0.key }), ("variant", { $0.variant }),
        ("status", { $0.status }), ("fetch_reason", { $0.result?.fetchReason?.word }), ("path", { $0.path }),
        ("output", { $0.output }),
        ("output_state", { $0.copy?.state.rawValue }),
        ("bytes", { $0.facts.map { "\($0.bytes)" } }), ("format", { $0.facts?.format.rawValue }),
        ("width", { $0.facts?.width.map { "\($0)" } }), ("height", { $0.facts?.height.map { "\($0)" } }),
        ("frames", { $0.facts?.frames.map { "\($0)" } }), ("sha256", { $0.facts?.sha256 }),
        ("http_status", { $0.httpStatus.map { "\($0)" } }), ("attempts", { "\($0.transfers)" }),
        ("final_url", { $0.result?.response?.url }), ("error_code", { $0.problem.map { "\($0.errorCode)" } }),
        ("error", { $0.message }), ("placeholder", { $0.placeholder }),
        ("left_out", { $0.leftOut }),
    ]

    /// The names of all columns. One of a list that has the name of kf's own is put into `columns.`.
    private func names(_ columns: ListedColumns) -> [String] {
        let own = fields.map(\.name)
        switch columns {
        case .named(let names):
            // The names of the list differ from each other, and must still do so.
            var taken = Set(own + names)
            return own
                + names.map { name in
                    guard own.contains(name.lowercased()) else { return name }
                    var free = "columns.\(name)"
                    while !taken.insert(free).inserted { free = "columns.\(free)" }
                    return free
                }
        case .members: return own + ["columns"]
        case .none: return own
        }
    }

    private func cells(_ report: ItemReport, _ columns: ListedColumns) -> [String] {
        let row = report.recordedRow
        let own = fields.map { field in row.map { $0.cell(field.name) } ?? field.value(report) ?? "" }
        switch columns {
        case .named(let names):
            let values = Dictionary((report.columns ?? []).map { ($0.name, $0.value) }) { first, _ in first }
            return own
                + names.map { name in
                    if case .string(let text)? = values[name] { return text }
                    return ""
                }
        case .members: return own + [report.columns.map { StrictJSON.object($0).json } ?? ""]
        case .none: return own
        }
    }

    fileprivate static func text(_ value: StrictJSON?) -> String? {
        switch value {
        case .string(let text), .number(let text): text
        case .bool(let isTrue): "\(isTrue)"
        case nil, .null, .array, .object: nil
        }
    }

    /// Returns a record after RFC 4180, with a line feed. Bytes of file names that are not UTF-8 are percent-encoded.
    private static func row(_ cells: [String]) -> String {
        cells.map { cell in
            let cell = RawText.percentEscaped(cell)
            guard cell.utf8.contains(where: { $0 == 0x22 || $0 == 0x2c || $0 == 0x0a || $0 == 0x0d }) else {
                return cell
            }
            // By scalars: a quote with a combining mark is another character, and still a quote for readers.
            var quoted = "\"".unicodeScalars
            for scalar in cell.unicodeScalars {
                if scalar == "\"" { quoted.append(scalar) }
                quoted.append(scalar)
            }
            quoted.append("\"")
            return String(quoted)
        }.joined(separator: ",") + "\n"
    }
}

extension ItemReport {
    /// The row of an image in a whole archive, which an earlier run has written. It lacks the paths of this machine.
    fileprivate var recordedRow: StrictJSON? {
        guard let recorded, let place,
            case .success(.object(let members)) = Result(catching: { () throws(StrictJSON.Problem) in
                try StrictJSON.parse(Array(recorded.utf8), keptDepth: .max, deepest: StrictJSON.deepest + 1)
            })
        else { return nil }
        return .object(
            members.flatMap { member -> [StrictJSON.Member] in
                switch member.name {
                case "list": [StrictJSON.Member(name: member.name, value: .string(place.list))]
                case "line": [StrictJSON.Member(name: member.name, value: .number("\(place.line)"))]
                case "output_state": ["path", "output"].map { StrictJSON.Member(name: $0, value: .null) } + [member]
                default: [member]
                }
            })
    }
}

extension StrictJSON {
    /// The value of a row in a column of csv.
    fileprivate func cell(_ column: String) -> String {
        let value =
            switch column {
            case "error_code": self["error"]?["code"]
            case "error": self["error"]?["message"]
            default: self[column] ?? self["measures"]?[column]
            }
        return ResultsFile.text(value) ?? ""
    }
}
