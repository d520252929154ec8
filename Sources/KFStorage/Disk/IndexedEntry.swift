/// What there is for a key.
package enum IndexedEntry: Sendable {
    case absent
    /// It is expired, or its file is not what was stored.
    case unusable
    case fresh(Entry)
}
