/// A failed source and its error. Kingfisher's `PropagationError`.
public struct PropagationError: Error, Sendable, Equatable {
    /// The failed source.
    public let source: Source
    /// The reason of the failure.
    public let error: KingfisherError

    /// Pairs a source with its error.
    public init(source: Source, error: KingfisherError) {
        self.source = source
        self.error = error
    }

    /// Returns whether the errors are equal and the sources have the same cache key.
    public static func == (a: PropagationError, b: PropagationError) -> Bool {
        a.error == b.error && a.source.cacheKey == b.source.cacheKey
    }
}
