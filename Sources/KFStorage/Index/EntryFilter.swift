import CSQLite

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
