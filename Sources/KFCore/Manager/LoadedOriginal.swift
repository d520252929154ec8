import KFStorage

/// The bytes of a source, and what became of them.
struct LoadedOriginal: Sendable {
    let image: DownloadedImage
    /// Where they are kept; nil when they are not, or could not be.
    let stored: StoredFile?
    let storing: CacheStoreResult.Outcome
}

/// How an origin answered.
enum OriginAnswer: Sendable {
    case brought(LoadedOriginal)
    /// To a condition: what is there still is right.
    case unchanged(ResponseFacts)
}

/// How a load ended, for everyone who waited for it.
struct LoadAnswer: Sendable {
    let outcome: Result<OriginAnswer, KingfisherError>
    /// Requests made, repetitions included.
    let attempts: Int
}

/// What makes two loads the same work.
struct LoadKey: Hashable, Sendable {
    let original: EntryKey
    let headers: [String]
    let isKept: Bool
    let condition: RequestCondition?

    init(_ retrieval: Retrieval, _ condition: RequestCondition?) {
        original = retrieval.original
        headers = retrieval.options.request.headers.map { "\($0.name.lowercased()):\($0.value)" }
        isKept = retrieval.keepsOriginal
        self.condition = condition
    }
}
