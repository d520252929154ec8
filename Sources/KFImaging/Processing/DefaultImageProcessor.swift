/// Decodes the image and changes nothing.
public struct DefaultImageProcessor: ImageProcessor, Equatable {
    /// The default processor.
    public static let `default` = DefaultImageProcessor()

    /// Makes the default processor; all are equal.
    public init() {}

    /// The empty identifier, which marks an original.
    public var identifier: String { "" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode)
    }
}
