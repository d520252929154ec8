/// Which field of a csv or tsv record says what.
struct ListColumns {
    let url: Int
    let key: Int?
    let headers: Int?
    let name: Int?
    let processor: Int?
    /// The first record names the columns, and asks for nothing.
    let hasHeader: Bool

    /// From the first record. A column other than the URLs' counts only when the options name it. Throws
    /// `ListProblem.unusable` when one of the columns is missing.
    init(_ first: [[UInt8]], _ options: ListOptions) throws(ListProblem) {
        let names = first.map { String(decoding: $0, as: UTF8.self).lowercased() }
        let needsNames = options.roles.contains { if case .name? = $0 { true } else { false } }
        switch options.urlColumn {
        case .name(let wanted):
            url = try Self.index(of: wanted, in: names)
            hasHeader = true
        case .number(let number):
            url = number - 1
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
    }

    private static func index(of wanted: String, in names: [String]) throws(ListProblem) -> Int {
        guard let index = names.firstIndex(of: wanted.lowercased()) else { throw missing(wanted, names) }
        return index
    }

    private static func missing(_ wanted: String, _ names: [String]) -> ListProblem {
        let shown = names.prefix(20).map { $0.prefix(100) }.joined(separator: ", ")
        return .unusable("its first line has no column '\(wanted)', but: \(shown)")
    }

    /// What stands where URLs are to stand is the column's name.
    private static func isName(_ field: String) -> Bool { !field.contains("/") && !field.contains(":") }
}
