import CSQLite

/// The order of a list of entries: the greatest value first, but keys from A to Z.
public enum EntryOrder: String, Sendable, CaseIterable {
    /// The largest first.
    case size
    /// The newest first.
    case age
    /// The most recently used first.
    case used
    /// The most often read first.
    case hits
    /// By the key, from A to Z.
    case url
}

/// The filter, order and limit of a list of entries.
package struct EntryQuery: Sendable {
    package var filter = EntryFilter()
    package var order = EntryOrder.url
    package var isReversed = false
    /// The greatest number of entries to list; nil lists all.
    package var limit: Int?

    package init() {}

    /// Whether the query needs the table of entries. The table of times alone is a fifth of its size.
    private var needsEntries: Bool { filter != EntryFilter() || ![.used, .hits].contains(order) }

    /// Whether the partial index over large entries can answer the query, if it has enough entries.
    var beginsWithLarge: Bool { order == .size && !isReversed && limit != nil }

    /// Returns the SQL for at most `?9` ranks with their rows, after row `?1` and up to row `?8`.
    func ranking(ofLarge: Bool = false) -> String {
        let column =
            switch order {
            case .size: "e.size"
            case .age: "e.created"
            case .used: "t.accessed"
            case .hits: "t.hits"
            case .url: "e.key"
            }
        let descends = (order != .url) != isReversed
        let direction = descends ? "DESC" : "ASC"
        guard needsEntries else {
            return """
                SELECT \(column), '', t.id FROM times t WHERE t.id > ?1 AND t.id <= ?8
                ORDER BY 1 \(direction), t.id LIMIT ?9
                """
        }
        let times = [.used, .hits].contains(order) || filter.needsTimes
        let number = order == .url ? "0" : column
        let text = order == .url ? "e.key || char(0) || e.identifier" : "''"
        return """
            SELECT \(number), \(text), e.id FROM entries e \(ofLarge ? "INDEXED BY entries_large" : "")
            \(times ? "CROSS JOIN times t ON t.id = e.id" : "") \(filter.host == nil ? "" : "CROSS JOIN hosts h ON h.id = e.host")
            \(filter.condition) AND e.id <= ?8 \(ofLarge ? "AND e.size >= \(Schema.large)" : "")
            ORDER BY \(column) \(direction)\(order == .url ? ", e.identifier \(direction)" : ", e.id") LIMIT ?9
            """
    }

    /// Returns whether `a` comes before `b`.
    func isBefore(_ a: RankedRow, _ b: RankedRow) -> Bool {
        let descends = (order != .url) != isReversed
        if a.number != b.number { return (a.number > b.number) == descends }
        if a.text != b.text {
            // Byte by byte, as SQLite compares.
            return a.text.utf8.lexicographicallyPrecedes(b.text.utf8) != descends
        }
        return a.row < b.row
    }
}

/// An entry's row with its sort key.
struct RankedRow: Sendable {
    let number: Int64
    let text: String
    let row: Int64
}

/// A filter over entries. All conditions that are set must match.
package struct EntryFilter: Sendable, Equatable {
    package var host: HostPattern?
    /// A pattern with `*`, `?` and `[…]` for the key.
    package var glob: String?
    /// The identifier of a processor; empty selects originals.
    package var identifier: String?
    package var createdBefore: Timestamp?
    package var accessedBefore: Timestamp?
    /// The time at which the entry must be expired.
    package var expiredAt: Timestamp?

    package init() {}

    var needsTimes: Bool { accessedBefore != nil || expiredAt != nil }

    /// The SQL condition over the tables `e`, `t`, `o` and `h`. `bind` binds its parameters.
    var condition: String {
        var parts = ["e.id > ?1"]
        if let host { parts.append(host.condition) }
        if glob != nil { parts.append("e.key GLOB ?3") }
        if identifier != nil { parts.append(Self.hasIdentifier) }
        if createdBefore != nil { parts.append("e.created < ?5") }
        if accessedBefore != nil { parts.append("t.accessed < ?6") }
        if expiredAt != nil { parts.append("t.expires <= ?7") }
        return "WHERE " + parts.joined(separator: " AND ")
    }

    /// Matches the identifier in every representation of a source.
    private static let hasIdentifier = """
        (e.identifier = ?4 OR e.identifier GLOB '\(EntryKey.representationMark)*'
        AND substr(e.identifier, \(EntryKey.representationMark.count + EntryKey.representationLength + 1)) = \
        CASE ?4 WHEN '' THEN '' ELSE '|>' || ?4 END)
        """

    /// Returns whether the filter selects the key. Always false for a filter with a host or a time, which a key lacks.
    package func selects(_ key: EntryKey) -> Bool {
        guard host == nil, createdBefore == nil, !needsTimes else { return false }
        if let identifier, key.chain != identifier { return false }
        return glob.map { sqlite3_strglob($0, key.key) == 0 } ?? true
    }

    func bind(_ statement: Statement, after row: Int64) {
        statement.bind(1, row)
        host?.bind(statement)
        if let glob { statement.bind(3, glob) }
        if let identifier { statement.bind(4, identifier) }
        if let createdBefore { statement.bind(5, createdBefore.milliseconds) }
        if let accessedBefore { statement.bind(6, accessedBefore.milliseconds) }
        if let expiredAt { statement.bind(7, expiredAt.milliseconds) }
    }
}
