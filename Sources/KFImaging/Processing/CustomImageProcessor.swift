/// A processor that applies a closure to every frame.
public struct CustomImageProcessor: ImageProcessor {
    public let identifier: String
    private let change: @Sendable (Bitmap) throws(ImagingError) -> Bitmap

    /// `identifier` is part of the cache key: it must be unique and name everything on which the closure's result
    /// depends.
    public init(identifier: String, change: @escaping @Sendable (Bitmap) throws(ImagingError) -> Bitmap) {
        self.identifier = identifier
        self.change = change
    }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode, each: change)
    }
}
