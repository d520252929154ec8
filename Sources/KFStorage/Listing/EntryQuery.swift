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
    func ranking(ofLarge: Bool = false, hasTags: Bool) -> String {
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
            \(filter.condition(hasTags: hasTags)) AND e.id <= ?8 \(ofLarge ? "AND e.size >= \(Schema.large)" : "")
            ORDER BY \(column) \(direction)\(order == .url ? ", e.identifier \(direction)" : ", e.id") LIMIT ?9
            """
    }

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
