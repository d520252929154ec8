/// The columns of a list by name, for results that carry them. The records of a list share it.
final class RecordColumns: Sendable {
    private enum Form {
        /// The names of the columns and the index of the headers' one.
        case delimited(UInt8, names: [String], headers: Int?)
        case objects(headers: MemberPath?)
    }

    private let form: Form

    /// The columns of a csv or tsv list. Those that the first record does not name have their number from 1.
    init(_ first: [[UInt8]], delimiter: UInt8, _ columns: ListColumns) {
        var names: [String] = []
        var counts: [String: Int] = [:]
        for (index, field) in first.enumerated() {
            let text = columns.hasHeader ? PercentCoding.text(field) : ""
            var name = text.isEmpty ? "\(index + 1)" : text
            // Each name of an object counts once.
            while let count = counts[name] {
                counts[name] = count + 1
                name = "\(text)_\(count + 1)"
            }
            counts[name] = 1
            names.append(name)
        }
        form = .delimited(delimiter, names: names, headers: columns.headers)
    }

    /// The members of a jsonl list's objects.
    init(_ members: ListMembers) { form = .objects(headers: members.headers) }

    /// The names that all records have in common; nil for objects, each of which has its own.
    var names: [String]? {
        guard case .delimited(_, let names, let headers) = form else { return nil }
        return names.indices.filter { $0 != headers }.map { names[$0] }
    }

    /// Returns the values of a record, without its request headers and without the user info of URLs: both hold
    /// secrets. Nil for a record that cannot be parsed.
    func values(of record: ArraySlice<UInt8>) -> [StrictJSON.Member]? {
        let content = ListRecord(line: 0, bytes: record).content
        do throws(ListProblem) {
            switch form {
            case .delimited(let delimiter, let names, let headers):
                let fields = try DelimitedFields.split(content, delimiter: delimiter)
                return fields.indices.filter { $0 != headers }.map { index in
                    let name = index < names.count ? names[index] : "\(index + 1)"
                    return StrictJSON.Member(name: name, value: Self.shown(.string(PercentCoding.text(fields[index]))))
                }
            case .objects(let headers):
                guard case .object(let members) = try JSONReader.parse(Array(content)) else { return nil }
                guard let headers else { return members.map(Self.shown) }
                return headers.removed(from: members).map(Self.shown)
            }
        } catch {
            return nil
        }
    }

    private static func shown(_ member: StrictJSON.Member) -> StrictJSON.Member {
        StrictJSON.Member(name: member.name, value: shown(member.value))
    }

    private static func shown(_ value: StrictJSON) -> StrictJSON {
        switch value {
        case .string(let text) where text.prefix(8).lowercased().hasPrefix("http"):
            .string(RequestURL.withoutUserInfo(text))
        case .array(let elements): .array(elements.map(shown))
        case .object(let members): .object(members.map(shown))
        default: value
        }
    }
}
