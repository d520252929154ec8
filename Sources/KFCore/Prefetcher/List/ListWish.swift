/// The raw fields of a record, before they are interpreted.
struct ListWish {
    private(set) var url: [UInt8] = []
    var key: String?
    var headers: [(name: String, value: String)] = []
    var name: String?
    var processor: String?
    /// A problem of the record that leaves its URL known.
    private(set) var problem: ListProblem?

    init(url: some Collection<UInt8>) { self.url = Array(url) }

    /// Reads a csv or tsv record. The field of headers has one `Name: value` per line.
    init(_ fields: [[UInt8]], _ columns: ListColumns) throws(ListProblem) {
        guard columns.url < fields.count, !fields[columns.url].isEmpty else {
            throw .record("field \(columns.url + 1), the URL, is missing")
        }
        url = fields[columns.url]
        key = Self.text(fields, columns.key)
        name = Self.text(fields, columns.name)
        processor = Self.text(fields, columns.processor)
        if let lines = Self.text(fields, columns.headers) {
            setHeaders { () throws(ListProblem) in try Self.headers(lines) }
        }
    }

    /// Reads a JSON object. Members that the options do not name are ignored.
    init(_ json: StrictJSON, _ names: ListMembers) throws(ListProblem) {
        guard case .object(let members) = json else { throw .record("not a JSON object") }
        var url: String?
        for member in members {
            // One member may have two roles: a product's number as key and as name.
            if member.name == names.url { url = try Self.text(member) }
            if member.name == names.key { key = try Self.text(member) }
            if member.name == names.name { name = try Self.text(member) }
            if member.name == names.processor { processor = try Self.text(member) }
            if member.name == names.headers { setHeaders { () throws(ListProblem) in try Self.headers(member) } }
        }
        guard let url else { throw .record("the object has no member \"\(names.url)\"") }
        self.url = Array(url.utf8)
    }

    private static func text(_ fields: [[UInt8]], _ column: Int?) -> String? {
        guard let column, column < fields.count, !fields[column].isEmpty else { return nil }
        return PercentCoding.text(fields[column])
    }

    private static func text(_ member: StrictJSON.Member) throws(ListProblem) -> String? {
        switch member.value {
        case .string(let text): return text.isEmpty ? nil : text
        case .null: return nil
        default: throw .record("\"\(member.name)\" is not a string")
        }
    }

    /// Sets the headers. If they are invalid, the error still names the record's URL.
    private mutating func setHeaders(_ read: () throws(ListProblem) -> [(name: String, value: String)]) {
        do throws(ListProblem) { headers = try read() } catch { problem = error }
    }

    private static func headers(_ lines: String) throws(ListProblem) -> [(name: String, value: String)] {
        var headers: [(name: String, value: String)] = []
        for line in lines.split(whereSeparator: \.isNewline) where !line.allSatisfy(\.isWhitespace) {
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                // The message does not show the line: it may be a secret without its colon.
                throw .record("a header must have the form 'Name: value'")
            }
            headers.append(try ListHeader.checked(String(line[..<colon]), trimmed(line[line.index(after: colon)...])))
        }
        return headers
    }

    private static func headers(_ member: StrictJSON.Member) throws(ListProblem) -> [(name: String, value: String)] {
        guard case .object(let members) = member.value else {
            if member.value == .null { return [] }
            throw .record("\"\(member.name)\" is not an object of strings")
        }
        var headers: [(name: String, value: String)] = []
        for header in members {
            guard case .string(let value) = header.value else {
                throw .record("\"\(member.name)\" is not an object of strings")
            }
            headers.append(try ListHeader.checked(header.name, value))
        }
        return headers
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
