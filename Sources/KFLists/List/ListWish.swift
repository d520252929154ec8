import KFSystem
import KFTerms

/// The raw fields of a csv, tsv or jsonl record, before they are interpreted.
struct ListWish {
    /// The URLs: one, or those that a member's path finds in a JSON object. An object may have none.
    let urls: [String]
    /// The key, name and processor: one for all URLs, or one for each; empty if there are none.
    private let keys: [String?]
    private let names: [String?]
    private let processors: [String?]
    private let hashes: [String?]
    /// The values of the columns that the names of copies use.
    private let copies: [String: [String?]]
    let headers: [(name: String, value: String)]
    /// A problem of the record's headers. It leaves the URL known.
    let problem: ListProblem?

    /// Reads a csv or tsv record. The field of headers has one `Name: value` per line.
    init(_ fields: [ArraySlice<UInt8>], _ columns: ListColumns) throws(ListProblem) {
        func text(_ column: Int) -> String? {
            guard column < fields.count else { return nil }
            let field = column == columns.roles.url ? fields[column].trimmed : fields[column]
            if field.isEmpty { return nil }
            // Paths and values of headers keep their bytes.
            return [columns.roles.url, columns.roles.headers].contains(column)
                ? RawText.decode(field) : PercentCoding.text(field)
        }
        let wish = try Self(columns.roles, { [text($0)] }) { column throws(ListProblem) in
            try text(column).map { (lines) throws(ListProblem) in try Self.headers(lines) } ?? []
        }
        guard let wish else { throw .empty("field \(columns.roles.url + 1), the URL, is missing") }
        self = wish
    }

    /// Reads a JSON object. Members that the options do not name are ignored. Throws `ListProblem.record`; nil if the
    /// object does not have the URL's member.
    init?(_ json: StrictJSON, _ paths: ListRoles<MemberPath>) throws(ListProblem) {
        guard case .object(let members) = json else { throw .record("not a JSON object") }
        try self.init(paths, { path throws(ListProblem) in try Self.texts(members, path) }) {
            path throws(ListProblem) in
            guard let value = path.values(in: members)?.first ?? nil else { return [] }
            return try Self.headers(value, path.text)
        }
    }

    /// `values` returns the texts of a place: nil if the record does not have it, one text for all URLs, or one for each.
    private init?<Place>(
        _ roles: ListRoles<Place>, _ values: (Place) throws(ListProblem) -> [String?]?,
        headers: (Place) throws(ListProblem) -> [(name: String, value: String)]
    ) throws(ListProblem) {
        guard let found = try values(roles.url), found.isEmpty || found.contains(where: { $0 != nil }) else {
            return nil
        }
        func texts(_ place: Place?) throws(ListProblem) -> [String?] {
            guard let place, let texts = try values(place) else { return [] }
            guard texts.count > 1 else { return texts }
            guard texts.count == found.count else {
                throw .record("\"\(place)\" has \(texts.count) values for \(found.count) URLs")
            }
            // The values of elements without a URL are dropped.
            return zip(found, texts).filter { $0.0 != nil }.map(\.1)
        }
        keys = try texts(roles.key)
        names = try texts(roles.name)
        processors = try texts(roles.processor)
        hashes = try texts(roles.hash)
        var copies: [String: [String?]] = [:]
        for (name, place) in roles.copies { copies[name] = try texts(place) }
        self.copies = copies
        urls = found.compactMap { $0?.trimmed }
        do throws(ListProblem) {
            self.headers = try roles.headers.map(headers) ?? []
            problem = nil
        } catch {
            self.headers = []
            problem = error
        }
    }

    /// Returns the key of a URL. A key that several URLs share would be one image: later ones get their index, from 1,
    /// as in `KEY[1]`.
    func key(of index: Int) -> String? {
        guard keys.count == 1, index > 0 else { return Self.value(keys, index) }
        return keys[0].map { "\($0)[\(index)]" }
    }

    func name(of index: Int) -> String? { Self.value(names, index) }

    func columns(of index: Int) -> [String: String] { copies.compactMapValues { Self.value($0, index) } }

    func processor(of index: Int) -> String? { Self.value(processors, index) }

    func hash(of index: Int) -> String? { Self.value(hashes, index) }

    private static func value(_ values: [String?], _ index: Int) -> String? {
        values.count > 1 ? values[index] : values.first ?? nil
    }

    /// Returns the texts of a path; nil if the object has none.
    private static func texts(_ members: [StrictJSON.Member], _ path: MemberPath) throws(ListProblem) -> [String?]? {
        guard let values = path.values(in: members) else { return nil }
        return try values.map { value throws(ListProblem) in
            switch value {
            case .string(let text): return text.isEmpty ? nil : text
            // A product's number, as key or as name.
            case .number(let text): return text
            case .null, nil: return nil
            case .array: throw .record("\"\(path)\" is an array; \(path)[] names its elements")
            case .object, .bool: throw .record("\"\(path)\" is not a string")
            }
        }
    }

    private static func headers(_ lines: String) throws(ListProblem) -> [(name: String, value: String)] {
        let lines = lines.split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }
        return try lines.map { line throws(ListProblem) in
            guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
                // The message does not show the line: it may be a secret without its colon.
                throw .record("a header must have the form 'Name: value'")
            }
            return try header(String(line[..<colon]), String(line[line.index(after: colon)...]).trimmed)
        }
    }

    private static func headers(
        _ value: StrictJSON, _ name: String
    ) throws(ListProblem) -> [(name: String, value: String)] {
        if value == .null { return [] }
        guard case .object(let members) = value else { throw .record("\"\(name)\" is not an object of strings") }
        return try members.map { member throws(ListProblem) in
            guard let value = member.value.string else { throw .record("\"\(name)\" is not an object of strings") }
            return try header(member.name, value)
        }
    }

    /// Headers of the connection and of message framing.
    private static let refused: Set<String> = [
        "host", "connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Checks a header. Throws `ListProblem.record` for an invalid name, line breaks and other control characters, and
    /// headers that a list may not set.
    private static func header(_ name: String, _ value: String) throws(ListProblem) -> (name: String, value: String) {
        guard FieldText.isName(name) else { throw .record("'\(name.prefix(100))' is not a valid header name") }
        guard FieldText.isValue(value) else {
            throw .record("the header '\(name.prefix(100))' has a line break or another control character")
        }
        let lower = name.lowercased()
        guard !refused.contains(lower), !lower.hasPrefix("proxy-"), !RequestOptions.isReserved(lower) else {
            throw .record("a list may not set the header '\(name)'")
        }
        return (name, value)
    }
}
