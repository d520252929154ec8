import KFStorage
import KFTerms

/// A file on the disk that was found for one of several keys.
package struct FoundFile: Sendable {
    package let file: CachedFile
    /// The cache that was looked into.
    let cache: ImageCache
    /// Whether the file is fresh. A stale file must be revalidated before use.
    package private(set) var isFresh: Bool
    /// Whether the file lies in a lower layer, where a revalidation cannot be recorded.
    package let isBorrowed: Bool
    /// The memory cache's count of removals before the look-up on the disk.
    let removals: UInt64

    package var entry: Entry { file.entry }

    /// Whether the bytes are those of another URL, and count because they have the hash that the image must have.
    var isElsewhere = false

    var way: RetrievalWay { isElsewhere ? .pinned : .disk }

    var asFresh: FoundFile {
        var found = self
        found.isFresh = true
        return found
    }
}
