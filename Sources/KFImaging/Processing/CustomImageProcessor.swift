/// A processor of your own, as a closure.
public struct CustomImageProcessor: ImageProcessor {
    public let identifier: String
    private let change: @Sendable (Bitmap) throws(ImagingError) -> Bitmap

    /// `identifier` is part of the cache key: it must name the closure with all that its result depends on, and be no
    /// other processor's. `change` is given each frame.
    public init(
        identifier: String, change: @escaping @Sendable (Bitmap) throws(ImagingError) -> Bitmap
    ) {
        self.identifier = identifier
        self.change = change
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode, each: change)
    }
}
