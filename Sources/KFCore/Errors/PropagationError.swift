/// A source that failed, and why. Kingfisher's `PropagationError`.
public struct PropagationError: Error, Sendable, Equatable {
    /// The source that was asked.
    public let source: Source
    /// Why it gave no image.
    public let error: KingfisherError

    /// Pairs a source with its error.
    public init(source: Source, error: KingfisherError) {
        self.source = source
        self.error = error
    }

    /// The same error of a source with the same cache key.
    public static func == (a: PropagationError, b: PropagationError) -> Bool {
        a.error == b.error && a.source.cacheKey == b.source.cacheKey
    }
}
