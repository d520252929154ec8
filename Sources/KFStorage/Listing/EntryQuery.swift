import CSQLite

/// In which order entries are listed: the most of it first, keys from A to Z.
public enum EntryOrder: String, Sendable, CaseIterable {
    /// The largest first.
    case size
    /// The newest first.
    case age
    /// The last used first.
    case used
    /// The most often read first.
    case hits
    /// By the key, from A to Z.
    case url
}

/// Which entries are listed, and how.
package struct EntryQuery: Sendable {
    package var filter = EntryFilter()
    package var order = EntryOrder.url
    package var isReversed = false
    /// Nil lists all.
    package var limit: Int?

    package init() {}

    /// The narrow table of times answers alone what asks for nothing else: it is a fifth of the size of the entries.
    private var needsEntries: Bool { filter != EntryFilter() || ![.used, .hits].contains(order) }

    /// The index over what is large can answer, if enough is.
    var beginsWithLarge: Bool { order == .size && !isReversed && limit != nil }

    /// Ranks and rows between `?1` (without) and `?8`, at most `?9`.
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

    /// Whether the first comes before the second.
    func isBefore(_ a: RankedRow, _ b: RankedRow) -> Bool {
        let descends = (order != .url) != isReversed
        if a.number != b.number { return (a.number > b.number) == descends }
        if a.text != b.text {
            // As SQLite compares: byte by byte.
            return a.text.utf8.lexicographicallyPrecedes(b.text.utf8) != descends
        }
        return a.row < b.row
    }
}

/// An entry's row, and what it is ordered by.
struct RankedRow: Sendable {
    let number: Int64
    let text: String
    let row: Int64
}

/// Which entries are meant; every part that is set must fit.
package struct EntryFilter: Sendable, Equatable {
    package var host: HostPattern?
    /// `*`, `?` and `[…]` over the key.
    package var glob: String?
    /// The identifier of a processor.
    package var identifier: String?
    package var createdBefore: Timestamp?
    package var accessedBefore: Timestamp?
    /// Expired at that moment.
    package var expiredAt: Timestamp?

    package init() {}

    var needsTimes: Bool { accessedBefore != nil || expiredAt != nil }

    /// A condition over the tables `e`, `t`, `o` and `h`, whose parameters `bind` fills in.
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

    /// Also in the representations of a source that came for other request headers.
    private static let hasIdentifier = """
        (e.identifier = ?4 OR e.identifier GLOB '\(EntryKey.representationMark)*'
        AND substr(e.identifier, \(EntryKey.representationMark.count + EntryKey.representationLength + 1)) = \
        CASE ?4 WHEN '' THEN '' ELSE '|>' || ?4 END)
        """

    /// Whether it means the key, as far as a key alone can tell: hosts and times select none.
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
