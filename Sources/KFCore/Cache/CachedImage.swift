import KFImaging

/// An image in memory, and what is known of its encoded form.
struct CachedImage: Sendable {
    let image: Image
    let facts: ImageFacts
    /// Where the encoded form was stored; it may have been evicted since.
    let path: String?
}
