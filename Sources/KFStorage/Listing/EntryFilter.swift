import CSQLite
import KFSystem

/// A filter over entries. All conditions that are set must match.
package struct EntryFilter: Sendable, Equatable {
    package var host: HostPattern?
    /// A pattern with `*`, `?` and `[…]` for the key.
    package var glob: String?
    /// The keys that match; nil matches all.
    package var keys: KeyChoice?
    /// The identifier of a processor; empty selects originals.
    package var identifier: String?
    /// A GLOB pattern of the last steps of the identifier, each behind `|>`.
    package var identifierEnd: String?
    /// A pattern for `|>` and the identifiers that do not match.
    package var hiddenIdentifiers: String?
    package var format: String?
    /// The size in bytes that the entry must exceed.
    package var largerThan: Int64?
    package var createdBefore: Timestamp?
    package var accessedBefore: Timestamp?
    /// The time at which the entry must be expired.
    package var expiredAt: Timestamp?
    /// The tags that the entry must have, all of them.
    package var tags: [String] = []

    package init() {}

    /// Whether every entry matches.
    package var selectsAll: Bool { self == EntryFilter() }

    var needsTimes: Bool { accessedBefore != nil || expiredAt != nil }

    /// The SQL condition over the tables `e`, `t`, `o` and `h`. `bind` binds its parameters. `hasTags` says whether the
    /// index has the table of tags.
    func condition(hasTags: Bool) -> String {
        var parts = ["e.id > ?1"]
        if let host { parts.append(host.condition) }
        if glob != nil { parts.append("e.key GLOB ?3") }
        if identifier != nil { parts.append(Self.hasIdentifier) }
        if identifierEnd != nil { parts.append("'|>' || e.identifier GLOB '*' || ?14") }
        if hiddenIdentifiers != nil { parts.append("NOT '|>' || e.identifier GLOB ?15") }
        if createdBefore != nil { parts.append("e.created < ?5") }
        if accessedBefore != nil { parts.append("t.accessed < ?6") }
        if expiredAt != nil { parts.append("t.expires <= ?7") }
        if format != nil { parts.append("e.format = (SELECT id FROM formats WHERE name = ?12)") }
        if let largerThan {
            // The literal lets SQLite use the partial index over large entries.
            if largerThan >= Schema.large { parts.append("e.size >= \(Schema.large)") }
            parts.append("e.size > ?13")
        }
        for index in tags.indices {
            // The rows of a tag are found by its name, so that few entries of a million are read.
            parts.append(hasTags ? "e.id IN (SELECT entry FROM tags WHERE name = ?\(Self.firstTag + index))" : "0")
        }
        if keys != nil { parts.append("\(KeyChoice.function)(e.key)") }
        return "WHERE " + parts.joined(separator: " AND ")
    }

    private static let firstTag = 20

    /// Matches the identifier in every representation of a source, and the whole identifier as it is stored.
    private static let hasIdentifier = """
        (e.identifier = ?4 OR e.identifier GLOB '\(EntryKey.representationMark)*'
        AND substr(e.identifier, \(EntryKey.representationMark.count + EntryKey.representationLength + 1)) = \
        CASE ?4 WHEN '' THEN '' ELSE '|>' || ?4 END)
        """

    /// Returns whether the filter selects the key. Always false for a filter with a condition that a key lacks.
    package func selects(_ key: EntryKey) -> Bool {
        guard host == nil, createdBefore == nil, !needsTimes, format == nil, largerThan == nil, tags.isEmpty,
            identifierEnd == nil, hiddenIdentifiers == nil
        else {
            return false
        }
        if let identifier, key.chain != identifier, key.identifier != identifier { return false }
        if let keys, !keys.selects(key.key) { return false }
        return glob.map { sqlite3_strglob($0, key.key) == 0 } ?? true
    }

    func bind(_ statement: Statement, after row: Int64) {
        row.bind(to: statement, at: 1)
        host?.bind(statement)
        glob?.bind(to: statement, at: 3)
        identifier?.bind(to: statement, at: 4)
        createdBefore?.milliseconds.bind(to: statement, at: 5)
        accessedBefore?.milliseconds.bind(to: statement, at: 6)
        expiredAt?.milliseconds.bind(to: statement, at: 7)
        format?.bind(to: statement, at: 12)
        largerThan?.bind(to: statement, at: 13)
        identifierEnd?.bind(to: statement, at: 14)
        hiddenIdentifiers?.bind(to: statement, at: 15)
        for (index, tag) in tags.enumerated() { tag.bind(to: statement, at: Int32(clamping: Self.firstTag + index)) }
    }
}

