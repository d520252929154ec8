import KFImaging

/// An image in memory, and what is known of its encoded form.
struct CachedImage: Sendable {
    enum Content: Sendable {
        /// What a processor made, decoded.
        case image(Image)
        /// What nothing was done to, as it came: it is decoded by whoever wants pixels.
        case bytes([UInt8])
    }

    let content: Content
    let facts: ImageFacts
    /// Where the encoded form was stored; it may have been evicted since.
    let path: String?
    /// The lines of the response that say which requests it is for; nil when it is for all.
    var selection: HeaderLines?

    /// In bytes.
    var cost: Int {
        switch content {
        case .image(let image): image.cost
        case .bytes(let bytes): bytes.count
        }
    }
}
