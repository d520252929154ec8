import KFStorage

/// Calls with equal keys share one reading of a provider.
struct ReadKey: Hashable, Sendable {
    private let key: EntryKey
    private let inspector: ImageInspector
    private let cache: ObjectIdentifier

    init(_ retrieval: Retrieval) {
        key = retrieval.original
        inspector = retrieval.options.inspector
        cache = ObjectIdentifier(retrieval.originals)
    }
}
