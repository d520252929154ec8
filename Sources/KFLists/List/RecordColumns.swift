import KFSystem
import KFTerms

/// The columns of a list by name, for results that carry them. The records of a list share it.
final class RecordColumns: Sendable {
    private enum Form {
        /// The names of the columns and the index of the headers' one.
        case delimited(UInt8, names: [String], headers: Int?)
        case objects(headers: MemberPath?)
    }

    /// The length from which a value of a record with many URLs is left out, in bytes.
    private static let shortest = 256

    private let form: Form

    /// The columns of a csv or tsv list. Those that the first record does not name have their number from 1.
    init(_ first: [ArraySlice<UInt8>], delimiter: UInt8, _ columns: ListColumns) {
        var names = UniqueNames()
        let all = first.enumerated().map { index, field in
            let text = columns.hasHeader ? PercentCoding.text(field) : ""
            return names.add(text.isEmpty ? "\(index + 1)" : text)
        }
        form = .delimited(delimiter, names: all, headers: columns.roles.headers)
        self.names = all.indices.filter { $0 != columns.roles.headers }.map { all[$0] }
        taken = names
        isOfList = true
    }

    /// The members of objects. `isOfList`: the list has objects only.
    init(_ members: ListRoles<MemberPath>, isOfList: Bool) {
        form = .objects(headers: members.headers)
        names = nil
        taken = UniqueNames()
        self.isOfList = isOfList
    }

    /// The names that all records have in common; nil for objects, each of which has its own.
    let names: [String]?
    /// Whether the records of the list have columns. Among lines, an object may be the only one.
    let isOfList: Bool
    private let taken: UniqueNames

    /// Returns the values of a record, without its request headers and without the user info of URLs: both hold
    /// secrets. Nil for a record that cannot be parsed. `onlyShort` leaves long values out, for each of many items of one
    /// record: all of it in each would be much more than the list.
    func values(of record: [UInt8], onlyShort: Bool) -> [StrictJSON.Member]? {
        let values = (try? members(of: record)).flatMap(\.self)?.map(Self.shown)
        guard onlyShort else { return values }
        return values?.filter { member in
            switch member.value {
            case .array, .object: false
            case .string(let text), .number(let text): text.utf8.count < Self.shortest
            case .null, .bool: true
            }
        }
    }

    private func members(of record: [UInt8]) throws -> [StrictJSON.Member]? {
        switch form {
        case .delimited(let delimiter, let names, let headers):
            let fields = try DelimitedFields.split(
                ListRecord(line: 0, bytes: record[...]).content, delimiter: delimiter)
            var others = taken
            return fields.indices.filter { $0 != headers }.map { index in
                let name = index < names.count ? names[index] : others.add("\(index + 1)")
                return StrictJSON.Member(name: name, value: .string(PercentCoding.text(fields[index])))
            }
        case .objects(let headers):
            guard case .object(let members) = try StrictJSON.parse(record) else { return nil }
            return headers?.removed(from: members) ?? members
        }
    }

    private static func shown(_ member: StrictJSON.Member) -> StrictJSON.Member {
        StrictJSON.Member(name: member.name, value: shown(member.value))
    }

    private static func shown(_ value: StrictJSON) -> StrictJSON {
        switch value {
        case .string(let text): .string(withoutUserInfo(text))
        case .array(let elements): .array(elements.map(shown))
        case .object(let members): .object(members.map(shown))
        default: value
        }
    }

    /// Returns a text without the user info of the URL that it is, if it is one. White space around it is no part of it.
    private static func withoutUserInfo(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "@")), let mark = text.firstRange(of: "://") else { return text }
        let url = text.drop(while: \.isWhitespace)
        let scheme = url[..<mark.lowerBound]
        guard scheme.utf8.allSatisfy({ $0 | 0x20 &- 0x61 < 26 || $0 &- 0x2b < 15 }) else { return text }
        return text[..<url.startIndex] + RequestURL.withoutUserInfo(String(url))
    }
}

/// Names of which each is there once.
private struct UniqueNames {
    private var taken: Set<String> = []
    /// The last number behind each name that was there before.
    private var numbers: [String: Int] = [:]

    /// Returns the name, with a number behind it if it is taken.
    mutating func add(_ name: String) -> String {
        var free = name
        var number = numbers[name] ?? 1
        while !taken.insert(free).inserted {
            number += 1
            free = "\(name)_\(number)"
        }
        if number > 1 { numbers[name] = number }
        return free
    }
}
