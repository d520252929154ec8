import KFStorage
import KFTerms

/// The identity of a remote look-up: calls with equal keys share it.
struct RemoteKey: Hashable, Sendable {
    let target: EntryKey
    let original: EntryKey
    let inspector: ImageInspector
    let maxBytes: Int64
    let caches: [ObjectIdentifier]
    /// The request headers that an image may vary with; empty when the policy does not regard them.
    let headers: [String]
    let isForTarget: Bool
    let usesStale: Bool
}
