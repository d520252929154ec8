import KFImaging

/// Changes the image that is given out, and nothing that is cached. Kingfisher's `ImageModifier`.
public protocol ImageModifier: Sendable {
    /// Called whenever somebody asks a result for its image, from any thread.
    func modify(_ image: Image) -> Image
}

/// A modifier made of a closure.
public struct AnyImageModifier: ImageModifier {
    private let change: @Sendable (Image) -> Image

    /// `modify` is called as `modify(_:)` is.
    public init(modify: @escaping @Sendable (Image) -> Image) { change = modify }

    public func modify(_ image: Image) -> Image { change(image) }
}
