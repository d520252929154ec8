/// An entry as it is called: the key of its source and the identifier of what was done to it.
public struct EntryName: Sendable, Hashable, CustomStringConvertible {
    /// The key of its source.
    public let key: String
    /// Empty for an original.
    public let identifier: String

    package init(_ key: EntryKey) { self.init(key: key.key, identifier: key.identifier) }

    init(key: String, identifier: String) {
        self.key = key
        self.identifier = identifier
    }

    public var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }
}
