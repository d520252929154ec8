import KFImaging
import KFStorage

/// Calls with equal keys share one reading of a provider.
struct ReadKey: Hashable, Sendable {
    private let key: EntryKey
    private let limits: DecodeLimits
    private let cache: ObjectIdentifier

    init(_ retrieval: Retrieval) {
        key = retrieval.original
        limits = retrieval.options.decodeLimits
        cache = ObjectIdentifier(retrieval.originals)
    }
}
