/// What identifies an entry: the key of the source and the identifier of the processor (empty for an original).
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    package let key: String
    package let identifier: String
    /// The first 64 bits of sha256(key NUL identifier): the entry's place in the index, and its hash in memory.
    let id: Int64

    /// How many neighbouring places an entry may take when another has its own.
    static let probes: Int64 = 4

    /// The rows where a lookup finds it.
    var places: Range<Int64> { id..<id + Self.probes }

    package init(key: String, identifier: String = "") {
        self.key = key
        self.identifier = identifier
        var sha = SHA256()
        sha.update(key)
        sha.update("\0")
        sha.update(identifier)
        id = Self.place(sha.finish())
    }

    /// The entry of the same key, and of the same representation, that no processor has touched.
    package var original: EntryKey {
        if identifier.isEmpty { return self }
        return EntryKey(key: key, representation: representation)
    }

    /// The entry that carries nothing but the key: all entries of a source are found by it.
    package var source: EntryKey { identifier.isEmpty ? self : EntryKey(key: key) }

    /// `key@identifier`, as it is shown.
    package var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }

    package static func == (a: EntryKey, b: EntryKey) -> Bool {
        a.id == b.id && a.key == b.key && a.identifier == b.identifier
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The row where probing for a digest starts: low enough that the last probe does not overflow.
    static func place(_ digest: Digest) -> Int64 { min(Int64(bitPattern: digest.prefix), .max - probes) }
}
