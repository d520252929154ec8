/// Keeping the representations of a source few.
extension Connection {
    /// Beside the one under the key alone. A server may name any header in Vary, and a program may send any value.
    static let representationLimit = 16

    /// Removes the representations that were used longest ago, with all that was made of them, until few are left.
    /// Gives back the objects that nothing refers to any more.
    func trimRepresentations(of key: EntryKey) throws(StorageError) -> [UnusedObject] {
        guard key.representation != nil else { return [] }
        var used: [String: Timestamp] = [:]
        let entries = try variants(of: key)
        for entry in entries {
            guard let representation = entry.key.representation else { continue }
            used[representation] = max(used[representation] ?? entry.accessed, entry.accessed)
        }
        guard used.count > Self.representationLimit else { return [] }
        used[key.representation ?? ""] = nil
        let oldest = used.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
            .prefix(used.count + 1 - Self.representationLimit).map(\.key)
        var unused: [UnusedObject] = []
        for entry in entries where entry.key.representation.map(oldest.contains) == true {
            unused += try removeEntry(row: entry.row)
        }
        return unused
    }
}
