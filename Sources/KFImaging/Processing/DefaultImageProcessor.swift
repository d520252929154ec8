/// Decodes and changes nothing.
public struct DefaultImageProcessor: ImageProcessor, Equatable {
    /// The only kind there is.
    public static let `default` = DefaultImageProcessor()

    /// There is only one kind.
    public init() {}

    /// Empty.
    public var identifier: String { "" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        try item.image(options.decode)
    }
}
