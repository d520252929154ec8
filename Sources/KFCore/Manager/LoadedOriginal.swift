import KFStorage

/// The bytes of a source, and what became of them.
struct LoadedOriginal: Sendable {
    let image: DownloadedImage
    /// Where they are kept; nil when they are not, or could not be.
    let stored: StoredFile?
    let storing: CacheStoreResult.Outcome
}

/// How a load ended, for everyone who waited for it.
struct LoadAnswer: Sendable {
    let outcome: Result<LoadedOriginal, KingfisherError>
    /// Requests made, repetitions included.
    let attempts: Int
}

/// What makes two loads the same work.
struct LoadKey: Hashable, Sendable {
    let original: EntryKey
    let headers: [String]
    let isKept: Bool

    init(_ retrieval: Retrieval) {
        original = retrieval.original
        headers = retrieval.options.request.headers.map { "\($0.name.lowercased()):\($0.value)" }
        isKept = retrieval.keepsOriginal
    }
}
