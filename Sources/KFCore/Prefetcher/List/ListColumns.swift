import KFNetwork

/// The columns of a csv or tsv list by their meaning.
struct ListColumns {
    let url: Int
    let key: Int?
    let headers: Int?
    let name: Int?
    let processor: Int?
    /// The columns that the names of copies use.
    let copies: [(name: String, index: Int)]
    /// Whether the first record contains column names instead of an item.
    let hasHeader: Bool

    /// Finds the columns in the first record. Columns other than the URL's are used only if the options name them.
    /// Throws `ListProblem.unusable` if a column is missing.
    init(_ first: [[UInt8]], _ options: ListOptions) throws(ListProblem) {
        let names = first.map { String(decoding: $0, as: UTF8.self).lowercased() }
        let needsNames = options.roles.contains { if case .name? = $0 { true } else { false } }
        switch options.urlColumn {
        case .name(let wanted):
            url = try Self.index(of: wanted, in: names)
            hasHeader = true
        case .number(let number):
            url = number - 1
            guard url < names.count else {
                throw .unusable("its first line has \(names.count) fields, and no column \(number)")
            }
            hasHeader = needsNames || url < names.count && Self.isName(names[url])
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
        func index(_ column: ListOptions.Column?) throws(ListProblem) -> Int? {
            switch column {
            case .name(let wanted): try Self.index(of: wanted, in: names)
            case .number(let number): number - 1
            case nil: nil
            }
        }
        key = try index(options.keyColumn)
        headers = try index(options.headersColumn)
        name = try index(options.nameColumn)
        processor = try index(options.processColumn)
        var copies: [(String, Int)] = []
        for name in options.copyColumns {
            if let index = try index(ListOptions.Column(name)) { copies.append((name, index)) }
        }
        self.copies = copies
    }

    private static func index(of wanted: String, in names: [String]) throws(ListProblem) -> Int {
        guard let index = names.firstIndex(of: wanted.lowercased()) else { throw missing(wanted, names) }
        return index
    }

    private static func missing(_ wanted: String, _ names: [String]) -> ListProblem {
        let shown = names.prefix(20).map { $0.prefix(100) }.joined(separator: ", ")
        return .unusable("its first line has no column '\(wanted)'; its columns are: \(shown)")
    }

    /// Returns whether a field in the URL's place is a column name.
    private static func isName(_ field: String) -> Bool { !field.contains("/") && !field.contains(":") }
}

/// A request header that a list sets for one image.
enum ListHeader {
    /// Headers of the connection and of message framing.
    private static let refused: Set<String> = [
        "host", "connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Checks a header. Throws `ListProblem.record` for an invalid name, line breaks and other control characters, and
    /// headers that a list may not set.
    static func checked(_ name: String, _ value: String) throws(ListProblem) -> (name: String, value: String) {
        guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
            throw .record("'\(name.prefix(100))' is not a valid header name")
        }
        guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
            throw .record("the header '\(name.prefix(100))' has a line break or another control character")
        }
        let lower = name.lowercased()
        guard !refused.contains(lower), !lower.hasPrefix("proxy-"), !RequestField.isReserved(lower) else {
            throw .record("a list may not set the header '\(name)'")
        }
        return (name, value)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7f && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
    }
}

/// The members of a jsonl list's objects by their meaning.
struct ListMembers {
    let url: MemberPath
    let key: MemberPath?
    let headers: MemberPath?
    let name: MemberPath?
    let processor: MemberPath?
    let copies: [MemberPath]

    /// Members other than the URL are used only if the options name them. Throws `ListProblem.unusable` for a column
    /// number.
    init(_ options: ListOptions) throws(ListProblem) {
        func path(_ column: ListOptions.Column?) throws(ListProblem) -> MemberPath? {
            switch column {
            case .name(let name): return MemberPath(name)
            case .number(let number):
                throw .unusable("its objects have no numbered columns; use the name of a member instead of \(number)")
            case nil: return nil
            }
        }
        url = try path(options.urlColumn) ?? MemberPath("url")
        key = try path(options.keyColumn)
        headers = try path(options.headersColumn)
        name = try path(options.nameColumn)
        processor = try path(options.processColumn)
        copies = options.copyColumns.map(MemberPath.init)
    }

    /// The paths other than the URL's.
    var optional: [MemberPath] { [key, headers, name, processor].compactMap { $0 } + copies }

    /// The depth of nesting that a parser must keep: that of the paths, and the headers' own object.
    var keptDepth: Int {
        max(1, (headers?.depth ?? 0) + 1, ([url, key, name, processor] + copies).reduce(0) { max($0, $1?.depth ?? 0) })
    }
}

/// The parser of the fields of one record of comma- or tab-separated values (RFC 4180).
enum DelimitedFields {
    /// The maximum number of fields: a record of commas alone would take 60 times its length.
    private static let most = 1 << 14

    /// Splits a record. Throws `ListProblem.record` for text behind a closing quote, and for too many fields.
    static func split(_ record: ArraySlice<UInt8>, delimiter: UInt8) throws(ListProblem) -> [[UInt8]] {
        let quote = UInt8(ascii: "\"")
        var fields: [[UInt8]] = []
        var rest = record
        while true {
            var field: [UInt8] = []
            if rest.first == quote {
                rest.removeFirst()
                while true {
                    guard let end = rest.firstIndex(of: quote) else { throw .record("unterminated quoted field") }
                    field += rest[..<end]
                    rest = rest[(end + 1)...]
                    guard rest.first == quote else { break }
                    field.append(quote)
                    rest.removeFirst()
                }
                guard rest.isEmpty || rest.first == delimiter else {
                    throw .record("field \(fields.count + 1) has text after its closing quote")
                }
            } else {
                let end = rest.firstIndex(of: delimiter) ?? rest.endIndex
                field = Array(rest[..<end])
                rest = rest[end...]
            }
            guard fields.count < most else { throw .record("more than \(most) fields") }
            fields.append(field)
            guard rest.first == delimiter else { return fields }
            rest.removeFirst()
        }
    }
}
