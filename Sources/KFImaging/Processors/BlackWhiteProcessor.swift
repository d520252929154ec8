/// Removes the colour and brightens: the same as `color:brightness=0,contrast=1,saturation=0,ev=0.7`.
public struct BlackWhiteProcessor: ImageProcessor, Equatable {
    /// Makes the processor; it has no parameters.
    public init() {}

    public var identifier: String { "black-white" }

    public func process(_ item: ImageProcessItem, options: ProcessingOptions) throws(ImagingError) -> Image {
        let matrix = ColorMatrix(brightness: 0, contrast: 1, saturation: 0, exposure: 0.7)
        return try item.image(options.decode) { (bitmap) throws(ImagingError) in try matrix.apply(to: bitmap) }
    }
}
