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
