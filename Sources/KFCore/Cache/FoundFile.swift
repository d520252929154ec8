/// What the disk has of the keys that were asked for.
struct FoundFile: Sendable {
    /// Which of the keys.
    let index: Int
    let file: CachedFile
    /// False past its time: it has to be confirmed before it is used.
    let isFresh: Bool
    /// It lies in a lower layer: what its origin says of it cannot be written down there.
    let isBorrowed: Bool
    /// The memory cache's count of removals before the look-up on the disk.
    let removals: UInt64
}
