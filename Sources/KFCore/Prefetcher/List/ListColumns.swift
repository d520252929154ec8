/// Which field of a csv or tsv record says what.
struct ListColumns {
    let url: Int
    private(set) var key: Int?
    private(set) var headers: Int?
    private(set) var name: Int?
    private(set) var processor: Int?
    /// The first record names the columns, and asks for nothing.
    let hasHeader: Bool

    /// From the first record. Throws `ListProblem.unusable` when no column can be the URLs'.
    init(_ first: [[UInt8]], _ column: ListOptions.Column?) throws(ListProblem) {
        let names = first.map { String(decoding: $0, as: UTF8.self).lowercased() }
        switch column {
        case .name(let wanted):
            guard let index = names.firstIndex(of: wanted.lowercased()) else {
                throw .unusable(
                    "its first line has no column '\(wanted)', but: \(names.prefix(20).joined(separator: ", "))")
            }
            url = index
            hasHeader = true
        case .number(let number):
            url = number - 1
            hasHeader = url < names.count && Self.isName(names[url])
        case nil:
            if let index = names.firstIndex(of: "url") {
                url = index
                hasHeader = true
            } else if names.count > 1, Self.isName(names[0]) {
                throw .unusable("its first line has no column 'url', but: \(names.prefix(20).joined(separator: ", "))")
            } else {
                url = 0
                hasHeader = Self.isName(names[0])
            }
        }
        guard hasHeader else { return }
        key = names.firstIndex(of: "key")
        headers = names.firstIndex(of: "headers")
        name = names.firstIndex(of: "name")
        processor = names.firstIndex(of: "processor")
    }

    /// What stands where URLs are to stand is the column's name.
    private static func isName(_ field: String) -> Bool { !field.contains("/") && !field.contains(":") }
}
