/// Which member of a jsonl list's objects says what.
struct ListMembers {
    let url: String
    let key: String?
    let headers: String?
    let name: String?
    let processor: String?

    /// A member other than the URL counts only when the options name it. Throws `ListProblem.unusable` for a number.
    init(_ options: ListOptions) throws(ListProblem) {
        func name(_ column: ListOptions.Column?) throws(ListProblem) -> String? {
            switch column {
            case .name(let name): return name
            case .number(let number):
                throw .unusable("its objects have members, not numbered columns; name one in place of \(number)")
            case nil: return nil
            }
        }
        url = try name(options.urlColumn) ?? "url"
        key = try name(options.keyColumn)
        headers = try name(options.headersColumn)
        self.name = try name(options.nameColumn)
        processor = try name(options.processColumn)
    }
}
