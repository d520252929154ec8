import KFImaging
import KFStorage

/// Callers with equal keys share one processed image.
struct MakeKey: Hashable, Sendable {
    /// The bytes that it is made of.
    enum Original: Hashable, Sendable {
        case downloaded(ObjectIdentifier)
        case stored(Digest)
    }

    let original: Original
    let target: EntryKey
    let cache: ObjectIdentifier?
    let limits: DecodeLimits?

    init(of original: Original, target: EntryKey, cache: ObjectIdentifier? = nil, limits: DecodeLimits? = nil) {
        self.original = original
        self.target = target
        self.cache = cache
        self.limits = limits
    }
}