/// A choice of keys. An entry of any requester belongs to the key of its URL: what follows `#user=` or `#trust=` is
/// left out of the comparison.
public struct KeyChoice: Sendable, Equatable {
    /// The keys that match. No keys and no patterns match every key.
    public var keys: Set<String> = []
    /// The patterns with `*`, `?` and `[…]` that match.
    public var globs: [String] = []
    /// The keys that do not match; nil excludes none.
    public var except: Set<String>?

    /// Creates a choice of these keys and patterns; without any, it matches every key.
    public init(keys: Set<String> = [], globs: [String] = [], except: Set<String>? = nil) {
        self.keys = keys
        self.globs = globs
        self.except = except
    }

    /// The name of the SQL function that `Connection.install` defines.
    static let function = "kf_selects"

    /// The marks that begin the digests behind a key.
    private static let marks = [Array("#user=".utf8), Array("#trust=".utf8)]

    /// Returns the key without the digests of the requester and of the terms of trust.
    public static func base(of key: String) -> String {
        guard let end = end(ofBase: key.utf8) else { return key }
        return String(decoding: key.utf8.prefix(end), as: UTF8.self)
    }

    /// Whether the text is nothing but marks with hexadecimal digits. A given key may hold a mark of its own.
    private static func isDigests(_ text: some Collection<UInt8>) -> Bool {
        var rest = text[...]
        while let mark = marks.first(where: { rest.starts(with: $0) }) {
            rest = rest.dropFirst(mark.count)
            let digits = rest.prefix(while: \.isLowercaseHex)
            guard digits.count == 32 else { return false }
            rest = rest.dropFirst(digits.count)
            if rest.isEmpty { return true }
        }
        return false
    }

    private static func end(ofBase key: some Collection<UInt8>) -> Int? {
        var rest = key[...]
        while let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            rest = rest[mark...]
            if isDigests(rest) { return key.distance(from: key.startIndex, to: mark) }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// Returns whether the choice matches the key.
    public func selects(_ key: String) -> Bool {
        var key = key
        return key.withUTF8 { utf8 in
            // SQLite's function reads to a NUL byte.
            (Array(utf8) + [0]).withUnsafeBufferPointer { selects(UnsafeBufferPointer(rebasing: $0.dropLast())) }
        }
    }

    /// Returns whether the choice matches the key in a buffer. A NUL byte must follow the buffer. `lengths` are the
    /// lengths of the keys that match; nil if they are not known.
    fileprivate func selects(_ bytes: UnsafeBufferPointer<UInt8>, lengths: Set<Int>? = nil) -> Bool {
        if !(keys.isEmpty && globs.isEmpty), !has(bytes, keys, lengths), !fits(bytes) { return false }
        return except.map { !has(bytes, $0, nil) } ?? true
    }

    private func has(_ bytes: UnsafeBufferPointer<UInt8>, _ keys: Set<String>, _ lengths: Set<Int>?) -> Bool {
        guard !keys.isEmpty else { return false }
        // A text of each key of a million would take most of the time of a scan for a few keys.
        func has(_ count: Int) -> Bool {
            if let lengths, !lengths.contains(count) { return false }
            return keys.contains(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
        return has(bytes.count) || Self.end(ofBase: bytes).map(has) == true
    }

    private func fits(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard !globs.isEmpty, let start = bytes.baseAddress else { return false }
        return start.withMemoryRebound(to: CChar.self, capacity: bytes.count + 1) { text in
            globs.contains { sqlite3_strglob($0, text) == 0 }
        }
    }
}

extension Connection {
    /// The choice in the form in which SQLite holds it.
    private final class ChoiceBox: Sendable {
        let choice: KeyChoice
        let lengths: Set<Int>

        init(_ choice: KeyChoice) {
            self.choice = choice
            lengths = Set(choice.keys.map(\.utf8.count))
        }
    }

    /// Defines the SQL function of the filter's keys, before a statement with the filter is prepared.
    func install(_ filter: EntryFilter) throws(StorageError) {
        guard let keys = filter.keys else { return }
        try define(
            KeyChoice.function, context: Unmanaged.passRetained(ChoiceBox(keys)).toOpaque()
        ) { context, _, values in
            guard let data = sqlite3_user_data(context), let value = values?.pointee else { return }
            let box = Unmanaged<ChoiceBox>.fromOpaque(data).takeUnretainedValue()
            guard let text = sqlite3_value_text(value) else { return sqlite3_result_int(context, 0) }
            let bytes = UnsafeBufferPointer(start: text, count: Int(sqlite3_value_bytes(value)))
            sqlite3_result_int(context, box.choice.selects(bytes, lengths: box.lengths) ? 1 : 0)
        } release: { data in
            if let data { Unmanaged<ChoiceBox>.fromOpaque(data).release() }
        }
    }
}
