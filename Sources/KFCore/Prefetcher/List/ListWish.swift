/// The raw fields of a record, before they are interpreted.
struct ListWish {
    /// The URLs: one, or those that a member's path finds in a JSON object. An object may have none.
    private(set) var urls: [String] = []
    /// The key, name and processor: one for all URLs, or one for each; empty if there are none.
    private var keys: [String?] = []
    private var names: [String?] = []
    private var processors: [String?] = []
    /// The values of the columns that the names of copies use.
    private var copies: [String: [String?]] = [:]
    private(set) var headers: [(name: String, value: String)] = []
    /// A problem of the record that leaves its URL known.
    private(set) var problem: ListProblem?

    init(url: String) { urls = [url] }

    /// Reads a csv or tsv record. The field of headers has one `Name: value` per line.
    init(_ fields: [[UInt8]], _ columns: ListColumns) throws(ListProblem) {
        let url = columns.url < fields.count ? Array(ListLine.trimmed(fields[columns.url][...])) : []
        guard !url.isEmpty else { throw .record("field \(columns.url + 1), the URL, is missing") }
        urls = [PercentCoding.text(url)]
        keys = [Self.text(fields, columns.key)]
        names = [Self.text(fields, columns.name)]
        processors = [Self.text(fields, columns.processor)]
        for (name, index) in columns.copies { copies[name] = [Self.text(fields, index)] }
        if let lines = Self.text(fields, columns.headers) {
            setHeaders { () throws(ListProblem) in try Self.headers(lines) }
        }
    }

    /// Reads a JSON object. Members that the options do not name are ignored. Throws `ListProblem.record`; nil if the
    /// object does not have the URL's member.
    init?(_ json: StrictJSON, _ paths: ListMembers) throws(ListProblem) {
        guard case .object(let members) = json else { throw .record("not a JSON object") }
        guard let found = try Self.texts(members, paths.url), found.isEmpty || found.contains(where: { $0 != nil })
        else { return nil }
        keys = try Self.texts(members, paths.key, for: found)
        names = try Self.texts(members, paths.name, for: found)
        processors = try Self.texts(members, paths.processor, for: found)
        for path in paths.copies { copies[path.text] = try Self.texts(members, path, for: found) }
        // The values of elements without a URL are dropped.
        let kept = found.indices.filter { found[$0] != nil }
        func dropped(_ values: [String?]) -> [String?] { values.count > 1 ? kept.map { values[$0] } : values }
        keys = dropped(keys)
        names = dropped(names)
        processors = dropped(processors)
        copies = copies.mapValues(dropped)
        urls = found.compactMap { $0.map { PercentCoding.text(Array(ListLine.trimmed(Array($0.utf8)[...]))) } }
        if let path = paths.headers, let value = path.values(in: members)?.first ?? nil {
            setHeaders { () throws(ListProblem) in try Self.headers(value, path.text) }
        }
    }

    /// Returns the key of a URL. A key that several URLs share would be one image: later ones get their index, from 1,
    /// as in `KEY[1]`.
    func key(of index: Int) -> String? {
        guard keys.count == 1, index > 0 else { return Self.value(keys, index) }
        return keys[0].map { "\($0)[\(index)]" }
    }

    /// Returns the name of a URL's copy.
    func name(of index: Int) -> String? { Self.value(names, index) }

    /// Returns the values of the columns that the name of a URL's copy uses.
    func columns(of index: Int) -> [String: String] { copies.compactMapValues { Self.value($0, index) } }

    /// Returns the processor of a URL's image.
    func processor(of index: Int) -> String? { Self.value(processors, index) }

    private static func value(_ values: [String?], _ index: Int) -> String? {
        values.count > 1 ? values[index] : values.first ?? nil
    }

    private static func text(_ fields: [[UInt8]], _ column: Int?) -> String? {
        guard let column, column < fields.count, !fields[column].isEmpty else { return nil }
        return PercentCoding.text(fields[column])
    }

    /// Returns the texts of a path; nil if the object has none.
    private static func texts(
        _ members: [StrictJSON.Member], _ path: MemberPath?
    ) throws(ListProblem) -> [String?]? {
        guard let path, let values = path.values(in: members) else { return nil }
        var texts: [String?] = []
        texts.reserveCapacity(values.count)
        for value in values {
            switch value {
            case .string(let text): texts.append(text.isEmpty ? nil : text)
            // A product's number, as key or as name.
            case .number(let text): texts.append(text)
            case .null, nil: texts.append(nil)
            case .array: throw .record("\"\(path.text)\" is an array; \(path.text)[] names its elements")
            case .object, .bool: throw .record("\"\(path.text)\" is not a string")
            }
        }
        return texts
    }

    /// Returns one text for all URLs, or one for each.
    private static func texts(
        _ members: [StrictJSON.Member], _ path: MemberPath?, for urls: [String?]
    ) throws(ListProblem) -> [String?] {
        guard let path, let texts = try texts(members, path) else { return [] }
        guard texts.count <= 1 || texts.count == urls.count else {
            throw .record("\"\(path.text)\" has \(texts.count) values for \(urls.count) URLs")
        }
        return texts
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

    private static func headers(
        _ value: StrictJSON, _ name: String
    ) throws(ListProblem) -> [(name: String, value: String)] {
        guard case .object(let members) = value else {
            if value == .null { return [] }
            throw .record("\"\(name)\" is not an object of strings")
        }
        var headers: [(name: String, value: String)] = []
        for header in members {
            guard case .string(let value) = header.value else {
                throw .record("\"\(name)\" is not an object of strings")
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
