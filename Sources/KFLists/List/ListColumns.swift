/// The columns or members of a list by their meaning. Those other than the URL's are used only if the options name them.
struct ListRoles<Place: Sendable>: Sendable {
    let url: Place
    let key: Place?
    let headers: Place?
    let name: Place?
    let processor: Place?
    let hash: Place?
    /// The places of the values that the names of copies use.
    let copies: [(name: String, place: Place)]

    /// `find` returns the place of a column.
    init(
        url: Place, _ options: ListOptions, _ find: (ListOptions.Column) throws(ListProblem) -> Place
    ) throws(ListProblem) {
        self.url = url
        key = try options.keyColumn.map(find)
        headers = try options.headersColumn.map(find)
        name = try options.nameColumn.map(find)
        processor = try options.processColumn.map(find)
        hash = try options.hashColumn.map(find)
        copies = try options.copyColumns.map { name throws(ListProblem) in (name, try find(ListOptions.Column(name))) }
    }

    /// The places other than the URL's.
    var optional: [Place] { [key, headers, name, processor, hash].compactMap(\.self) + copies.map(\.place) }
}

extension ListRoles<MemberPath> {
    /// The members of a jsonl list's objects. Throws `ListProblem.unusable` for a column number.
    init(_ options: ListOptions) throws(ListProblem) {
        func path(_ column: ListOptions.Column) throws(ListProblem) -> MemberPath {
            switch column {
            case .name(let name): return MemberPath(name)
            case .number(let number):
                throw .unusable("its objects have no numbered columns; use the name of a member instead of \(number)")
            }
        }
        try self.init(url: try options.urlColumn.map(path) ?? MemberPath("url"), options, path)
    }

    /// The depth of nesting that a parser must keep: that of the paths, and the headers' own object.
    var keptDepth: Int {
        max(1, (headers?.depth ?? 0) + 1, ([url] + optional).reduce(0) { max($0, $1.depth) })
    }
}

/// The columns of a csv or tsv list.
struct ListColumns {
    let roles: ListRoles<Int>
    /// Whether the first record contains column names instead of an item.
    let hasHeader: Bool

    /// Finds the columns in the first record. Throws `ListProblem.unusable` if a column is missing.
    init(_ first: [ArraySlice<UInt8>], _ options: ListOptions) throws(ListProblem) {
        let names = first.map { String(decoding: $0, as: UTF8.self).lowercased() }
        let needsNames = options.roles.contains { if case .name? = $0 { true } else { false } }
        func index(_ column: ListOptions.Column) throws(ListProblem) -> Int {
            switch column {
            case .number(let number): return number - 1
            case .name(let wanted):
                guard let index = names.firstIndex(of: wanted.lowercased()) else { throw Self.missing(wanted, names) }
                return index
            }
        }
        let url: Int
        switch options.urlColumn {
        case .name?:
            hasHeader = true
            url = try options.urlColumn.map(index) ?? 0
        case .number(let number)?:
            url = number - 1
            guard url < names.count else {
                throw .unusable("its first line has \(names.count) fields, and no column \(number)")
            }
            hasHeader = needsNames || Self.isName(names[url])
        case nil:
            if let index = names.firstIndex(of: "url") {
                url = index
                hasHeader = true
            } else if needsNames || names.count > 1 && Self.isName(names[0]) {
                throw Self.missing("url", names)
            } else {
                url = 0
                hasHeader = Self.isName(names[0])
                // Spreadsheets write other separators than the name says.
                if hasHeader, let mark = names[0].first(where: { $0 == ";" || $0 == "\t" || $0 == "," }) {
                    let name = mark == "\t" ? "tabs" : "'\(mark)'"
                    throw .unusable("its fields seem to be separated by \(name); csv has commas, and tsv has tabs")
                }
            }
        }
        roles = try ListRoles(url: url, options, index)
    }

    private static func missing(_ wanted: String, _ names: [String]) -> ListProblem {
        let shown = names.prefix(20).map { $0.prefix(100) }.joined(separator: ", ")
        return .unusable("its first line has no column '\(wanted)'; its columns are: \(shown)")
    }

    /// Returns whether a field in the URL's place is a column name.
    private static func isName(_ field: String) -> Bool { !field.contains("/") && !field.contains(":") }
}

/// The parser of the fields of one record of comma- or tab-separated values (RFC 4180).
enum DelimitedFields {
    /// The maximum number of fields: a record of commas alone would take 60 times its length.
    private static let most = 1 << 14

    /// Returns the delimiter that the first line of a csv list shows: spreadsheets of many countries write semicolons. A
    /// line with a comma has commas; a URL may have one semicolon.
    static func delimiter(of line: ArraySlice<UInt8>) -> UInt8 {
        guard !line.contains(comma) else { return comma }
        let least = line.firstRange(of: Array("://".utf8)) == nil ? 1 : 2
        let others = [UInt8(ascii: ";"), UInt8(ascii: "\t")].map { other in (other, line.count { $0 == other }) }
        return others.first { $0.1 >= least }?.0 ?? comma
    }

    private static let comma = UInt8(ascii: ",")

    /// Splits a record. Throws `ListProblem.record` for text behind a closing quote, and for too many fields.
    static func split(_ record: ArraySlice<UInt8>, delimiter: UInt8) throws(ListProblem) -> [ArraySlice<UInt8>] {
        var fields: [ArraySlice<UInt8>] = []
        var rest = record
        while true {
            let field: ArraySlice<UInt8>
            if rest.first == quote {
                field = try quoted(&rest)
                guard rest.isEmpty || rest.first == delimiter else {
                    throw .record("field \(fields.count + 1) has text after its closing quote")
                }
            } else {
                field = rest.prefix { $0 != delimiter }
                rest = rest[field.endIndex...]
            }
            guard fields.count < most else { throw .record("more than \(most) fields") }
            fields.append(field)
            guard rest.first == delimiter else { return fields }
            rest.removeFirst()
        }
    }

    private static let quote = UInt8(ascii: "\"")

    /// Removes a quoted field and returns its text, in which two quotes stand for one.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) throws(ListProblem) -> ArraySlice<UInt8> {
        var field: [UInt8] = []
        while true {
            // The opening quote, or the second of two.
            rest.removeFirst()
            guard let end = rest.firstIndex(of: quote) else { throw .record("unterminated quoted field") }
            let part = rest[..<end]
            rest = rest[(end + 1)...]
            guard rest.first == quote else { return field.isEmpty ? part : (field + part)[...] }
            field += part
            field.append(quote)
        }
    }
}
